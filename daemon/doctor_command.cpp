#include "daemon/commands.hpp"
#include "daemon/doctor.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace bc::daemon {

namespace {

constexpr const char* doctor_help =
    "Looks at this machine beside a running daemon and changes nothing:\n"
    "configuration, join-key, files, tpm, tpm-ek, tpm-ak, tpm-helper,\n"
    "identity, certificate, gateway, clock, daemon, session, renewal, and of a "
    "site\n"
    "agent boot-lease and dhcp-leases.\n"
    "Run it as root.\n"
    "\n"
    "Exit codes: 0 nothing failed (warnings may be there), 1 a check failed,\n"
    "2 wrong arguments.";

struct doctor_arguments {
  std::string config_file = default_config_file;
  std::string data_dir;
  std::string output = "text";
};

int doctor(const doctor_arguments& given) {
  patient p{given.config_file, {}};
  if (!given.data_dir.empty())
    p.data_dir = std::filesystem::absolute(given.data_dir);
  auto all = examine(p, real_tools());
  auto text = given.output == "json" ? to_json(all) : to_text(all);
  std::fputs(text.c_str(), stdout);
  return any_failed(all) ? 1 : 0;
}

}  // namespace

command add_doctor_command(CLI::App& app) {
  auto given = std::make_shared<doctor_arguments>();
  auto* self = app.add_subcommand(
      "doctor", "Look at this machine's identity and what it rests on");
  add_file_options(*self, given->config_file, given->data_dir);
  self->add_option("--output", given->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  self->footer(doctor_help);
  return {self, [given] { return doctor(*given); }};
}

}  // namespace bc::daemon
