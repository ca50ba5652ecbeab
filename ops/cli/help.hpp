#pragma once

namespace CLI {
class App;
}

namespace bc::cli {

/// How --help reads: each option with what it takes, its default and its
/// variable. Set before commands are added, which inherit it.
void set_help_style(CLI::App& app);

/// Gives each group of commands, and the program, an example of each of its
/// commands; for when all are added.
void collect_examples(CLI::App& app);

}  // namespace bc::cli
