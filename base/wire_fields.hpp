#pragma once

#include "base/json.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Private to the codecs of the daemon protocol (wire*.cpp): fields that
/// several messages have, and their bounds.
namespace bc::wire::detail {

inline constexpr std::size_t max_text = 256;

/// INVALID_INPUT.
[[nodiscard]] fault invalid(std::string message, std::string path);

/// Empty when absent.
[[nodiscard]] result<std::string> bounded(const json::reader& from,
                                          std::string_view name,
                                          std::size_t limit = max_text);

/// The JSON object of a body, which has `max_body` bytes at most.
[[nodiscard]] result<json::document> parse_body(std::string_view body);

/// `protocol`, which must be a version that we speak.
[[nodiscard]] result<void> check_protocol(const json::reader& from);

/// `csr`: 1 to 4096 bytes.
[[nodiscard]] result<bytes> csr_of(const json::reader& from);

[[nodiscard]] result<std::vector<bytes>> base64_list(const json::reader& from,
                                                     std::string_view name);

/// Bytes of just this size, or of 1 up to the limit.
[[nodiscard]] result<bytes> sized(const json::reader& from,
                                  std::string_view name, std::size_t size);
[[nodiscard]] result<bytes> at_most(const json::reader& from,
                                    std::string_view name, std::size_t limit);
/// Empty when absent.
[[nodiscard]] result<bytes> at_most_or_none(const json::reader& from,
                                            std::string_view name,
                                            std::size_t limit);
/// 1 to `most` members of 1 to 4096 bytes each, counted before any is decoded.
[[nodiscard]] result<std::vector<bytes>> certificates_of(
    const json::reader& from, std::string_view name, std::size_t most);

void put_base64(json::writer& out, std::string_view name, byte_view data);
void put_base64_list(json::writer& out, std::string_view name,
                     const std::vector<bytes>& items);

}  // namespace bc::wire::detail
