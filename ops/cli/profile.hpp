#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

/// What a person's commands need each day, kept under a name.
namespace bc::cli {

/// The largest number that TOML has.
inline constexpr std::uint64_t most_position =
    std::numeric_limits<std::int64_t>::max();

struct profile {
  std::string url;
  std::string ca_file;
  std::string credential;       // the bearer text itself, or
  std::string credential_file;  // a file of its own
  std::string tenant;
  std::string pool;
  /// Of the last event that a command wrote: lists wait for it. At most
  /// most_position; what is above is not kept.
  std::uint64_t position = 0;
};

using profiles = std::map<std::string, profile>;

inline constexpr std::string_view default_profile = "default";

/// 1 to 64 letters, digits, dashes and underscores.
[[nodiscard]] bool is_profile_name(std::string_view text);

/// True when both name the same place; a slash at the end does not count.
[[nodiscard]] bool same_url(std::string_view a, std::string_view b);

/// Reads the TOML text of a profile file, a section for each profile.
/// INVALID_CONFIG names an unknown key or a wrong value, never a secret.
[[nodiscard]] result<profiles> parse_profiles(std::string_view text);
[[nodiscard]] std::string format_profiles(const profiles& all);

}  // namespace bc::cli
