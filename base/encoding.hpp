#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bc {

/// Lower-case hexadecimal.
[[nodiscard]] std::string to_hex(byte_view data);
/// Accepts either case; an odd length or another character is INVALID_INPUT.
[[nodiscard]] result<bytes> from_hex(std::string_view text);

/// RFC 4648 section 4, with padding.
[[nodiscard]] std::string to_base64(byte_view data);
/// Strict: padding required, no blanks, unused bits zero; else INVALID_INPUT.
[[nodiscard]] result<bytes> from_base64(std::string_view text);

/// RFC 4648 section 5, without padding (the form of RFC 7515).
[[nodiscard]] std::string to_base64url(byte_view data);
/// Strict: no padding, no blanks, unused bits zero; else INVALID_INPUT.
[[nodiscard]] result<bytes> from_base64url(std::string_view text);

/// Crockford's alphabet in lower case, big endian, left-padded with zero bits:
/// 16 bytes give 26 characters, 32 bytes give 52.
[[nodiscard]] std::string to_crockford(byte_view data);

/// True for one of 0-9 a-h j k m n p-t v-z.
[[nodiscard]] bool is_crockford(char c) noexcept;

/// True when the text is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace bc
