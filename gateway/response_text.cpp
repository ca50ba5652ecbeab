#include "gateway/response_text.hpp"

#include "base/ids.hpp"
#include "gateway/routes.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace bc::gateway {

namespace {

std::string_view phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

bool fits_a_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

errc code_of(int status) {
  for (auto code : {errc::unauthenticated, errc::access_denied, errc::not_found,
                    errc::rate_limited, errc::unavailable})
    if (http_status(code) == status)
      return code;
  return errc::invalid_input;
}

std::string head_text(const http_response& response, std::string_view framing,
                      std::string_view length, bool close) {
  std::string out;
  out.append("HTTP/1.1 ").append(std::to_string(response.status));
  out.append(" ").append(phrase_of(response.status)).append("\r\n");
  auto put = [&out](std::string_view name, std::string_view value) {
    if (is_name(name) && fits_a_line(value))
      out.append(name).append(": ").append(value).append("\r\n");
  };
  put("content-type", response.content_type);
  if (!framing.empty())
    put(framing, length);
  for (const auto& [name, value] : response.headers)
    put(name, value);
  if (close)
    put("connection", "close");
  return out.append("\r\n");
}

}  // namespace

std::string response_text(const http_response& response, bool head_only,
                          bool close) {
  const auto size = response.stream_length.value_or(response.body.size());
  // 304 has no content, and the length would be that of the 200 it stands for
  // (RFC 9110 section 8.6).
  auto out = head_text(response, response.status == 304 ? "" : "content-length",
                       std::to_string(size), close);
  if (!head_only)
    out.append(response.body);
  return out;
}

std::string stream_head(const http_response& response, bool chunked) {
  if (response.stream_length)
    return head_text(response, "content-length",
                     std::to_string(*response.stream_length), true);
  // To HTTP/1.0 the end of the connection is the body's end.
  return head_text(response, chunked ? "transfer-encoding" : "", "chunked",
                   true);
}

std::string chunk_text(std::string_view text, bool chunked) {
  if (!chunked)
    return std::string{text};
  std::array<char, 17> size{};
  auto end = std::to_chars(size.begin(), size.end(), text.size(), 16).ptr;
  std::string out;
  out.reserve(text.size() + 24);
  out.append(size.begin(), end).append("\r\n");
  return out.append(text).append("\r\n");
}

http_response refusal(const server_options& options, int status,
                      const std::string& message) {
  auto code = wire_text(code_of(status));
  http_response out;
  out.status = status;
  out.body =
      options.error_body
          ? options.error_body(status, code, message)
          : error_body(code, message,
                       pki::mint<request_id>(system_clock{}.now()).str());
  if (status == 405)
    out.headers["allow"] = "GET, HEAD, POST";
  return out;
}

}  // namespace bc::gateway
