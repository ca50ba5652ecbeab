#pragma once

#include "base/result.hpp"
#include "ops/cli/profile.hpp"

#include <optional>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace bc::cli {

/// Exit codes of the operator's command (spec: DESIGN section 11).
inline constexpr int done = 0;
inline constexpr int refused = 1;
inline constexpr int usage = 2;
inline constexpr int unreachable = 3;

/// A profile that a command takes its settings from.
struct used_profile {
  std::string name;
  profile settings;
};

/// What every subcommand shares: where the server is, who calls, how answers
/// are shown, and the exit code the program ends with. Flags and the
/// environment fill it; settle() (server.hpp) adds what they left open.
struct context {
  std::string url;
  std::string credential_file;
  std::string credential;  // itself, when it was read from standard input
  std::string ca_file;
  std::string tenant;
  std::string pool;
  std::string profile_name;
  std::string output = "table";
  bool utc = false;
  int exit_code = done;
  std::optional<used_profile> used;
  /// The URL of a profile that was left aside, since another was asked for.
  std::string url_of_unused;

  [[nodiscard]] bool json() const { return output == "json"; }
};

/// Prints "better-compute: CODE: message (detail)" to standard error and sets
/// the exit code (refused unless given). Only faults of this process have a
/// detail; a server keeps its own.
void report(context& ctx, const fault& f, int exit_code = refused);

/// The same line for what does not fail the command.
void warn(const std::string& message);

/// Says what is wrong with the arguments and sets the exit code; a credential
/// or token among them is not repeated.
void report_arguments(context& ctx, const CLI::App& app,
                      const CLI::ParseError& e);

}  // namespace bc::cli
