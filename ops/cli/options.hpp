#pragma once

#include "ops/cli/context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The options that commands share, and how their values are checked.
namespace bc::cli {

/// Adds --url, --credential-file, --ca-file, --profile and --output to a
/// command that talks to a server, and --tenant when it acts for one.
void add_server_options(CLI::App& command, context& ctx);
void add_tenant_option(CLI::App& command, context& ctx);
/// Adds --utc to a command that shows times to people.
void add_utc_option(CLI::App& command, context& ctx);
void add_profile_option(CLI::App& command, context& ctx);

/// Adds --output alone, for a command that talks to no server.
void add_output_option(CLI::App& command, context& ctx);

/// An option that, when given, holds some text: a shell variable that was not
/// set must not count as an option left out.
CLI::Option* add_text(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help);
/// The same for the path of a file or folder, which a shell completes.
CLI::Option* add_path(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help);
/// --out, the path of a new file, never "-"; `without` says where it goes
/// without --out, empty when --out is required.
CLI::Option* add_out(CLI::App& command, std::string& path,
                     const std::string& help,
                     const std::string& without = "standard output");
/// Like add_text, for a whole number in plain decimal digits, within limits.
CLI::Option* add_number(CLI::App& command, const std::string& name,
                        std::int64_t& value, std::int64_t least,
                        std::int64_t most, const std::string& help);
/// Adds --yes to a command that cannot be taken back (confirm(), terminal.hpp).
void add_yes(CLI::App& command, bool& yes);

/// What is wrong with the text of a number within limits; empty: nothing.
[[nodiscard]] std::string check_number(const std::string& text,
                                       std::int64_t least, std::int64_t most);
/// The same for a text that must not be empty.
[[nodiscard]] std::string check_text(const std::string& text);

/// What a command's --help ends with: notes, then examples as they are typed,
/// without the program's name before them.
void add_examples(CLI::App& command, const std::vector<std::string>& lines,
                  const std::string& notes = {});

}  // namespace bc::cli
