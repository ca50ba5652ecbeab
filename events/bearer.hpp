#pragma once

#include "base/secret_bytes.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace bc::events {

/// Splits "<id>.<secret>" where the secret is 43 characters of base64url and
/// the id holds no dot; nullopt for anything else. Nothing is trimmed, no
/// letter is folded, and a long text costs no more than a short one.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>>
split_bearer(std::string_view text);

/// Whether `digest_hex` is the SHA-256 of `secret`'s text, in constant time.
[[nodiscard]] bool is_digest_of(std::string_view digest_hex,
                                const secret_bytes& secret);

}  // namespace bc::events
