#pragma once

#include "ops/cli/argument.hpp"
#include "ops/cli/table.hpp"
#include "ops/cli/wait_record.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Commands that are one call of the API, as data: a new method is an entry in
/// a table here, and its --help, completion and output follow.
namespace bc::cli {

/// A secret in an answer that is shown once.
struct one_time_secret {
  std::string field;    // "token"
  std::string noun;     // "token"
  std::string missing;  // what to say when an answer has none
  std::string another = "create another";  // what to do then
};

struct api_command {
  std::string name;  // "revoke-identity" calls revokeIdentity
  std::string help;
  std::vector<argument> arguments;
  std::vector<std::string> examples;  // without the program's name
  std::vector<column> columns = {};   // of a list; none: the answer is a record
  std::int64_t rows = 0;              // of a list without --limit; 0: all
  std::optional<one_time_secret> secret = std::nullopt;  // adds --out
  /// What cannot be taken back is asked first: "Delete the node".
  std::string question = {};
  std::string notes = {};
  /// What is wrong with the fields that were given, together; empty: nothing.
  std::function<std::string(const std::set<std::string>& fields)> check = {};
  std::optional<pending_record> ends_later = std::nullopt;  // adds --wait
};

/// The commands of one group of methods: "join-tokens" calls joinTokens.
struct api_group {
  std::string name;
  std::string help;
  std::vector<api_command> commands;
};

/// "joinTokens" for "join-tokens".
[[nodiscard]] std::string api_name(std::string_view command);

void add_api_group(CLI::App& app, context& ctx, const api_group& group);

}  // namespace bc::cli
