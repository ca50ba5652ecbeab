#pragma once

#include "events/journal.hpp"

#include <string>
#include <string_view>

/// The claims by which names are unique for each owner.
namespace bc::events {

[[nodiscard]] inline std::string name_claim(std::string_view kind,
                                            std::string_view owner,
                                            std::string_view name) {
  std::string claim{"name:"};
  return claim.append(kind).append(":").append(owner).append(":").append(name);
}

[[nodiscard]] inline moves name_taken(std::string_view kind,
                                      std::string_view owner,
                                      std::string_view name) {
  moves m;
  m.claims.push_back(
      {claim_move::kind::take, name_claim(kind, owner, name), std::nullopt});
  return m;
}

[[nodiscard]] inline moves name_released(std::string_view kind,
                                         std::string_view owner,
                                         std::string_view name) {
  moves m;
  m.claims.push_back(
      {claim_move::kind::release, name_claim(kind, owner, name), std::nullopt});
  return m;
}

/// The new one before the old one is free; nothing for the same name.
[[nodiscard]] inline moves name_changed(std::string_view kind,
                                        std::string_view owner,
                                        std::string_view from,
                                        std::string_view to) {
  if (from == to)
    return {};
  auto m = name_taken(kind, owner, to);
  m.claims.push_back(name_released(kind, owner, from).claims.front());
  return m;
}

}  // namespace bc::events
