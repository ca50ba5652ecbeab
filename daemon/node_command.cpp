#include "daemon/commands.hpp"
#include "daemon/hardware.hpp"
#include "daemon/helper_client.hpp"
#include "daemon/node.hpp"
#include "daemon/service_notice.hpp"
#include "daemon/site.hpp"
#include "daemon/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr const char* node_help =
    "Runs until SIGTERM or SIGINT, and ends within 10 seconds of it. Renews\n"
    "the certificate at about 60 % of its lifetime, by the server's time, "
    "with\n"
    "a new key each time, and keeps a session with the gateway. A machine "
    "that\n"
    "was away until its certificate was over joins again by it, within seven\n"
    "days. Says on standard error what changes, once; `bcd doctor` explains.\n"
    "Tells systemd READY and STATUS where NOTIFY_SOCKET is set.\n"
    "\n"
    "Exit codes:\n"
    "  0  asked to stop\n"
    "  2  wrong arguments or configuration\n"
    "  7  the data folder, another bcd, or not joined: may pass by itself\n"
    "  9  the certificate expired and cannot bring the machine back, or the\n"
    "     identity does not load: join again as root, then systemctl restart\n"
    "     bcd\n"
    "After 2 and 9 a restart changes nothing until somebody acts:\n"
    "RestartPreventExitStatus=2 9 in a unit of systemd.";

constexpr const char* site_help =
    "For a machine that joined with a site token. Does what bcd node does, "
    "and\n"
    "besides keeps asking for the site's boot lease, which one agent of a "
    "site\n"
    "has at a time. The one that has it gives its word (a vouch) to the\n"
    "machines it boots over the network, at [site_agent] listen, by the "
    "leases\n"
    "of its DHCP server, [site_agent] leases_file. Ends as bcd node does, "
    "with\n"
    "the same exit codes, and gives the lease back; 2 is also an identity of\n"
    "another role.";

struct node_arguments {
  std::string config_file = default_config_file;
  std::string data_dir;
};

enum class runs_as { node, site };

// The kernel shows what names a machine to root alone.
std::shared_ptr<hardware_source> hardware_for(const config& c) {
  if (c.helper && ::geteuid() != 0)
    return helper_hardware(c.helper->socket);
  return make_hardware_source();
}

int node(const node_arguments& given, runs_as what) {
  auto loaded = load_config(given.config_file);
  if (!loaded)
    return complain(loaded.error().message);
  auto& c = loaded.value();
  if (!given.data_dir.empty())
    c.data_dir = std::filesystem::absolute(given.data_dir);
  std::stop_source stop;
  stop_signals watched{stop};
  std::mutex lines;
  node_options options;
  options.say = [&lines](const std::string& line) {
    std::lock_guard lock{lines};
    std::fprintf(stderr, "bcd: %s\n", line.c_str());
  };
  options.notify = [](const std::string& state) { notify_service(state); };
  options.session = [](const config& to, const node_identity& me,
                       const session_hooks& hooks, std::stop_token until) {
    return run_session(to, me, program_version, hooks, std::move(until));
  };
  options.version = program_version;
  options.hardware = [source = hardware_for(c)] { return source->read(); };
  options.keys = node_key_places_of(c, options.say);
  if (what == runs_as::site) {
    options.role = "site";
    options.beside = [&](const node_identity& me, const node_side_tools& with) {
      return start_site_agent(c, me, with, real_site_tools(options.say));
    };
  }
  return static_cast<int>(run_node(c, options, stop.get_token()));
}

command add_as(CLI::App& app, const char* name, const char* what,
               const char* help, runs_as which) {
  auto given = std::make_shared<node_arguments>();
  auto* self = app.add_subcommand(name, what);
  add_file_options(*self, given->config_file, given->data_dir);
  add_hardware_options(*self, false);
  self->footer(help);
  return {self, [given, which] { return node(*given, which); }};
}

}  // namespace

command add_node_command(CLI::App& app) {
  return add_as(app, "node",
                "Keep this node's certificate renewed and its session open",
                node_help, runs_as::node);
}

command add_site_command(CLI::App& app) {
  return add_as(app, "site",
                "Be a site agent: vouch for the machines that the site boots",
                site_help, runs_as::site);
}

}  // namespace bc::daemon
