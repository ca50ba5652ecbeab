#include "base/fault_point.hpp"
#include "daemon/commands.hpp"
#include "daemon/join.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace {

using namespace bc;

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

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // What tpm2-tss prints by itself is said by bcd, once and in words.
  ::setenv("TSS2_LOG", "all+none", 0);
  keep_secrets_out_of_dumps();
  if (token_in_arguments(argc, argv))
    return daemon::complain(
        "a join token must not be an argument; pass it on standard input, in "
        "BCD_JOIN_TOKEN or in a --token-file");
  if (!arm_from_environment())
    return static_cast<int>(daemon::join_exit::usage);

  CLI::App app{"bcd, the daemon of a Better Compute node", "bcd"};
  app.require_subcommand(1);
  auto* version = app.add_subcommand("version", "Print the version");
  const daemon::command commands[] = {
      daemon::add_join_command(app), daemon::add_node_command(app),
      daemon::add_site_command(app), daemon::add_helper_command(app),
      daemon::add_doctor_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    // What was typed is not repeated: it may be a secret.
    return daemon::complain("an argument was not expected; see bcd --help");
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return daemon::complain(std::string{e.what()} + "; see bcd --help");
  }
  try {
    if (version->parsed())
      std::printf("bcd %s\n", daemon::program_version);
    for (const auto& command : commands)
      if (command.parsed->parsed())
        return command.run();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bcd: %s\n", e.what());
    return static_cast<int>(daemon::join_exit::local);
  }
}
