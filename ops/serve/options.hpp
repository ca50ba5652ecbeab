#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Settings of a program that runs: one TOML file, the environment over it,
/// flags over both (spec: DESIGN section 11).
namespace bc::serve {

/// One setting and where its value goes; what it points to holds the default.
struct option {
  using target =
      std::variant<std::string*, std::int64_t*, bool*, seconds*,
                   std::vector<std::string>*,
                   std::map<std::string, std::string>*>;  // map: file alone

  std::string key;  // "api.port": `port` in the section [api]
  target into;
  std::string help;
  // Of a number, or of a duration in seconds.
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> choices = {};  // of a text; empty: any
};

/// A value given beside the file.
struct given {
  std::string key;
  std::string text;
  std::string origin;  // "--api-port", or the variable's name
};

/// "--api-port" for "api.port".
[[nodiscard]] std::string flag_of(std::string_view key);
/// "BETTER_COMPUTE_API_PORT" for "api.port".
[[nodiscard]] std::string variable_of(std::string_view key);
/// True for what the environment and flags can give: all but maps.
[[nodiscard]] bool has_flag(const option& o);

/// The values that the environment holds, in the order of the options.
[[nodiscard]] std::vector<given> from_environment(
    std::span<const option> options);

/// Reads the file (none when empty), then `over` in order. INVALID_CONFIG with
/// every problem, a line each: an unknown key, a value of another type, out of
/// bounds or empty, with the file's line.
[[nodiscard]] result<void> read_options(std::span<const option> options,
                                        const std::string& file,
                                        std::span<const given> over);

/// The problems as one fault, or nothing when there are none.
[[nodiscard]] result<void> no_problems(const std::vector<std::string>& found);

}  // namespace bc::serve
