#pragma once

#include "base/json.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace bc::cli {

/// Exit codes of the operator's command (spec: DESIGN section 11).
inline constexpr int done = 0;
inline constexpr int refused = 1;
inline constexpr int usage = 2;
inline constexpr int unreachable = 3;

/// What every subcommand shares: where the server is, who calls, how answers
/// are shown, and the exit code the program ends with.
struct context {
  std::string url = "http://127.0.0.1:7780";
  std::string credential_file;
  std::string ca_file;
  std::string tenant;
  std::string output = "table";
  int exit_code = done;

  [[nodiscard]] bool json() const { return output == "json"; }
};

/// Adds --url, --credential-file, --ca-file and --output to a command that
/// talks to a server, and --tenant when it acts for one.
void add_server_options(CLI::App& command, context& ctx);
void add_tenant_option(CLI::App& command, context& ctx);

/// Adds --output alone, for a command that talks to no server.
void add_output_option(CLI::App& command, context& ctx);

/// An option that, when given, holds some text: a shell variable that was not
/// set must not count as an option left out.
CLI::Option* add_text(CLI::App& command, const std::string& name,
                      std::string& value, const std::string& help);
/// The same for a whole number in plain decimal digits, within limits.
CLI::Option* add_number(CLI::App& command, const std::string& name,
                        std::int64_t& value, std::int64_t least,
                        std::int64_t most, const std::string& help);

/// Prints "better-compute: CODE: message (detail)" to standard error and sets
/// the exit code (refused unless given). Only faults of this process have a
/// detail; a server keeps its own.
void report(context& ctx, const fault& f, int exit_code = refused);

/// Says what is wrong with the arguments and sets the exit code; a credential
/// or token among them is not repeated.
void report_arguments(context& ctx, const CLI::App& app,
                      const CLI::ParseError& e);

/// The caller's credential, from where add_server_options says.
[[nodiscard]] result<std::string> read_credential(const context& ctx);

/// The error that an answer other than 200 holds.
[[nodiscard]] fault fault_of(int status, const std::string& body);

/// One API call; nullopt when it failed, which was then reported.
[[nodiscard]] std::optional<json::document> call(context& ctx,
                                                 std::string_view group,
                                                 std::string_view method,
                                                 const std::string& body);

/// One column of a human table.
struct column {
  std::string title;
  std::function<std::string(const json::value&)> cell;
};
/// A column showing a field's text, or "-" when it is absent.
[[nodiscard]] column field_column(std::string title, std::string field);

/// The items of a list answer, as JSON or as a table.
void show_list(const context& ctx, const json::document& answer,
               const std::vector<column>& columns);
/// One record, as JSON or a field a line.
void show_record(const context& ctx, const json::value& record);

/// Reads every page of a list method into one answer {"items":[…]}.
[[nodiscard]] std::optional<json::document> call_all_pages(
    context& ctx, std::string_view group, std::string_view method,
    const std::function<void(json::writer&)>& fields);

}  // namespace bc::cli
