#pragma once

#include "base/bytes.hpp"
#include "pki/key.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace bc::pki {

/// What a signature is for; one key's signature for one purpose is worthless
/// for another (spec: DESIGN section 7).
enum class purpose {
  join_response,
  renew_response,
  renew_pop,
  rejoin_pop,
  join_challenge,
  server_time,
  command,
  journal_checkpoint,
  release,
};

[[nodiscard]] std::string_view purpose_text(purpose p) noexcept;

/// SHA-256 over "bc-sig-v1", the purpose and each field, each with its 8-byte
/// length.
[[nodiscard]] sha256_digest signing_input(
    purpose p, std::initializer_list<byte_view> fields);

[[nodiscard]] raw_signature sign(const private_key& key, purpose p,
                                 std::initializer_list<byte_view> fields);
[[nodiscard]] bool verify(const public_key& key, purpose p,
                          std::initializer_list<byte_view> fields,
                          byte_view signature);

}  // namespace bc::pki
