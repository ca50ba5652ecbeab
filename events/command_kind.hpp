#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Kinds of commands, and which of them a certificate lets in (spec:
/// joining#node-certificates).
namespace bc::events {

inline constexpr std::string_view kind_ping = "ping";
inline constexpr std::string_view kind_inventory = "inventory.collect";
inline constexpr std::string_view kind_acceptance = "acceptance.run";

inline constexpr std::size_t max_command_kind = 64;

/// Words of lower-case letters and digits, joined by single dots or dashes:
/// "ping", "inventory.collect".
[[nodiscard]] bool is_command_kind(std::string_view text) noexcept;

/// A kind, or "prefix.*": whatever begins with "prefix." and goes on, so not
/// "prefix" itself.
[[nodiscard]] bool is_kind_pattern(std::string_view text) noexcept;

/// Whether one of the patterns covers the kind. No patterns: every kind.
[[nodiscard]] bool allows_kind(const std::vector<std::string>& allowed,
                               std::string_view kind) noexcept;

}  // namespace bc::events
