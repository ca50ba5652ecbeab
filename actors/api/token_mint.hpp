#pragma once

#include "actors/api/exchange.hpp"
#include "events/join_token.hpp"

#include <functional>
#include <string_view>
#include <vector>

/// Tokens that callers make under an idempotency key (spec:
/// api-join-tokens#create, api-site-tokens#create).
namespace bc::actors::api {

/// A token as it is asked for: without times, secret and (of a pool's token)
/// site.
struct asked_token {
  events::join_token::created token;
  seconds lifetime{};
};

/// The id says who asked for what, so a retry finds the token of the first
/// call, and nobody finds another's (case 19).
[[nodiscard]] join_token_id token_id_for(const caller& who,
                                         std::string_view group,
                                         std::string_view key);

/// Answers a retry from the stored token, without its secret; CONFLICT when
/// the key made something else; goes on when it made nothing yet.
void replay_token(exchange_ptr x, const asked_token& asked,
                  std::function<void()> next);

/// Makes the token on the ground it was decided on, and answers the record
/// with the bearer. Another call with this key may be first: then its token is
/// the answer (case 18). When the ground moved, `again` runs.
void mint_token(exchange_ptr x, const asked_token& asked,
                std::vector<events::stream_write> ground,
                std::function<void()> again);

}  // namespace bc::actors::api
