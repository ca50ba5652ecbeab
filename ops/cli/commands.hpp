#pragma once

#include "ops/cli/context.hpp"

/// One function for each subcommand of better-compute that is not a call of
/// the API (api_groups.hpp); each adds its options and a callback that sets
/// ctx.exit_code.
namespace bc::cli {

void add_login(CLI::App& app, context& ctx);
void add_events(CLI::App& app, context& ctx);
void add_pki(CLI::App& app, context& ctx);
void add_daemon(CLI::App& app, context& ctx);
void add_migrate(CLI::App& app, context& ctx);
void add_journal(CLI::App& app, context& ctx);
void add_projections(CLI::App& app, context& ctx);
void add_dev(CLI::App& app, context& ctx);
void add_doctor(CLI::App& app, context& ctx);
void add_serve(CLI::App& app, context& ctx);
void add_gateway(CLI::App& app, context& ctx);
void add_completion(CLI::App& app, context& ctx);
/// Adds to the group of the API's credentials.
void add_bootstrap(CLI::App& app, context& ctx);
/// Adds to the group of the API's join tokens.
void add_join_tokens_issue(CLI::App& app, context& ctx);
/// Adds to the group of the API's join requests.
void add_join_requests(CLI::App& app, context& ctx);
/// Adds to the group of the API's nodes.
void add_nodes_revoke(CLI::App& app, context& ctx);

/// Adds all of them. A command's options take their values from the
/// environment when it is the one called, and then behind its flags.
void add_commands(CLI::App& app, context& ctx);

}  // namespace bc::cli
