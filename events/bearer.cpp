#include "events/bearer.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

#include <algorithm>

namespace bc::events {

namespace {

constexpr std::size_t secret_length = 43;
constexpr std::size_t max_id_length = 64;

bool is_base64url(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

std::optional<std::pair<std::string_view, std::string_view>> split_bearer(
    std::string_view text) {
  if (text.size() <= secret_length + 1 ||
      text.size() > max_id_length + 1 + secret_length)
    return std::nullopt;
  auto id = text.substr(0, text.size() - secret_length - 1);
  auto secret = text.substr(text.size() - secret_length);
  if (text[id.size()] != '.' || id.find('.') != std::string_view::npos ||
      !std::all_of(secret.begin(), secret.end(), is_base64url))
    return std::nullopt;
  return std::pair{id, secret};
}

bool is_digest_of(std::string_view digest_hex, const secret_bytes& secret) {
  auto digest = to_hex(pki::sha256(secret.expose()));
  return equal_in_constant_time(as_bytes(digest_hex), as_bytes(digest));
}

}  // namespace bc::events
