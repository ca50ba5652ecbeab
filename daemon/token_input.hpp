#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

namespace bc::daemon {

inline constexpr std::size_t max_token_input = 4096;
inline constexpr const char* token_variable = "BCD_JOIN_TOKEN";

/// The token in what was given: blanks, tabs, CR and LF around it are dropped
/// and nothing else is. INVALID_INPUT, with no part of the input in the
/// message, for no token, two lines, over 4096 bytes, or another form.
[[nodiscard]] result<secret_bytes> clean_token(byte_view given);

/// The token from BCD_JOIN_TOKEN, which is wiped and removed from the
/// environment; when it is not set, from the file descriptor up to its end.
[[nodiscard]] result<secret_bytes> read_token(int fd);

}  // namespace bc::daemon
