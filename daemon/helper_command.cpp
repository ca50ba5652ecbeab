#include "daemon/commands.hpp"
#include "daemon/handover.hpp"
#include "daemon/hardware.hpp"
#include "daemon/helper_server.hpp"
#include "daemon/join.hpp"
#include "daemon/service_notice.hpp"
#include "daemon/stop_signals.hpp"
#include "daemon/tpm/local_keeper.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace bc::daemon {

namespace {

constexpr const char* helper_help =
    "Does what takes root for a bcd node that is not: [helper] user in the\n"
    "configuration names who may ask, [helper] socket where. Its peer's user\n"
    "is told by the kernel; root may ask too, nobody else. It reads the\n"
    "hardware identifiers. It holds the TPM: gives the attestation key's\n"
    "public part, makes node keys, signs digests by them and certifies them.\n"
    "It does one request after the other, and nothing else: it proves no TPM\n"
    "to a server, so a join is root's, with the TPM itself. With [tpm]\n"
    "enabled = \"false\" it reads the hardware identifiers alone.\n"
    "Tells systemd READY where NOTIFY_SOCKET is set.\n"
    "\n"
    "Exit codes: 0 asked to stop, 2 wrong arguments or configuration, 7 the\n"
    "socket cannot be made.";

struct helper_arguments {
  std::string config_file = default_config_file;
};

int helper(const helper_arguments& given) {
  auto loaded = load_config(given.config_file);
  if (!loaded)
    return complain(loaded.error().message);
  const auto& c = loaded.value();
  if (!c.helper)
    return complain(given.config_file + " has no [helper]");
  auto user = account_of(c.helper->user);
  if (!user)
    return complain(user.error().message);
  std::stop_source stop;
  stop_signals watched{stop};
  helper_options options;
  options.socket = c.helper->socket;
  options.user = user.value().user;
  options.say = [](const std::string& line) {
    std::fprintf(stderr, "bcd: %s\n", line.c_str());
  };
  const auto source = make_hardware_source();
  options.hardware = [&source] { return source->read(); };
  const bool holds_tpm = c.tpm.enabled != tpm_settings::use::never;
  options.ready = [&] {
    options.say(
        std::string{holds_tpm ? "holds the TPM" : "reads the hardware"} +
        " for " + c.helper->user + " at " + c.helper->socket.string());
    notify_service("READY=1");
  };
  auto tpm = holds_tpm ? tpm::local_keeper(c.tpm) : tpm::no_keeper();
  auto ended = run_helper(options, *tpm, stop.get_token());
  notify_service("STOPPING=1");
  if (ended)
    return 0;
  options.say(ended.error().message);
  return static_cast<int>(join_exit::local);
}

}  // namespace

command add_helper_command(CLI::App& app) {
  auto given = std::make_shared<helper_arguments>();
  auto* self = app.add_subcommand(
      "helper", "Do what takes root for a bcd node that is not: TPM, hardware");
  self->add_option("--config", given->config_file, "Configuration file")
      ->type_name("FILE")
      ->capture_default_str();
  add_hardware_options(*self, false);
  self->footer(helper_help);
  return {self, [given] { return helper(*given); }};
}

}  // namespace bc::daemon
