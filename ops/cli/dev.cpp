#include "ops/dev/dev.hpp"

#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>

namespace bc::cli {

void add_dev(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "dev",
      "Run everything in one process on an embedded store; Ctrl-C "
      "stops it");
  auto o = std::make_shared<dev::options>();
  c->add_option("--data", o->data, "Folder for store, keys and credential")
      ->type_name("FILE")
      ->capture_default_str();
  c->add_option("--sim", o->machines, "Simulated machines that join")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  c->add_flag("--once", o->once,
              "Stop after the simulated joins; exit 1 if any failed");
  c->add_option("--api-port", o->api_port, "Loopback port of the API; 0: any")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  c->add_option("--gateway-port", o->gateway_port,
                "Loopback port of the gateway; 0: any")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  add_examples(*c, {"dev --sim 3",
                    "dev --data ./data --api-port 0 "
                    "--gateway-port 0"});
  c->callback([&ctx, o] {
    auto code = dev::run(*o);
    if (!code)
      return report(ctx, code.error());
    ctx.exit_code = code.value();
  });
}

}  // namespace bc::cli
