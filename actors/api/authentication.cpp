#include "actors/api/authentication.hpp"

#include <optional>
#include <string_view>

namespace bc::actors::api {

namespace {

using events::credential::bearer;
using events::credential::state;

std::optional<bearer> presented(std::string_view header) {
  constexpr std::string_view scheme = "Bearer ";
  if (!header.starts_with(scheme))
    return std::nullopt;
  return events::credential::parse_bearer(header.substr(scheme.size()));
}

void turn_away(exchange& x) {
  x.refuse(errc::unauthenticated, "No valid credential was presented");
}

// An unknown credential is judged against this one, which nothing matches, so
// that it costs what a wrong secret costs.
const state& nobody() {
  static const state s = [] {
    state made;
    made.credential.emplace();
    made.credential->secret_sha256 = std::string(64, '0');
    return made;
  }();
  return s;
}

}  // namespace

void authenticate(exchange_ptr x, std::function<void()> next) {
  auto who = presented(x->call.authorization);
  // What the header holds is not needed again.
  wipe(x->call.authorization.data(), x->call.authorization.size());
  x->call.authorization.clear();
  if (!who)
    return turn_away(*x);
  auto id = who->id;
  auto secret = std::make_shared<const secret_bytes>(std::move(who->secret));
  x->streams->credential(
      id, then(x, [x, secret,
                   next = std::move(next)](const shared_state<state>& found) {
        const auto& known = found->credential;
        bool matches = secret_matches(known ? *found : nobody(), *secret);
        if (!known || !matches || found->revoked_at)
          return turn_away(*x);
        x->who = {known->id, known->tenant, known->principal, known->grants,
                  known->tenant == x->env->root_tenant};
        next();
      }));
}

}  // namespace bc::actors::api
