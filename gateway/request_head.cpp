#include "gateway/request_head.hpp"

#include <algorithm>

namespace bc::gateway {

namespace {

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

/// The header's values, in order.
std::vector<std::string_view> all(const request_head& head,
                                  std::string_view name) {
  std::vector<std::string_view> out;
  for (const auto& line : head.lines)
    if (is_same(line.name, name))
      out.push_back(line.value);
  return out;
}

/// Two servers may read such a message as two different ones (CASES 138).
bool is_ambiguous(const request_head& head) {
  auto lengths = all(head, "content-length");
  auto encodings = all(head, "transfer-encoding");
  if (lengths.size() + encodings.size() > 1)
    return true;
  if (!lengths.empty() && lengths[0].find(',') != std::string_view::npos)
    return true;
  return !encodings.empty() &&
         (head.version != 11 || !is_same(encodings[0], "chunked"));
}

// uri-host [":" port] (RFC 9110 section 7.2) by its characters; empty when the
// URI the client has in mind has no authority.
bool is_host(std::string_view text) {
  constexpr std::string_view marks = "-._~%!$&'()*+;=:[]";
  return std::ranges::all_of(text, [&](char c) {
    auto low = to_lower(c);
    return (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
           marks.find(c) != marks.npos;
  });
}

// RFC 9112 section 3.2: HTTP/1.1 has exactly one; older may have none.
bool has_good_host(const request_head& head) {
  auto hosts = all(head, "host");
  if (hosts.empty())
    return head.version < 11;
  return hosts.size() == 1 && is_host(hosts[0]);
}

}  // namespace

std::optional<head_fault> take_head(const request_head& head,
                                    http_request& out) {
  if (is_ambiguous(head))
    return head_fault{400, "the length of the request body is ambiguous"};
  if (!has_good_host(head))
    return head_fault{400, "the request must have one Host header"};
  if (head.target.starts_with('/'))
    out.path = head.target.substr(0, head.target.find('?'));
  if (head.method != "GET" && head.method != "HEAD" && head.method != "POST")
    return head_fault{405, "only GET, HEAD and POST are served"};
  if (out.path.empty())
    return head_fault{400, "the request target is not a path"};
  auto mark = head.target.find('?');
  out.method = head.method;
  if (mark != std::string_view::npos)
    out.query = head.target.substr(mark + 1);
  for (const auto& line : head.lines) {
    std::string name{line.name};
    std::ranges::transform(name, name.begin(), to_lower);
    out.headers.emplace(std::move(name), line.value);
  }
  return std::nullopt;
}

bool waits_for_continue(const request_head& head) {
  auto expects = all(head, "expect");
  return head.version == 11 && !expects.empty() &&
         is_same(expects[0], "100-continue");
}

}  // namespace bc::gateway
