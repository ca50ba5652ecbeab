#pragma once

#include "ops/cli/command_tree.hpp"

#include <string>

namespace bc::cli {

/// A script that completes the program's commands, options, their choices and
/// file names in bash; needs bash alone.
[[nodiscard]] std::string bash_completion(const command_node& program);

/// The same for zsh, with what each command and option does.
[[nodiscard]] std::string zsh_completion(const command_node& program);

}  // namespace bc::cli
