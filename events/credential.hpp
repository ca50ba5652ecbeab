#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "events/journal.hpp"
#include "pki/digest.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bc::json {
class writer;
}

/// API credentials (spec: DESIGN section 9): bck_<id>.<secret>.
namespace bc::events::credential {

/// An action pattern on a resource pattern; `*` alone, or at the end after a
/// ':' or '/', matches any rest ("compute:join-tokens:*" on "compute-pool/*").
struct grant {
  std::string action;
  std::string resource;
  bool operator==(const grant&) const = default;
};
/// INVALID_INPUT for a pattern that is not of that form.
[[nodiscard]] result<void> check_grant(const grant& g);
[[nodiscard]] bool allows(const std::vector<grant>& grants,
                          std::string_view action, std::string_view resource);

/// A JSON array of {"action", "resource"}.
void put_grants(json::writer& out, const std::vector<grant>& grants);

/// `security.credential.created`.
struct created {
  credential_id id;
  tenant_id tenant;
  std::string principal;
  std::vector<grant> grants;
  time_point at;
  std::string secret_sha256;  // hex; internal
  bool operator==(const created&) const = default;
};
/// `security.credential.revoked`: opens nothing from here on, for ever.
struct revoked {
  credential_id id;
  std::string principal;
  time_point at;
  bool operator==(const revoked&) const = default;
};
using event = std::variant<created, revoked>;

struct state {
  std::uint64_t version = 0;
  std::optional<created> credential;
  std::optional<time_point> revoked_at;
};

struct revoke {
  time_point at;
};

/// No events when it is revoked already; NOT_FOUND without a credential.
[[nodiscard]] result<std::vector<event>> decide(const state& s,
                                                const revoke& c);
[[nodiscard]] state evolve(state s, const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// bck_<id>.<secret>; nullopt: malformed.
struct bearer {
  credential_id id;
  secret_bytes secret;
};
[[nodiscard]] std::optional<bearer> parse_bearer(std::string_view text);
/// In constant time.
[[nodiscard]] bool secret_matches(const state& s, const secret_bytes& secret);

}  // namespace bc::events::credential
