#include "daemon/token_input.hpp"

#include "base/ids.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace bc::daemon {

namespace {

fault bad(std::string message) {
  return fail(errc::invalid_input, std::move(message));
}

bool is_secret_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool is_token(std::string_view text) {
  constexpr std::string_view prefix = "bcjt_";
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  auto dot = text.find('.');
  if (dot == std::string_view::npos)
    return false;
  auto secret = text.substr(dot + 1);
  return join_token_id::parse(text.substr(0, dot)) && secret.size() == 43 &&
         std::all_of(secret.begin(), secret.end(), is_secret_char);
}

}  // namespace

result<secret_bytes> clean_token(byte_view given, token_text form) {
  if (given.size() > max_token_input)
    return bad("the token input is longer than 4096 bytes");
  auto text = trimmed(as_text(given));
  if (text.empty())
    return bad(
        "no join token given: pass one on standard input or in "
        "BCD_JOIN_TOKEN");
  if (text.find_first_of("\r\n") != std::string_view::npos)
    return bad("the token input holds more than one line; give one token");
  if (form == token_text::well_formed && !is_token(text))
    return bad("the token input does not look like bcjt_…");
  return secret_bytes{text};
}

result<secret_bytes> read_token(int fd, token_text form) {
  if (char* variable = std::getenv(token_variable)) {
    auto token = clean_token(as_bytes(variable), form);
    // unsetenv alone would leave the text in memory and in /proc/PID/environ.
    wipe(variable, std::strlen(variable));
    ::unsetenv(token_variable);
    return token;
  }
  // One byte more than allowed tells a full input from one that is too long.
  bytes buffer(max_token_input + 1);
  std::size_t size = 0;
  while (size < buffer.size()) {
    auto got = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      wipe(buffer.data(), buffer.size());
      return bad("cannot read the join token from standard input");
    }
    if (got == 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  auto token = clean_token(byte_view{buffer}.first(size), form);
  wipe(buffer.data(), buffer.size());
  return token;
}

}  // namespace bc::daemon
