#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace bc {

namespace detail {
/// prefix + 26 to 52 characters of Crockford's lower-case alphabet.
[[nodiscard]] bool id_matches(std::string_view prefix,
                              std::string_view text) noexcept;
[[nodiscard]] std::string time_ordered(
    std::string_view prefix, time_point now,
    std::span<const std::uint8_t, 10> random);
[[nodiscard]] std::string hashed(std::string_view prefix,
                                 std::span<const std::uint8_t, 32> digest);
}  // namespace detail

/// An identifier of one kind: Tag::prefix + 26 characters (48 bits of
/// milliseconds, 80 random bits) or 52 characters (a SHA-256). Kinds do not
/// convert into each other nor from text without a check.
template <class Tag>
class strong_id {
 public:
  strong_id() = default;

  /// INVALID_INPUT unless the text is of the published pattern for this prefix.
  [[nodiscard]] static result<strong_id> parse(std::string_view text) {
    if (!detail::id_matches(Tag::prefix, text))
      return fail(errc::invalid_input, "not an identifier of the form " +
                                           std::string{Tag::prefix} + "…");
    return strong_id{std::string{text}};
  }

  [[nodiscard]] static strong_id time_ordered(
      time_point now, std::span<const std::uint8_t, 10> random) {
    return strong_id{detail::time_ordered(Tag::prefix, now, random)};
  }

  [[nodiscard]] static strong_id from_digest(
      std::span<const std::uint8_t, 32> digest) {
    return strong_id{detail::hashed(Tag::prefix, digest)};
  }

  [[nodiscard]] const std::string& str() const noexcept { return text_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  auto operator<=>(const strong_id&) const = default;

 private:
  explicit strong_id(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The text of an id that may be missing.
template <class Tag>
[[nodiscard]] std::optional<std::string> text_of(
    const std::optional<strong_id<Tag>>& id) {
  return id ? std::optional{id->str()} : std::nullopt;
}

struct tenant_tag {
  static constexpr std::string_view prefix = "ten_";
};
struct site_tag {
  static constexpr std::string_view prefix = "site_";
};
struct pool_tag {
  static constexpr std::string_view prefix = "pool_";
};
struct node_tag {
  static constexpr std::string_view prefix = "node_";
};
struct join_token_tag {
  static constexpr std::string_view prefix = "jt_";
};
struct join_request_tag {
  static constexpr std::string_view prefix = "jreq_";
};
struct credential_tag {
  static constexpr std::string_view prefix = "bck_";
};
struct batch_tag {
  static constexpr std::string_view prefix = "bat_";
};
struct incarnation_tag {
  static constexpr std::string_view prefix = "inc_";
};
struct request_tag {
  static constexpr std::string_view prefix = "req_";
};
struct session_tag {
  static constexpr std::string_view prefix = "sess_";
};
struct command_tag {
  static constexpr std::string_view prefix = "cmd_";
};
struct gateway_tag {  // one run of a gateway
  static constexpr std::string_view prefix = "gw_";
};

using tenant_id = strong_id<tenant_tag>;
using site_id = strong_id<site_tag>;
using pool_id = strong_id<pool_tag>;
using node_id = strong_id<node_tag>;
using join_token_id = strong_id<join_token_tag>;
using join_request_id = strong_id<join_request_tag>;
using credential_id = strong_id<credential_tag>;
using batch_id = strong_id<batch_tag>;
using incarnation_id = strong_id<incarnation_tag>;
using request_id = strong_id<request_tag>;
using session_id = strong_id<session_tag>;
using command_id = strong_id<command_tag>;
using gateway_id = strong_id<gateway_tag>;

}  // namespace bc
