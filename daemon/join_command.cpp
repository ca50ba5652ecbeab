#include "base/wire_attest.hpp"
#include "daemon/commands.hpp"
#include "daemon/discovery_join.hpp"
#include "daemon/handover.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/join_document.hpp"
#include "daemon/join_setup.hpp"
#include "daemon/rejoin.hpp"
#include "daemon/token_giver.hpp"
#include "daemon/token_input.hpp"
#include "daemon/tpm/local_keeper.hpp"
#include "daemon/tpm_join.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

namespace bc::daemon {

namespace {

constexpr const char* join_help =
    "The join token is read from the environment variable BCD_JOIN_TOKEN, or\n"
    "from standard input up to its end, or from --token-file; never from an\n"
    "argument. Blanks and line ends around it are dropped. A token file has\n"
    "mode 0600 or 0400 and is deleted once the machine has joined.\n"
    "\n"
    "Without a configuration file, --server makes one: the machine takes the\n"
    "gateway from the control plane's document, and the document must have "
    "the\n"
    "three pins. --site is the site the machine stands in. With a\n"
    "configuration file they may be given too, and must be what it says.\n"
    "  bcd join --server https://compute.example.com --site site_... \\\n"
    "    --serving-ca-pin sha256/... --join-signing-pin sha256/... \\\n"
    "    --join-encryption-pin sha256/... --token-file ./join-token\n"
    "\n"
    "A machine whose identity expired or was revoked still counts as joined.\n"
    "To join it anew, as root:\n"
    "  bcd join --config /etc/bcd/config.toml --reset --yes < token-file\n"
    "renames identity.json, node.key, node.key.next, journal.db and what an\n"
    "unfinished join left to NAME.reset-TIME, and joins. Nothing is renamed\n"
    "unless configuration, key file, token text and hardware are in order.\n"
    "Where bcd node runs as a service: systemctl stop bcd before, systemctl\n"
    "restart bcd after.\n"
    "\n"
    "--attestor x509pop needs no token: the machine joins again as the same\n"
    "node by its own certificate, up to seven days after that was over. bcd\n"
    "node does it by itself.\n"
    "\n"
    "--attestor tpm needs no token either: the machine proves its TPM 2.0, "
    "its\n"
    "key is made in it, and the certificate names the TPM's attestation key.\n"
    "A machine whose TPM nobody knows yet waits for a person's approval.\n"
    "\n"
    "--attestor discovery --role ramdisk is for a machine that a site agent\n"
    "booted over the network: it asks the agents of --site-agent in turn for\n"
    "their word (a vouch) and needs no token; one that its boot was given "
    "goes\n"
    "with it by --token-file. Where no agent or no gateway answers, or a\n"
    "person must approve the machine, bcd says so and waits, with the same\n"
    "request, until it is decided; --no-wait ends instead (exit code 3 or 1),\n"
    "and the same command goes on.\n"
    "\n"
    "Exit codes:\n"
    "  0  joined, or joined already\n"
    "  1  refused, or waiting for a person's approval\n"
    "  2  wrong arguments, configuration or token text\n"
    "  3  the gateway or the control plane of --server cannot be reached, or\n"
    "     no site agent vouches\n"
    "  4  a pin or a check of the answer failed\n"
    "  5  the server is not configured for joins\n"
    "  6  another join of this machine was faster, also after retries\n"
    "  7  the data folder, another bcd, the hardware identifiers, or the TPM\n"
    "  8  the server cannot join machines now";

int ended(join_exit code, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return static_cast<int>(code);
}

int reset_unconfirmed(const std::filesystem::path& data_dir) {
  std::string names;
  for (const auto& name : files_to_set_aside(data_dir))
    names += (names.empty() ? "" : ", ") + name;
  return complain(
      "--reset needs --yes; it would rename " +
      (names.empty() ? "nothing" : names) + " in " + data_dir.string() +
      (names.empty() ? "" : " to NAME.reset-TIME") + " before it joins");
}

join_exit exit_for(const fault& f) {
  switch (f.code) {
    case errc::unavailable:
      return join_exit::unreachable;
    case errc::access_denied:
      return join_exit::untrusted;
    case errc::invalid_state:
      return join_exit::local;
    default:
      return join_exit::usage;
  }
}

// Where bcd node runs as another user, the folder is root's for this while.
join_outcome in_folder(const config& machine,
                       const std::function<join_outcome()>& run) {
  auto lent = lent_folder::take(machine);
  if (!lent)
    return {exit_for(lent.error()),
            "bcd: " + lent.error().message,
            {},
            std::nullopt,
            false};
  auto outcome = run();
  const bool joined = outcome.exit_code == join_exit::joined;
  auto given_back = lent.value()
                        ? lent.value()->give_back(joined && outcome.held_folder)
                        : ok();
  if (!given_back)
    std::fprintf(stderr,
                 "bcd: %s; bcd node cannot read it: run the same command "
                 "again\n",
                 given_back.error().message.c_str());
  return outcome;
}

// By the certificate that is there; no token is read.
int rejoin(const join_arguments& given) {
  if (!given.token_file.empty() || !given.server.empty() ||
      !given.node_id.empty() || given.reset)
    return complain(
        "--attestor x509pop goes by the certificate that is there: no "
        "--token-file, --server, --node-id or --reset");
  auto loaded = load_config(given.config_file);
  if (!loaded)
    return complain(loaded.error().message);
  auto& machine = loaded.value();
  if (!given.data_dir.empty())
    machine.data_dir = std::filesystem::absolute(given.data_dir);
  auto hardware = make_hardware_source();
  rejoin_tools tools;
  tools.hardware = [&hardware] { return hardware->read(); };
  tools.keys = key_places_of(machine, [](const std::string& line) {
                 std::fprintf(stderr, "bcd: %s\n", line.c_str());
               }).keys;
  auto outcome = in_folder(machine, [&] { return run_rejoin(machine, tools); });
  const bool joined = outcome.exit_code == join_exit::joined;
  std::fprintf(joined ? stdout : stderr, "%s\n", outcome.message.c_str());
  if (joined)
    std::printf("to run bcd node with it: systemctl restart bcd\n");
  return static_cast<int>(outcome.exit_code);
}

// What a machine joins with that a site agent booted.
result<void> by_discovery(const join_arguments& given, join_options& options) {
  if (options.role != pki::certificate_role::ramdisk)
    return fail(errc::invalid_input,
                "--attestor discovery is for --role ramdisk");
  BC_TRY(agents, parse_site_agents(given.site_agents));
  options.evidence =
      discovery_evidence(agents, real_discovery_tools(make_mac_source()));
  options.without_token =
      given.token_file.empty() && std::getenv(token_variable) == nullptr;
  return ok();
}

// Without a token, by the TPM.
result<void> by_tpm(const join_arguments& given, const config& machine,
                    const key_places& places, join_options& options) {
  if (options.role != pki::certificate_role::node)
    return fail(errc::invalid_input, "--attestor tpm is for --role node");
  if (!given.token_file.empty() || std::getenv(token_variable) != nullptr)
    return fail(errc::invalid_input,
                "--attestor tpm takes no token: no --token-file, no "
                "BCD_JOIN_TOKEN");
  if (!places.tpm)
    return fail(errc::invalid_input,
                "--attestor tpm needs the TPM, and the configuration keeps bcd "
                "from it ([tpm] enabled = \"false\")");
  tpm_join_tools tools{places.tpm, {}, {}, options.say};
  if (auto old = look_at_identity(machine.data_dir); old && old.value().pair)
    tools.recorded_ek = old.value().pair->who.ek_kind;
  else
    tools.recorded_ek = pending_ek(machine.data_dir);
  options.evidence = tpm_join_evidence(machine, std::move(tools));
  options.without_token = true;
  return ok();
}

// bcd.service is root without its powers: a device of another user and group
// it cannot open, though this command could.
void tell_group(const config& machine) {
  auto look = look_at_identity(machine.data_dir);
  auto group = tpm::group_of_device(machine.tpm.tcti);
  if (group && look && look.value().pair &&
      look.value().pair->key.blobs() != nullptr)
    std::printf(
        "the key is in the TPM, whose device is of group %u: let bcd.service "
        "be of it (systemctl edit bcd: [Service] SupplementaryGroups=%u)\n",
        *group, *group);
}

int join(const join_arguments& given) {
  if (given.attestor == wire::x509pop_attestor)
    return rejoin(given);
  if (!given.node_id.empty() && !node_id::parse(given.node_id))
    return complain("--node-id is not a node id (node_...)");
  auto prepared = set_up_for(given);
  if (!prepared)
    return ended(exit_for(prepared.error()),
                 "bcd: " + prepared.error().message);
  auto& machine = prepared.value().machine;
  auto& document = prepared.value().document;
  if (given.reset && !given.yes)
    return reset_unconfirmed(machine.data_dir);
  join_options options;
  options.reset = given.reset;
  options.role =
      pki::parse_role(given.role).value_or(pki::certificate_role::node);
  options.node_id = given.node_id;
  options.until_decided = !given.no_wait;
  options.say = [](const std::string& line) {
    std::fprintf(stderr, "bcd: %s\n", line.c_str());
  };
  // A join is root's: it has the TPM itself, also where there is a helper.
  const auto places = key_places_of(machine, options.say);
  options.keys = places.keys;
  if (given.attestor == wire::tpm_attestor)
    if (auto set = by_tpm(given, machine, places, options); !set)
      return complain(set.error().message);
  if (given.attestor == wire::discovery_attestor) {
    if (auto set = by_discovery(given, options); !set)
      return complain(set.error().message);
  } else if (!given.site_agents.empty()) {
    return complain("--site-agent is for --attestor discovery");
  }
  if (document)
    options.fetch_key = [&]() -> result<pki::public_key> {
      return document->encryption_key;
    };
  else if (!given.server.empty())
    options.fetch_key = [&]() -> result<pki::public_key> {
      BC_TRY(fetched, fetch_join_document(source_of(given)));
      return fetched.encryption_key;
    };
  auto hardware = make_hardware_source();
  token_giver token{given.token_file};
  auto outcome = in_folder(machine, [&] {
    return run_join(
        machine, *hardware, [&token] { return token(); }, options);
  });
  // The token must not reach a process started later, also when not needed.
  ::unsetenv(token_variable);
  bool joined = outcome.exit_code == join_exit::joined;
  std::fprintf(joined ? stdout : stderr, "%s\n", outcome.message.c_str());
  if (outcome.already_joined)
    std::printf(
        "to set this identity aside and join anew: systemctl stop bcd; bcd "
        "join --reset --yes\n");
  else if (joined)
    std::printf("to run bcd node with it: systemctl restart bcd\n");
  if (joined && !machine.helper)
    tell_group(machine);
  // It is spent, whatever comes now.
  if (joined && !outcome.already_joined)
    token.joined();
  if (joined && document)
    if (auto written = write_config(machine, *document, given.config_file);
        !written)
      return ended(join_exit::local,
                   "bcd: " + written.error().message +
                       "; run the same command again, it writes the "
                       "configuration without joining again");
  return static_cast<int>(outcome.exit_code);
}

void add_server_options(CLI::App& to, join_arguments& given) {
  to.add_option("--token-file", given.token_file,
                "File with the join token (0600 or 0400); deleted after")
      ->type_name("FILE");
  to.add_option("--server", given.server,
                "The control plane, for a machine without a configuration or "
                "without join-encryption.jwk")
      ->type_name("URL");
  to.add_option("--ca-file", given.ca_file,
                "CA certificates (PEM) that vouch for --server, beside the "
                "system's")
      ->type_name("FILE");
  to.add_option("--site", given.site,
                "The site, with --server; else as configured")
      ->type_name("SITE");
  to.add_option("--serving-ca-pin", given.pins.serving_ca,
                "Pin of the gateways' CA, with --server")
      ->type_name("PIN");
  to.add_option("--join-signing-pin", given.pins.join_signing,
                "Pin of the key that signs answers, with --server")
      ->type_name("PIN");
  to.add_option("--join-encryption-pin", given.pins.join_encryption,
                "Pin of the key that tokens are sealed to, with --server")
      ->type_name("PIN");
}

}  // namespace

int complain(const std::string& message) {
  return ended(join_exit::usage, "bcd: " + message);
}

void add_file_options(CLI::App& to, std::string& config_file,
                      std::string& data_dir) {
  to.add_option("--config", config_file, "Configuration file")
      ->type_name("FILE")
      ->capture_default_str();
  to.add_option("--data-dir", data_dir,
                "Data folder (default: data_dir of the configuration, or "
                "/var/lib/bcd)")
      ->type_name("DIR");
}

command add_join_command(CLI::App& app) {
  auto given = std::make_shared<join_arguments>();
  auto* self = app.add_subcommand(
      "join", "Join this machine to its pool with a join token");
  add_file_options(*self, given->config_file, given->data_dir);
  self->add_option("--role", given->role,
                   "What joins: node (a machine of a pool), site (an agent, "
                   "with a site token) or ramdisk (booted by a site agent)")
      ->check(CLI::IsMember({"node", "site", "ramdisk"}))
      ->capture_default_str();
  self->add_option("--node-id", given->node_id,
                   "The node this machine is to be, for a token that was made "
                   "for one node")
      ->type_name("NODE");
  add_server_options(*self, *given);
  self->add_option("--attestor", given->attestor,
                   "What the machine is admitted by: join-token, tpm, x509pop "
                   "(its own expired certificate), or discovery (a site "
                   "agent's word)")
      ->check(CLI::IsMember({"join-token", "tpm", "x509pop", "discovery"}))
      ->capture_default_str();
  self->add_option("--site-agent", given->site_agents,
                   "A site agent to ask for its word, for example "
                   "http://10.0.0.2:9480; may be given several times")
      ->type_name("URL");
  self->add_flag("--no-wait", given->no_wait,
                 "Do not wait for a person's approval");
  auto* reset =
      self->add_flag("--reset", given->reset,
                     "Set the old identity aside before joining; with --yes");
  self->add_flag("--yes", given->yes, "Do what --reset says without asking")
      ->needs(reset);
  add_hardware_options(*self, true);
  self->footer(join_help);
  return {self, [given] { return join(*given); }};
}

}  // namespace bc::daemon
