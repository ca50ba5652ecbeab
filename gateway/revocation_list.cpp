#include "gateway/revocation_list.hpp"

#include <algorithm>

namespace bc::gateway {

namespace {

constexpr std::string_view list_path = "/pki/crl";
constexpr const char* list_type = "application/pkix-crl";
// A cache may keep it, and asks whether there is another before it gives it.
constexpr const char* asks_again = "no-cache";
constexpr std::size_t id_digits = 40;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// RFC 9110 section 13.1.2: "*", or a list of tags, compared weakly. No tag of
// ours holds a comma.
bool names(std::string_view condition, std::string_view tag) {
  while (!condition.empty()) {
    const auto comma = condition.find(',');
    auto one = trimmed(condition.substr(0, comma));
    if (one == "*")
      return true;
    if (one.starts_with("W/"))
      one.remove_prefix(2);
    if (one == tag)
      return true;
    if (comma == std::string_view::npos)
      return false;
    condition.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<std::string_view> parse_revocation_list(std::string_view path) {
  if (!path.starts_with(list_path))
    return std::nullopt;
  path.remove_prefix(list_path.size());
  if (path.empty())
    return path;
  if (!path.starts_with('/'))
    return std::nullopt;
  path.remove_prefix(1);
  const bool hex = std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (!hex || path.size() != id_digits)
    return std::nullopt;
  return path;
}

http_response revocation_list_answer(const http_request& request,
                                     const revocation_list& list) {
  const auto tag = '"' + list.edition + '"';
  http_response out;
  out.content_type = list_type;
  // Weak: each process signs the list itself, and no two signatures are alike.
  out.headers["etag"] = "W/" + tag;
  out.headers["cache-control"] = asks_again;
  const auto condition = request.headers.find("if-none-match");
  if (condition != request.headers.end() && names(condition->second, tag))
    out.status = 304;
  else
    out.body = list.der;
  return out;
}

}  // namespace bc::gateway
