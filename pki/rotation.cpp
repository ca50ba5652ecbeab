#include "pki/rotation.hpp"

#include "pki/authority.hpp"

#include <utility>

namespace bc::pki {

namespace {

issuer copy(const issuer& i) {
  return {i.key.clone(), i.certificate};
}

fault not_now(key_name which, const std::string& why) {
  return fail(errc::invalid_state, std::string{key_text(which)} + ": " + why);
}

// What waits has to have been known to every node for a whole lifetime of a
// certificate; gateways and the journal's readers hear of it by hand.
bool concerns_nodes(key_name which) {
  return which != key_name::internal_ca &&
         which != key_name::journal_checkpoint;
}

result<void> check_wait(key_name which, const other_key& other, time_point now,
                        bool early) {
  auto due = other.since + rotation_wait;
  if (early || !concerns_nodes(which) || now >= due)
    return ok();
  return not_now(which, "not before " + to_rfc3339(due) +
                            ", when every node has renewed since; nodes that "
                            "have not would be lost");
}

result<other_key> make_next(key_name which, time_point now) {
  auto with = [now](issuer made) {
    return other_key{other_key::phase::prepared, now, std::move(made.key),
                     std::move(made.certificate)};
  };
  switch (which) {
    case key_name::node_ca: {
      BC_TRY(made, make_ca("better-compute node CA", now));
      return with(std::move(made));
    }
    case key_name::serving_ca: {
      BC_TRY(made, make_ca("better-compute serving CA", now));
      return with(std::move(made));
    }
    case key_name::internal_ca: {
      BC_TRY(made, make_ca("better-compute internal CA", now));
      return with(std::move(made));
    }
    case key_name::join_signing: {
      BC_TRY(made, make_self_signed("better-compute join signing", now));
      return with(std::move(made));
    }
    case key_name::join_encryption:
    case key_name::command_signing:
    case key_name::journal_checkpoint:
      break;
  }
  return other_key{
      other_key::phase::prepared, now, private_key::generate(), {}};
}

void swap_keys(key_bundle& bundle, key_name which, other_key& other) {
  auto with_issuer = [&other](issuer& current) {
    std::swap(current.key, other.key);
    std::swap(current.certificate, other.certificate);
  };
  switch (which) {
    case key_name::node_ca:
      return with_issuer(bundle.node_ca);
    case key_name::serving_ca:
      return with_issuer(bundle.serving_ca);
    case key_name::internal_ca:
      return with_issuer(bundle.internal_ca);
    case key_name::join_signing:
      return with_issuer(bundle.join_signing);
    case key_name::join_encryption:
      return std::swap(bundle.join_encryption, other.key);
    case key_name::command_signing:
      return std::swap(bundle.command_signing, other.key);
    case key_name::journal_checkpoint:
      return std::swap(bundle.journal_checkpoint, other.key);
  }
}

}  // namespace

key_bundle clone(const key_bundle& b) {
  key_bundle out{b.trust_domain,
                 b.created_at,
                 copy(b.node_ca),
                 copy(b.serving_ca),
                 copy(b.internal_ca),
                 copy(b.join_signing),
                 b.join_encryption.clone(),
                 b.command_signing.clone(),
                 b.journal_checkpoint.clone()};
  for (const auto& [name, o] : b.others)
    out.others.emplace(
        name, other_key{o.what, o.since, o.key.clone(), o.certificate});
  out.past_journal_keys = b.past_journal_keys;
  return out;
}

result<key_bundle> prepare_key(const key_bundle& bundle, key_name which,
                               time_point now) {
  auto found = bundle.others.find(which);
  if (found != bundle.others.end())
    return not_now(which,
                   found->second.what == other_key::phase::prepared
                       ? "a next key is prepared already; activate it"
                       : "the key before is still trusted; retire it first");
  BC_TRY(next, make_next(which, now));
  auto out = clone(bundle);
  out.others.emplace(which, std::move(next));
  return out;
}

result<key_bundle> activate_key(const key_bundle& bundle, key_name which,
                                time_point now, bool early) {
  auto found = bundle.others.find(which);
  if (found == bundle.others.end() ||
      found->second.what != other_key::phase::prepared)
    return not_now(which, "no next key is prepared");
  BC_TRYV(check_wait(which, found->second, now, early));
  auto out = clone(bundle);
  auto& other = out.others.at(which);
  swap_keys(out, which, other);
  other.what = other_key::phase::retiring;
  other.since = now;
  return out;
}

result<key_bundle> retire_key(const key_bundle& bundle, key_name which,
                              time_point now, bool early) {
  auto found = bundle.others.find(which);
  if (found == bundle.others.end())
    return not_now(which, "there is no key to retire");
  if (found->second.what == other_key::phase::prepared && !early)
    return not_now(which, "the next key did not take over yet");
  BC_TRYV(check_wait(which, found->second, now, early));
  auto out = clone(bundle);
  if (which == key_name::journal_checkpoint &&
      found->second.what == other_key::phase::retiring)
    out.past_journal_keys.push_back(found->second.key.pub().spki());
  out.others.erase(which);
  return out;
}

}  // namespace bc::pki
