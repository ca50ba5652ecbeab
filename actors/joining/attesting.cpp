#include "actors/joining/attesting.hpp"

#include "actors/discovery/discovery_attesting.hpp"
#include "actors/join_token/token_attesting.hpp"
#include "actors/tpm/tpm_attesting.hpp"

#include <utility>

namespace bc::actors {

std::shared_ptr<attesting> make_attesting(
    std::shared_ptr<const join_facts> facts) {
  const std::string_view name = facts->request.attestor;
  if (name.empty() || name == token_attestor)
    return make_token_attesting(std::move(facts));
  if (name == wire::discovery_attestor && facts->env->discovery)
    return make_discovery_attesting(std::move(facts));
  if (name == wire::tpm_attestor && facts->env->tpm)
    return make_tpm_attesting(std::move(facts));
  return nullptr;
}

}  // namespace bc::actors
