#include "ops/dev/dev.hpp"

#include "ops/cli/commands.hpp"
#include "ops/cli/duration.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>

namespace bc::cli {

namespace {

// Certificates are backdated by five minutes, which count.
constexpr seconds shortest_lifetime{360};

// A site agent asks again after a third of it, and vouches while 10 s are left.
constexpr seconds shortest_boot_lease{30};
constexpr seconds longest_boot_lease{600};

CLI::Validator is_between(seconds least, seconds most, const char* told) {
  return {[=](const std::string& text) -> std::string {
            auto value = parse_duration(text);
            if (!value)
              return value.error().message;
            return value.value() < least || value.value() > most ? told : "";
          },
          ""};
}

}  // namespace

void add_dev(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "dev",
      "Run everything in one process on an embedded store; Ctrl-C "
      "stops it");
  auto o = std::make_shared<dev::options>();
  c->add_option("--data", o->data,
                "Folder for store, keys, credential and checkpoints")
      ->type_name("FILE")
      ->capture_default_str();
  c->add_option("--sim", o->machines,
                "Simulated machines that join, and live while it runs")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  auto attestor = std::make_shared<std::string>("join-token");
  c->add_option("--attestor", *attestor,
                "By which attestor they join: tpm (made-up TPMs, approved as "
                "by an operator), discovery (a site agent boots them), mixed: "
                "all of them in turn")
      ->check(CLI::IsMember({"join-token", "tpm", "discovery", "mixed"}))
      ->type_name("join-token|tpm|discovery|mixed")
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
  auto lifetime = std::make_shared<std::string>("24h");
  c->add_option("--certificate-lifetime", *lifetime,
                "How long a node's certificate lasts, the 5 minutes it is "
                "backdated by among it; machines renew at 60 %. Below 9m10s "
                "it is due as it comes: simulated machines renew all the "
                "same, a bcd at most 12 times an hour")
      ->type_name("DURATION")
      ->check(is_between(shortest_lifetime, pki::max_node_lifetime,
                         "runs from 6m to 24h"))
      ->capture_default_str();
  auto boot_lease = std::make_shared<std::string>("2m");
  c->add_option("--boot-lease", *boot_lease,
                "How long a site agent has the site's boot lease, unless it "
                "asks again")
      ->type_name("DURATION")
      ->check(is_between(shortest_boot_lease, longest_boot_lease,
                         "runs from 30s to 10m"))
      ->capture_default_str();
  add_examples(*c, {"dev --sim 3", "dev --sim 6 --attestor mixed",
                    "dev --data ./data --api-port 0 "
                    "--gateway-port 0"});
  c->callback([&ctx, o, lifetime, boot_lease, attestor] {
    // They were checked.
    if (auto value = parse_duration(*lifetime))
      o->certificate_lifetime = value.value();
    if (auto value = parse_duration(*boot_lease))
      o->boot_lease = value.value();
    o->attestors = dev::parse_sim_attestors(*attestor);
    auto code = dev::run(*o);
    if (!code)
      return report(ctx, code.error());
    ctx.exit_code = code.value();
  });
}

}  // namespace bc::cli
