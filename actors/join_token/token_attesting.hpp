#pragma once

#include "actors/joining/attesting.hpp"
#include "base/secret_bytes.hpp"
#include "events/join_token.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <string>
#include <string_view>

/// The `join-token` attestor (spec: joining#join-tokens, DESIGN section 7): a
/// token that was sealed to this join service is one of ours, and usable.
namespace bc::actors {

inline constexpr std::string_view token_attestor = "join-token";

[[nodiscard]] std::shared_ptr<attesting> make_token_attesting(
    std::shared_ptr<const join_facts> facts);

/// A token as a machine presents it: its id, and its secret's digest.
struct presented_token {
  join_token_id id;
  pki::sha256_digest secret{};
};
/// Opens a seal that was made for this CSR and these claims. `join:token` when
/// it cannot be opened, `join-token:malformed` when no token is in it.
[[nodiscard]] std::variant<presented_token, events::refusal_reason> open_token(
    const join_facts& facts, const std::string& sealed, time_point now);

/// One use of it, by this node.
[[nodiscard]] spending spend_token(const events::join_token::created& token,
                                   const node_id& node,
                                   const pki::sha256_digest& csr);

}  // namespace bc::actors
