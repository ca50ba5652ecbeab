#include "events/node_inventory.hpp"

#include "events/admission.hpp"

namespace bc::events::node {

namespace {

// As the node is, nothing being the matter.
inventory_recorded as_known(const state& s, time_point now) {
  inventory_recorded out;
  out.id = s.node->id;
  out.hardware_key = s.node->hardware_key;
  out.hardware_key_trusted = s.node->hardware_key_trusted;
  out.at = now;
  return out;
}

inventory_recorded judged(const state& s, const record_inventory& c) {
  auto out = as_known(s, c.now);
  out.identifiers = c.identifiers;
  if (out.hardware_key_trusted) {
    // An untrusted one says too little to doubt a trusted one by.
    out.hardware_changed = c.trusted ? c.hardware_key != out.hardware_key
                                     : s.hardware_changed_at.has_value();
    if (out.hardware_changed)
      out.changed_identifiers =
          c.trusted ? c.changed_identifiers : s.changed_identifiers;
    return out;
  }
  if (c.trusted && c.taken) {
    out.hardware_taken = true;
    return out;
  }
  out.hardware_key = c.hardware_key;
  out.hardware_key_trusted = c.trusted;
  if (c.trusted)
    out.newly_held = c.hardware_key;
  return out;
}

bool changes_nothing(const state& s, const inventory_recorded& i) {
  return i.hardware_key == s.node->hardware_key &&
         i.hardware_key_trusted == s.node->hardware_key_trusted &&
         i.hardware_changed == s.hardware_changed_at.has_value() &&
         i.changed_identifiers == s.changed_identifiers &&
         i.hardware_taken == s.hardware_taken_at.has_value();
}

void follow(std::optional<time_point>& since, bool holds, time_point at) {
  if (!holds)
    since.reset();
  else if (!since)
    since = at;
}

}  // namespace

result<std::vector<event>> decide(const state& s, const record_inventory& c) {
  if (!s.node)
    return fail(errc::not_found, "No such node");
  if (s.current == status::retired || c.hardware_key.empty())
    return std::vector<event>{};
  auto out = judged(s, c);
  if (changes_nothing(s, out))
    return std::vector<event>{};
  return std::vector<event>{std::move(out)};
}

std::vector<pki::identifier_hash> known_identifiers(
    const state& s, const pki::shared_uuids& shared) {
  if (!s.identifiers.empty())
    return s.identifiers;
  return pki::hashes_of(
      pki::normalise(pki::without_shared(hardware_of(s.node->claims), shared)));
}

namespace detail {

void apply(state& s, const inventory_recorded& i) {
  if (!s.node)
    return;
  s.node->hardware_key = i.hardware_key;
  s.node->hardware_key_trusted = i.hardware_key_trusted;
  s.changed_identifiers = i.changed_identifiers;
  if (!i.hardware_changed && !i.hardware_taken)
    s.identifiers = i.identifiers;
  follow(s.hardware_changed_at, i.hardware_changed, i.at);
  follow(s.hardware_taken_at, i.hardware_taken, i.at);
}

}  // namespace detail

}  // namespace bc::events::node
