#include "gateway/routes.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/daemon_release.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/install_script.hpp"
#include "ops/cli/options.hpp"
#include "pki/key.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <sstream>

namespace bc::cli {

namespace {

constexpr const char* script_notes =
    "The pins and the join encryption key come from the first of these that is "
    "given:\n"
    "--pins, --bundle, --store (BETTER_COMPUTE_STORE); else from the "
    "well-known document\n"
    "of the server, which is as good as the connection to it. Generate the "
    "script again\n"
    "after `pki rotate activate`: the pins of before fail at a join. Machines "
    "that joined\n"
    "go by the rotation themselves; run it where one was off meanwhile.";

struct script_arguments {
  install_values values;
  std::string sha256;
  std::string manifest;
  std::string release_pins;
  keys_place keys;
};

result<std::vector<std::string>> parse_pins(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream from{text};
  for (std::string pin; std::getline(from, pin, ',');) {
    if (!pki::is_pin(pin))
      return fail(errc::invalid_input,
                  "--release-pins must be pins (sha256/…) with commas between, "
                  "as `daemon release-key` prints them");
    out.push_back(std::move(pin));
  }
  return out;
}

result<program_digests> read_digests(script_arguments& a) {
  if (a.sha256.empty() == a.manifest.empty())
    return fail(errc::invalid_input,
                "give either --sha256, or --release-manifest with "
                "--release-pins");
  if (!a.sha256.empty()) {
    if (a.values.version.empty())
      return fail(errc::invalid_input, "--sha256 needs --bcd-version");
    return parse_digests(a.sha256);
  }
  BC_TRY(pins, parse_pins(a.release_pins));
  if (pins.empty())
    return fail(errc::invalid_input,
                "--release-manifest needs --release-pins: a manifest is worth "
                "what its key is");
  BC_TRY(manifest, read_file(a.manifest));
  return digests_of_manifest(manifest, pins, a.values.version);
}

void print_script(context& ctx, script_arguments& a) {
  auto digests = read_digests(a);
  if (!digests)
    return report(
        ctx, digests.error(),
        digests.error().code == errc::access_denied ? refused : usage);
  a.values.digests = std::move(digests).value();
  auto keys = read_machine_keys(ctx, a.keys);
  if (!keys)
    return;
  a.values.keys = std::move(*keys);
  auto script = install_script(a.values);
  if (!script)
    return report(ctx, script.error(), usage);
  std::cout << script.value();
}

void add_install_script(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "install-script",
      "Print the script that installs bcd on a server and joins it");
  auto a = std::make_shared<script_arguments>();
  auto& v = a->values;
  add_text(*c, "--pool", v.pool, "The pool machines join")
      ->type_name("ID")
      ->required();
  add_text(*c, "--site", v.site, "The pool's site")
      ->type_name("ID")
      ->required();
  add_text(*c, "--gateway-url", v.gateway_url,
           "Where machines join: https://HOST[:PORT]")
      ->type_name("URL")
      ->required();
  add_text(*c, "--base-url", v.base_url,
           "Where bcd is downloaded: https://HOST[:PORT]")
      ->type_name("URL")
      ->required();
  v.base_path = gateway::base_path;
  add_text(*c, "--base-path", v.base_path, "The path before /downloads there")
      ->capture_default_str();
  add_text(*c, "--bcd-version", v.version, "The version of bcd");
  add_text(*c, "--sha256", a->sha256,
           "Digests of the programs: amd64=HEX,arm64=HEX");
  add_path(*c, "--release-manifest", a->manifest,
           "Instead: the manifest of `daemon release`");
  add_text(*c, "--release-pins", a->release_pins,
           "Pins of the keys that may sign it, with commas between");
  add_keys_options(*c, ctx, a->keys);
  add_examples(*c,
               {"daemon install-script --pool pool_01k5w3c9t8e4m2v6h0a7n1p5qd "
                "\\\n    --site site_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
                "    --gateway-url https://gw.eu.example.com "
                "--base-url https://compute.example.com \\\n"
                "    --release-manifest bcd-0.1.0.json "
                "--release-pins $PIN > install-bcd.sh"},
               script_notes);
  c->callback([&ctx, a] { print_script(ctx, *a); });
}

}  // namespace

void add_daemon(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "daemon", "Put bcd on servers: releases, and the install script");
  group->require_subcommand(1);
  add_install_script(*group, ctx);
  add_release(*group, ctx);
  add_release_key(*group, ctx);
}

}  // namespace bc::cli
