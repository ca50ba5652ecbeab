#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

namespace bc::daemon {

inline constexpr std::size_t max_token_input = 4096;
inline constexpr const char* token_variable = "BCD_JOIN_TOKEN";

/// Which texts are sent: what looks like a token, or any, which the program
/// for trials may, to show what becomes of it.
enum class token_text { well_formed, any };

/// The token in what was given: blanks, tabs, CR and LF around it are dropped
/// and nothing else is. INVALID_INPUT, with no part of the input in the
/// message, for no token, two lines, over 4096 bytes, or another form.
[[nodiscard]] result<secret_bytes> clean_token(
    byte_view given, token_text form = token_text::well_formed);

/// The token from BCD_JOIN_TOKEN, which is wiped and removed from the
/// environment; when it is not set, from the file descriptor up to its end.
[[nodiscard]] result<secret_bytes> read_token(
    int fd, token_text form = token_text::well_formed);

}  // namespace bc::daemon
