#include "base/fault_point.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/token_input.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace bc;

constexpr const char* program_version = "0.1.0";
constexpr int usage_error = static_cast<int>(daemon::join_exit::usage);

constexpr const char* join_help =
    "The join token is read from the environment variable BCD_JOIN_TOKEN, or\n"
    "from standard input up to its end; never from an argument. Blanks and\n"
    "line ends around it are dropped.\n"
    "\n"
    "A machine whose identity expired or was revoked still counts as joined.\n"
    "To join it anew, as root:\n"
    "  bcd join --config /etc/bcd/config.toml --reset --yes < token-file\n"
    "renames identity.json, node.key, node.key.next, journal.db and what an\n"
    "unfinished join left to NAME.reset-TIME, and joins. Nothing is renamed\n"
    "unless configuration, key file, token text and hardware are in order.\n"
    "\n"
    "Exit codes:\n"
    "  0  joined, or joined already\n"
    "  1  refused, or waiting for a person's approval\n"
    "  2  wrong arguments, configuration or token text\n"
    "  3  the gateway cannot be reached\n"
    "  4  a pin or a check of the answer failed\n"
    "  5  the server is not configured for joins\n"
    "  6  another join of this machine was faster, also after retries\n"
    "  7  the data folder, another bcd, or the hardware identifiers\n"
    "  8  the server cannot join machines now";

int complain(const std::string& message) {
  std::fprintf(stderr, "bcd: %s\n", message.c_str());
  return usage_error;
}

// A token in the argument list is seen by everyone on the machine: it is
// refused before anything could print it, and overwritten where `ps` reads it.
bool token_in_arguments(int argc, char** argv) {
  bool found = false;
  for (int i = 1; i < argc; ++i) {
    std::string lower{argv[i]};
    for (char& c : lower)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower.find("bcjt_") == std::string::npos)
      continue;
    found = true;
    std::memset(argv[i], '*', std::strlen(argv[i]));
  }
  return found;
}

void keep_secrets_out_of_dumps() {
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__  // its leak check attaches to the process
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

struct join_arguments {
  std::string config_file;
  std::string data_dir;
  std::string role = "node";
  std::string node_id;
  bool reset = false;
  bool yes = false;
};

int reset_unconfirmed(const std::filesystem::path& data_dir) {
  std::string names;
  for (const auto& name : daemon::files_to_set_aside(data_dir))
    names += (names.empty() ? "" : ", ") + name;
  return complain(
      "--reset needs --yes; it would rename " +
      (names.empty() ? "nothing" : names) + " in " + data_dir.string() +
      (names.empty() ? "" : " to NAME.reset-TIME") + " before it joins");
}

int join(const join_arguments& given) {
  auto config = daemon::load_config(given.config_file);
  if (!config)
    return complain(config.error().message);
  if (!given.data_dir.empty())
    config.value().data_dir = std::filesystem::absolute(given.data_dir);
  if (given.reset && !given.yes)
    return reset_unconfirmed(config.value().data_dir);
  daemon::join_options options;
  options.reset = given.reset;
  options.role =
      pki::parse_role(given.role).value_or(pki::certificate_role::node);
  if (!given.node_id.empty() && !node_id::parse(given.node_id))
    return complain("--node-id is not a node id (node_...)");
  options.node_id = given.node_id;
  auto hardware = daemon::make_hardware_source();
  auto ask = [] {
    if (std::getenv(daemon::token_variable) == nullptr &&
        ::isatty(STDIN_FILENO) == 1)
      std::fprintf(stderr,
                   "bcd: reading the join token from standard input; end it "
                   "with Ctrl-D\n");
    return daemon::read_token(STDIN_FILENO);
  };
  auto outcome = daemon::run_join(config.value(), *hardware, ask, options);
  // The token must not reach a process started later, also when not needed.
  ::unsetenv(daemon::token_variable);
  bool joined = outcome.exit_code == daemon::join_exit::joined;
  std::fprintf(joined ? stdout : stderr, "%s\n", outcome.message.c_str());
  if (outcome.already_joined)
    std::printf(
        "to set this identity aside and join anew: bcd join --reset --yes\n");
  return static_cast<int>(outcome.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  keep_secrets_out_of_dumps();
  if (token_in_arguments(argc, argv))
    return complain(
        "a join token must not be an argument; pass it on standard input or "
        "in BCD_JOIN_TOKEN");
  if (!arm_from_environment())
    return usage_error;

  CLI::App app{"bcd, the daemon of a Better Compute node", "bcd"};
  app.require_subcommand(1);
  auto* version = app.add_subcommand("version", "Print the version");
  auto* join_command = app.add_subcommand(
      "join", "Join this machine to its pool with a join token");
  join_arguments given;
  join_command->add_option("--config", given.config_file, "Configuration file")
      ->type_name("FILE")
      ->required();
  join_command
      ->add_option("--data-dir", given.data_dir,
                   "Data folder (default: data_dir of the configuration, or "
                   "/var/lib/bcd)")
      ->type_name("DIR");
  join_command
      ->add_option("--role", given.role,
                   "What joins: node (a machine of a pool), site (an agent, "
                   "with a site token) or ramdisk (with a discovery token)")
      ->check(CLI::IsMember({"node", "site", "ramdisk"}))
      ->capture_default_str();
  join_command
      ->add_option("--node-id", given.node_id,
                   "The node this machine is to be, for a token that was made "
                   "for one node")
      ->type_name("NODE");
  auto* reset = join_command->add_flag(
      "--reset", given.reset,
      "Set the old identity aside before joining; with --yes");
  join_command
      ->add_flag("--yes", given.yes, "Do what --reset says without asking")
      ->needs(reset);
  daemon::add_hardware_options(*join_command);
  join_command->footer(join_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    // What was typed is not repeated: it may be a secret.
    return complain("an argument was not expected; see bcd --help");
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return complain(std::string{e.what()} + "; see bcd --help");
  }
  try {
    if (version->parsed()) {
      std::printf("bcd %s\n", program_version);
      return 0;
    }
    return join(given);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bcd: %s\n", e.what());
    return static_cast<int>(daemon::join_exit::local);
  }
}
