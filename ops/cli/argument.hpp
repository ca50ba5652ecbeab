#pragma once

#include "base/json.hpp"
#include "base/result.hpp"
#include "ops/cli/context.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// One argument of a command that is one call of the API, as data: what it is
/// called, and where in the call's input its text goes.
namespace bc::cli {

enum class arity { one, many, flag };

struct argument {
  /// What `put` makes of the texts; INVALID_INPUT when they say nothing it
  /// can use.
  using putter = std::function<result<void>(
      json::document& input, const std::vector<std::string>& texts)>;

  std::string name;   // "--pool", or "ID": given without a name
  std::string field;  // "poolId", "expect.serial": what `put` writes
  std::string help;
  putter put;
  arity takes = arity::one;
  bool required = false;
  std::string value_name = "TEXT";
  std::vector<std::string> choices = {};  // empty: any
  // What is wrong with one text; empty text: nothing.
  std::function<std::string(const std::string&)> check = nullptr;
  // Where the profile's value for it is.
  std::string context::*kept = nullptr;
};

/// An id. A pasted token or credential is refused: its secret must never
/// travel as an id (CASES 4).
[[nodiscard]] argument id(std::string name, std::string field,
                          std::string help);
[[nodiscard]] argument text(std::string name, std::string field,
                            std::string help);
[[nodiscard]] argument texts(std::string name, std::string field,
                             std::string help);
[[nodiscard]] argument number(std::string name, std::string field,
                              std::int64_t least, std::int64_t most,
                              std::string help);
/// A duration of 1m to 24h, in whole seconds.
[[nodiscard]] argument lifetime(std::string name, std::string field,
                                std::string help);
/// A moment: RFC 3339, or how long ago ("2h").
[[nodiscard]] argument moment(std::string name, std::string field,
                              std::string help);
/// Says yes.
[[nodiscard]] argument flag(std::string name, std::string field,
                            std::string help);
/// An object without members.
[[nodiscard]] argument empty_object(std::string name, std::string field,
                                    std::string help);
/// A file with a JSON object; "-": standard input.
[[nodiscard]] argument object_file(std::string name, std::string field,
                                   std::string help);

[[nodiscard]] argument required(argument a);
[[nodiscard]] argument one_of(std::vector<std::string> choices, argument a);
/// Required, but the profile may have it.
[[nodiscard]] argument required_or_kept(argument a, std::string context::*kept);

/// The member of an object that a dotted field names, made when missing.
[[nodiscard]] json::value& member_at(json::document& input,
                                     std::string_view field);

}  // namespace bc::cli
