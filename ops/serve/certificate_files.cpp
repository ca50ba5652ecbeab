#include "ops/serve/certificate_files.hpp"

#include "ops/cli/files.hpp"
#include "ops/serve/identity.hpp"
#include "ops/serve/repeater.hpp"
#include "pki/digest.hpp"
#include "pki/expiry.hpp"

#include <spdlog/spdlog.h>

#include <mutex>
#include <optional>
#include <utility>

namespace bc::serve {

namespace {

// Of content, or of why there is none: what the next look compares.
using fingerprint = pki::sha256_digest;

fingerprint of(const tls_material& m) {
  pki::field_hash hash;
  hash.add("files").add(m.ca_pem);
  if (m.identity)
    hash.add(m.identity->chain_pem).add(m.identity->key_pem.expose_text());
  return std::move(hash).finish();
}

fingerprint of(const result<tls_material>& m) {
  if (m)
    return of(m.value());
  pki::field_hash hash;
  hash.add(m.error().message);
  return std::move(hash).finish();
}

result<pki::validity> validity_of(const tls_material& m) {
  if (!m.identity)
    return pki::validity{time_point::min(), time_point::max()};
  return pki::validity_of(m.identity->chain_pem);
}

result<void> must_be_valid(const pki::validity& v, time_point now) {
  if (v.not_after <= now)
    return fail(errc::invalid_config,
                "the certificate ended at " + to_rfc3339(v.not_after));
  if (v.not_before > now)
    return fail(errc::invalid_config, "the certificate is valid from " +
                                          to_rfc3339(v.not_before) + " on");
  return ok();
}

void tell(const std::vector<renewal>& all) {
  for (const auto& one : all)
    switch (one.became) {
      case renewal::what::taken:
        spdlog::info("certificate {}: taken anew from its files", one.name);
        break;
      case renewal::what::unchanged:
        spdlog::info("certificate {}: its files are unchanged", one.name);
        break;
      case renewal::what::refused:
        spdlog::warn(
            "certificate {}: its files are not taken: {}; what was read "
            "before stays in use",
            one.name, one.why);
        break;
    }
}

}  // namespace

result<tls_material> read_tls(const tls_files& files) {
  tls_material out;
  BC_TRY(identity, read_identity(files.identity));
  out.identity = std::move(identity);
  if (!files.ca.empty()) {
    BC_TRY(ca, cli::read_file(files.ca));
    // An empty one would be no authority at all, as where none is named.
    if (auto some = pki::validity_of(ca); !some)
      return fail(errc::invalid_config, files.ca + ": " + some.error().message);
    out.ca_pem = std::move(ca);
  }
  return out;
}

struct certificate_files::state {
  struct side {
    renewable what;
    fingerprint in_use;
    std::optional<fingerprint> seen = std::nullopt;     // changed, not judged
    std::optional<fingerprint> refused = std::nullopt;  // said already
    // When what is refused is looked at again: it is not valid yet.
    std::optional<time_point> refused_until = std::nullopt;
  };
  std::vector<side> sides;
  std::mutex looking;  // one look at a time

  std::vector<renewal> look(time_point now, bool asked) {
    std::lock_guard lock{looking};
    std::vector<renewal> out;
    for (auto& one : sides)
      look_at(one, now, asked, out);
    return out;
  }

  static void look_at(side& s, time_point now, bool asked,
                      std::vector<renewal>& out) {
    auto found = read_tls(s.what.files);
    const auto print = of(found);
    if (print == s.in_use) {
      s.seen.reset();
      s.refused.reset();
      s.refused_until.reset();
      if (asked)
        out.push_back(try_again(s, found, now));
      return;
    }
    const bool came = s.refused_until && now >= *s.refused_until;
    if (!asked && ((print == s.refused && !came) ||
                   std::exchange(s.seen, print) != print))
      return;
    s.seen.reset();
    s.refused_until.reset();
    if (auto taken = take(s, found, now); !taken) {
      s.refused = print;
      out.push_back(
          {s.what.name, renewal::what::refused, taken.error().message});
      return;
    }
    s.in_use = print;
    s.refused.reset();
    out.push_back({s.what.name, renewal::what::taken, {}});
  }

  static renewal try_again(const side& s, const result<tls_material>& found,
                           time_point now) {
    auto tried = [&]() -> result<void> {
      BC_TRY(material, found);
      BC_TRY(valid, validity_of(material));
      BC_TRYV(must_be_valid(valid, now));
      return s.what.tried_when_asked ? s.what.use(material) : ok();
    }();
    if (!tried)
      return {s.what.name, renewal::what::refused, tried.error().message};
    return {s.what.name, renewal::what::unchanged, {}};
  }

  static result<void> take(side& s, const result<tls_material>& found,
                           time_point now) {
    if (!found)
      return found.error();
    BC_TRY(valid, validity_of(found.value()));
    if (valid.not_before > now)
      s.refused_until = valid.not_before;
    BC_TRYV(must_be_valid(valid, now));
    return s.what.use(found.value());
  }

  repeater again;  // last: it uses the others
};

certificate_files::certificate_files(std::vector<renewable> all)
    : state_(std::make_unique<state>()) {
  for (auto& one : all) {
    const auto print = of(one.in_use);
    // The key is not kept here.
    one.in_use = {};
    state_->sides.push_back({std::move(one), print});
  }
}

certificate_files::~certificate_files() = default;

void certificate_files::watch(milliseconds interval) {
  if (!state_->sides.empty() && !state_->again.is_started())
    state_->again.start(interval, [s = state_.get()] {
      tell(s->look(system_clock{}.now(), false));
    });
}

void certificate_files::renew_now() {
  tell(look_asked(system_clock{}.now()));
}

std::vector<renewal> certificate_files::look(time_point now) {
  return state_->look(now, false);
}

std::vector<renewal> certificate_files::look_asked(time_point now) {
  return state_->look(now, true);
}

}  // namespace bc::serve
