#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace bc::daemon {

inline constexpr const char* program_version = "0.1.0";
inline constexpr const char* default_config_file = "/etc/bcd/config.toml";

/// A subcommand of bcd and what it does once it was parsed; the result is the
/// program's exit code.
struct command {
  CLI::App* parsed;
  std::function<int()> run;
};
[[nodiscard]] command add_join_command(CLI::App& app);
[[nodiscard]] command add_node_command(CLI::App& app);
[[nodiscard]] command add_site_command(CLI::App& app);
[[nodiscard]] command add_helper_command(CLI::App& app);
[[nodiscard]] command add_doctor_command(CLI::App& app);

/// --config and --data-dir.
void add_file_options(CLI::App& to, std::string& config_file,
                      std::string& data_dir);

/// Prints "bcd: MESSAGE" on standard error; the exit code of wrong usage.
int complain(const std::string& message);

}  // namespace bc::daemon
