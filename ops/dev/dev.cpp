#include "ops/dev/dev.hpp"

#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "daemon/config.hpp"
#include "events/catalog.hpp"
#include "gateway/http_server.hpp"
#include "gateway/routes.hpp"
#include "ops/cli/event_line.hpp"
#include "ops/cli/files.hpp"
#include "ops/dev/deployment.hpp"
#include "ops/dev/fleet.hpp"
#include "ops/dev/line_printer.hpp"
#include "ops/dev/local_gateway.hpp"
#include "ops/dev/next_steps.hpp"
#include "ops/dev/simulate.hpp"
#include "ops/serve/control_plane.hpp"
#include "ops/serve/process.hpp"
#include "ops/version.hpp"
#include "pki/jwe.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <unistd.h>

namespace bc::dev {

namespace {

// Each of the two listeners and the actors may take this long: under 10 s.
constexpr seconds stop_grace{3};
constexpr int done = 0;
constexpr int some_failed = 1;
#if defined(__aarch64__)
constexpr std::string_view machine_arch = "arm64";
#else
constexpr std::string_view machine_arch = "amd64";
#endif

void print_event(line_printer& out, const events::envelope& e) {
  auto text = events::to_public(e, "dev", "better-compute/dev");
  if (!text)
    return;
  auto doc = json::parse(*text);
  if (doc)
    out.say(cli::event_line(doc.value()));
}

// In a file of their own: what is printed is for people.
result<std::function<void(std::string_view)>> keep_checkpoints(
    const std::string& path) {
  auto to = std::make_shared<std::ofstream>(path, std::ios::app);
  if (!*to)
    return fail(errc::invalid_config, "cannot write to " + path);
  return [to](std::string_view line) { *to << line << std::endl; };
}

result<std::shared_ptr<const gateway::tls_identity>> gateway_identity(
    const pki::key_bundle& keys, time_point now) {
  BC_TRY(server, pki::issue_server_certificate(
                     keys.serving_ca, {"localhost", "127.0.0.1", "::1"}, now));
  auto identity = std::make_shared<gateway::tls_identity>();
  identity->chain_pem = pki::certificate_pem(server.certificate) +
                        pki::certificate_pem(keys.serving_ca.certificate);
  identity->key_pem = server.key.pkcs8_pem();
  return std::shared_ptr<const gateway::tls_identity>{std::move(identity)};
}

// What an install script would leave on a machine, so that a real `bcd join`
// can be tried against this server.
result<daemon::config> write_daemon_config(const paths& files,
                                           const deployment& d,
                                           const std::string& gateway_url) {
  std::error_code ignored;
  std::filesystem::create_directories(files.daemon(), ignored);
  auto pins = pki::pins_of(*d.keys);
  auto file = files.daemon() + "/config.toml";
  BC_TRYV(cli::write_file(
      file, "gateway_url = \"" + gateway_url + "\"\nsite = \"" + d.site.str() +
                "\"\nserving_ca_spki_pin = \"" + pins.serving_ca +
                "\"\njoin_signing_key_pin = \"" + pins.join_signing +
                "\"\njoin_encryption_key_pin = \"" + pins.join_encryption +
                "\"\n"));
  BC_TRYV(cli::write_file(files.daemon() + "/join-encryption.jwk",
                          pki::to_jwk(d.keys->join_encryption.pub()) + "\n"));
  return daemon::load_config(file);
}

void print_next_steps(line_printer& out, const paths& files,
                      const deployment& d, const std::string& api_url) {
  std::error_code failed;
  auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  next_steps s;
  s.program = failed ? "better-compute" : self.string();
  s.api_url = api_url;
  s.credential_file = files.credential();
  s.daemon_config = files.daemon() + "/config.toml";
  s.tenant = d.root_tenant.str();
  s.pool = d.pool.str();
  s.root = ::geteuid() == 0;
  out.say(next_steps_text(s));
}

// Everything that runs, stopped in the order of use.
struct servers {
  std::unique_ptr<serve::control_plane> plane;
  std::unique_ptr<gateway::http_server> api;
  std::unique_ptr<local_gateway> gateway;

  void stop() {
    if (gateway)
      gateway->stop(stop_grace);
    if (api)
      api->stop(stop_grace);
    if (plane)
      plane->stop(stop_grace);
  }
  ~servers() { stop(); }
};

fault with_hint(fault f, const char* option) {
  f.message += std::string{"; choose another with "} + option;
  return f;
}

// The daemon beside this program, so that an install script can be tried
// against this server.
std::shared_ptr<gateway::downloads> own_daemon() {
  std::error_code failed;
  auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  gateway::download_options o;
  if (!failed)
    o.program.emplace(
        gateway::program_name{std::string{version}, std::string{machine_arch}},
        (self.parent_path() / "bcd").string());
  return gateway::downloads::start(std::move(o));
}

result<std::unique_ptr<gateway::http_server>> start_api(
    const options& o, serve::control_plane& plane, gateway::well_known document,
    std::size_t connections) {
  serve::listener_options where;
  where.port = static_cast<std::uint16_t>(o.api_port);
  where.programs = own_daemon();
  where.connections = std::min(where.connections, connections);
  auto server =
      serve::start_api_listener(std::move(where), plane, std::move(document));
  if (!server)
    return with_hint(server.error(), "--api-port");
  return server;
}

result<std::unique_ptr<local_gateway>> start_gateway(
    const options& o, serve::control_plane& plane, const pki::key_bundle& keys,
    std::shared_ptr<const gateway::tls_identity> identity,
    std::size_t connections) {
  gateway::server_options s;
  s.max_connections = std::min(s.max_connections, connections);
  s.port = static_cast<std::uint16_t>(o.gateway_port);
  s.tls = std::move(identity);
  auto server = local_gateway::start(std::move(s), plane, keys);
  if (!server)
    return with_hint(server.error(), "--gateway-port");
  return server;
}

simulation simulation_of(const options& o, const paths& files,
                         const deployment& d, const std::string& api_url,
                         const daemon::config& machine, line_printer& out) {
  simulation s;
  s.machines = o.machines;
  s.attestors = o.attestors;
  s.pool = d.pool.str();
  s.site = d.site.str();
  // A machine's data folder is absolute, as in an installed configuration.
  s.folder = std::filesystem::absolute(files.machines()).lexically_normal();
  s.machine = machine;
  s.caller.url = api_url;
  s.caller.credential_file = files.credential();
  s.caller.tenant = d.root_tenant.str();
  s.say = [&out](const std::string& line) { out.say(line); };
  return s;
}

// How many are no nodes at the end. The agent lives as the machines do.
int simulate(const simulation& s, std::unique_ptr<simulated_site>& agent) {
  if (s.machines > 0 &&
      std::ranges::find(s.attestors, sim_attestor::discovery) !=
          s.attestors.end()) {
    auto site = start_site(s);
    if (!site) {
      s.say("sim-agent: " + site.error().message);
      return s.machines;
    }
    agent = std::move(site).value();
  }
  return run_simulation(s, agent.get());
}

}  // namespace

result<int> run(const options& o) {
  serve::log_to_standard_error("warn");
  if (!arm_from_environment())
    return fail(errc::invalid_config, "BC_FAULTS names an unknown point");
  serve::stop_signals signals;
  bc::system_clock time;
  paths files{o.data};
  // Before what prints, so that it ends after it.
  line_printer out{STDOUT_FILENO};
  BC_TRY(d, open_deployment(files, time));
  out.say(std::string{d.first_start ? "Made" : "Opened"} +
          " the deployment in " + files.data + "\n  root credential  " +
          files.credential() +
          (d.new_credential ? " (0600, new: the file was gone)" : " (0600)") +
          "\n  bundle secret    " + files.secret() +
          " (0600)\n  tenant   "
          "        " +
          d.root_tenant.str() + "\n  site             " + d.site.str() +
          "\n  pool             " + d.pool.str());

  servers s;
  serve::control_plane_options p;
  p.store = std::move(d.store);
  p.keys = d.keys;
  p.root_tenant = d.root_tenant;
  p.source = "better-compute/dev";
  p.certificate_lifetime = o.certificate_lifetime;
  p.x509pop = true;
  p.tpm.emplace().enrollment.emplace();
  p.discovery.emplace().boot_lease = o.boot_lease;
  BC_TRY(checkpoints, keep_checkpoints(files.checkpoints()));
  p.checkpoints = std::move(checkpoints);
  p.on_event = [&out](const events::envelope& e) { print_event(out, e); };
  BC_TRY(plane, serve::control_plane::start(std::move(p)));
  s.plane = std::move(plane);

  const auto connections = serve::raise_connection_limit(2);
  BC_TRY(identity, gateway_identity(*d.keys, time.now()));
  BC_TRY(gateway, start_gateway(o, *s.plane, *d.keys, identity, connections));
  s.gateway = std::move(gateway);
  auto gateway_url = "https://localhost:" + std::to_string(s.gateway->port());
  BC_TRY(api, start_api(o, *s.plane,
                        gateway::well_known{std::string{version}, d.keys,
                                            gateway_url, "localhost"},
                        connections));
  s.api = std::move(api);
  auto api_url = "http://127.0.0.1:" + std::to_string(s.api->port());
  BC_TRY(machine, write_daemon_config(files, d, gateway_url));
  out.say("Ready: API " + api_url + ", gateway " + gateway_url + "\n");

  auto machines = simulation_of(o, files, d, api_url, machine, out);
  auto stopping = machines.stopping =
      std::make_shared<std::atomic<bool>>(false);
  std::optional<fleet> living;
  if (!o.once && o.machines > 0) {
    living.emplace(machines.say);
    machines.joined = [&living](const auto& name, const auto& where,
                                auto hardware, const auto& keys) {
      living->add(name, where, std::move(hardware), keys);
    };
  }
  std::unique_ptr<simulated_site> agent;
  // Machines join in the background, so that Ctrl-C works meanwhile.
  auto joins = std::async(std::launch::async, [&] {
    int failed = simulate(machines, agent);
    if (o.once)
      serve::stop_signals::end_wait();
    else if (!*stopping)
      print_next_steps(out, files, d, api_url);
    return failed;
  });
  signals.wait();
  signals.unblock();
  out.say("Stopping");
  *stopping = true;
  if (living)
    living->stop();
  // While the server answers: the agent gives its lease back.
  if (joins.wait_for(seconds{0}) == std::future_status::ready)
    agent.reset();
  s.stop();
  int failed = joins.get();
  return o.once && failed > 0 ? some_failed : done;
}

}  // namespace bc::dev
