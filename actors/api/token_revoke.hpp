#pragma once

#include "actors/api/exchange.hpp"
#include "events/join_token.hpp"

#include <functional>

namespace bc::actors::api {

/// Revokes a token of the caller's and answers its record; one that is revoked
/// already answers unchanged, without an event. When the ground moved, `again`
/// runs.
void revoke_token(exchange_ptr x, const join_token_id& id,
                  events::join_token::revoke command,
                  std::function<void()> again);

}  // namespace bc::actors::api
