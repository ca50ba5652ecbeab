#include "ops/cli/completion.hpp"

#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

void add_completion(CLI::App& app, context&) {
  auto* c = app.add_subcommand("completion",
                               "Print what completes this command in a shell");
  auto shell = std::make_shared<std::string>();
  c->add_option("SHELL", *shell, "bash or zsh")
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->required();
  add_examples(*c,
               {"completion bash > "
                "~/.local/share/bash-completion/completions/better-compute",
                "completion zsh > ~/.zfunc/_better-compute"},
               "An installed program has its completion in place already.");
  c->callback([&app, shell] {
    const auto tree = command_tree(app);
    std::cout << (*shell == "bash" ? bash_completion(tree)
                                   : zsh_completion(tree));
  });
}

}  // namespace bc::cli
