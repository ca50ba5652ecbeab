#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

/// The commands as data, read from the parser: what completes a line cannot
/// differ from what is accepted.
namespace bc::cli {

struct option_node {
  std::vector<std::string> names;  // "--output", "-h"; none: positional
  std::string value_name;          // empty: takes no value
  std::string help;
  std::vector<std::string> choices;  // what the value may be; empty: anything
  bool repeats = false;

  [[nodiscard]] bool takes_file() const { return value_name == "FILE"; }
};

struct command_node {
  std::string path;  // "nodes list"; empty: the program
  std::string help;
  std::vector<option_node> options;
  std::vector<option_node> positionals;
  std::vector<command_node> commands;
};

[[nodiscard]] command_node command_tree(const CLI::App& app);

/// What an option's value may be by its check; empty: anything.
[[nodiscard]] std::vector<std::string> choices_of(const std::string& type_name);

}  // namespace bc::cli
