#pragma once

#include "base/bytes.hpp"
#include "base/secret_bytes.hpp"

#include <optional>

/// AES-256-GCM with a 12-byte IV and a 16-byte tag; private to pki.
namespace bc::pki::aead {

inline constexpr std::size_t key_size = 32;
inline constexpr std::size_t iv_size = 12;
inline constexpr std::size_t tag_size = 16;

struct sealed {
  bytes ciphertext;
  bytes tag;
};

[[nodiscard]] sealed seal(byte_view key, byte_view iv, byte_view aad,
                          byte_view plaintext);

/// nullopt when the tag does not fit, or a size is not the one above.
[[nodiscard]] std::optional<secret_bytes> open(byte_view key, byte_view iv,
                                               byte_view aad,
                                               byte_view ciphertext,
                                               byte_view tag);

}  // namespace bc::pki::aead
