#include "ops/cli/commands.hpp"

#include "ops/cli/api_groups.hpp"
#include "ops/cli/help.hpp"

#include <CLI/CLI.hpp>

namespace bc::cli {

namespace {

// The library also reads the environment for the commands beside the one that
// was called, and many share where a value goes (--url, --tenant): that would
// overwrite what a flag said. It does not for a command with this callback.
void read_only_when_called(CLI::App& command) {
  auto parts = command.get_subcommands([](CLI::App*) { return true; });
  if (parts.empty())
    command.parse_complete_callback([] {});
  for (auto* part : parts)
    read_only_when_called(*part);
}

}  // namespace

void add_commands(CLI::App& app, context& ctx) {
  set_help_style(app);
  add_dev(app, ctx);
  add_serve(app, ctx);
  add_gateway(app, ctx);
  add_migrate(app, ctx);
  add_pki(app, ctx);
  add_daemon(app, ctx);
  add_journal(app, ctx);
  add_projections(app, ctx);
  add_login(app, ctx);
  for (const auto& group : api_groups())
    add_api_group(app, ctx, group);
  add_bootstrap(app, ctx);
  add_join_tokens_issue(app, ctx);
  add_join_requests(app, ctx);
  add_nodes_revoke(app, ctx);
  add_events(app, ctx);
  add_doctor(app, ctx);
  add_completion(app, ctx);
  collect_examples(app);
  for (auto* command : app.get_subcommands([](CLI::App*) { return true; }))
    read_only_when_called(*command);
}

}  // namespace bc::cli
