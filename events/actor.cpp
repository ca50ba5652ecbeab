#include "events/actor.hpp"

namespace bc::events {

std::string actor_text(const tenant_id& tenant, const credential_id& credential,
                       std::string_view principal) {
  return tenant.str() + "/" + credential.str() + "/" + std::string{principal};
}

actor_name parse_actor(std::string_view text) {
  actor_name alone{std::string{text}, std::nullopt, std::nullopt};
  const auto first = text.find('/');
  if (first == std::string_view::npos)
    return alone;
  const auto rest = text.substr(first + 1);
  const auto second = rest.find('/');
  if (second == std::string_view::npos)
    return alone;
  const auto tenant = tenant_id::parse(text.substr(0, first));
  const auto credential = credential_id::parse(rest.substr(0, second));
  if (!tenant || !credential)
    return alone;
  return {std::string{rest.substr(second + 1)}, tenant.value().str(),
          credential.value().str()};
}

}  // namespace bc::events
