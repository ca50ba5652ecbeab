#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <string_view>

/// Textual encoding (RFC 7468); private to pki.
namespace bc::pki::pem {

/// One block with lines of 64 characters.
[[nodiscard]] secret_bytes encode(std::string_view label, byte_view der);

/// Exactly one block of that label, blanks around it allowed; else
/// INVALID_INPUT.
[[nodiscard]] result<secret_bytes> decode(std::string_view label,
                                          std::string_view text);

}  // namespace bc::pki::pem
