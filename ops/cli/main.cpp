#include "ops/cli/commands.hpp"
#include "ops/version.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  bc::cli::context ctx;
  CLI::App app{
      "better-compute: turns machines into nodes.\n"
      "Exit codes: 0 done, 1 refused or failed, 2 usage, 3 the server cannot "
      "be reached.",
      "better-compute"};
  app.set_version_flag("--version", std::string{bc::version});
  app.require_subcommand(1);
  try {
    bc::cli::add_commands(app, ctx);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version come this way too.
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(e);
    bc::cli::report_arguments(ctx, app, e);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "better-compute: INTERNAL: %s\n", e.what());
    return bc::cli::refused;
  }
  // A token or credential that could not be shown is lost.
  if (std::cout.flush(); !std::cout && ctx.exit_code == bc::cli::done)
    bc::cli::report(ctx, bc::fail(bc::errc::unavailable,
                                  "standard output could not be written; if "
                                  "it held a secret, that is lost: revoke it"));
  return ctx.exit_code;
}
