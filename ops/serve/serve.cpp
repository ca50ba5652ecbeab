#include "ops/serve/serve.hpp"

#include "base/fault_point.hpp"
#include "events/postgres_trust.hpp"
#include "gateway/relay_server.hpp"
#include "gateway/url.hpp"
#include "ops/serve/certificate_files.hpp"
#include "ops/serve/control_plane.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/serve/identity.hpp"
#include "ops/serve/process.hpp"
#include "ops/serve/publishing.hpp"
#include "ops/version.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace bc::serve {

namespace {

constexpr int done = 0;
// The listeners and the actors may take this long each; together with the
// duties' end they stay under stop_limit (case 180).
constexpr seconds stop_grace{4};
constexpr seconds stop_limit{20};

// What a store must hold before it can be served from.
result<control_plane_options> open_deployment(const serve_config& c,
                                              const clock& time) {
  BC_TRY(secret, deployment_secret(c.secret_file));
  BC_TRY(where, store::parse_url(c.store));
  control_plane_options o;
  if (!c.kafka_brokers.empty()) {
    BC_TRY(publisher, publisher_of(c));
    o.publisher = std::move(publisher);
  }
  BC_TRY(opened, store::open(where, time));
  o.store = std::move(opened);
  const auto shown = store::shown(where);
  BC_TRY(keys, load_keys_at(*o.store.journal, secret));
  if (!keys.bundle)
    return fail(errc::invalid_state,
                "the store has no keys; run: better-compute pki init "
                "--trust-domain NAME --store " +
                    shown);
  o.keys = keys.bundle;
  o.keys_version = keys.version;
  BC_TRY(root, find_root_tenant(*o.store.journal));
  if (!root)
    return fail(errc::invalid_state,
                "the store has no root tenant; run: better-compute "
                "credentials bootstrap --store " +
                    shown + " --out FILE");
  o.root_tenant = *root;
  o.source = c.source;
  o.certificate_lifetime = c.certificate_lifetime;
  BC_TRY(shared, pki::shared_uuids::parse(c.hardware_placeholder_uuids));
  o.shared_uuids = std::move(shared);
  o.x509pop = c.x509pop;
  BC_TRY(tpm, attestor_of(c.tpm));
  o.tpm = std::move(tpm);
  BC_TRY(discovery, attestor_of(c.discovery));
  o.discovery = std::move(discovery);
  o.workers = static_cast<int>(c.workers);
  return o;
}

/// What listens, ended before what it stands on.
struct process {
  std::unique_ptr<control_plane> plane;
  std::unique_ptr<gateway::relay_listener> relay;
  std::unique_ptr<gateway::http_server> api;
  std::unique_ptr<gateway::http_server> probes;

  // Gateways are told first, so that they ask another process.
  void stop() {
    if (relay)
      relay->stop(stop_grace);
    if (api)
      api->stop(stop_grace);
    if (plane)
      plane->stop(stop_grace);
    if (probes)
      probes->stop(seconds{1});
  }
  ~process() { stop(); }
};

result<void> start_relay(process& p, const serve_config& c,
                         std::shared_ptr<const pki::key_bundle> keys,
                         std::size_t connections) {
  gateway::relay_listener_options o;
  o.address = c.relay.address;
  o.port = static_cast<std::uint16_t>(c.relay.port);
  o.keys = std::move(keys);
  o.names = c.relay_names;
  o.max_connections = std::min(o.max_connections, connections);
  o.gateways = [plane = p.plane.get()](const std::string& id, bool here) {
    plane->gateway_here(id, here);
  };
  BC_TRY(relay, gateway::start_relay_listener(std::move(o), p.plane->daemons(),
                                              &p.plane->notices()));
  p.relay = std::move(relay);
  return ok();
}

gateway::well_known document_of(const serve_config& c,
                                std::shared_ptr<const pki::key_bundle> keys) {
  gateway::well_known w;
  w.version = version;
  w.keys = std::move(keys);
  if (!c.gateway_url.empty())
    w.gateway_url = c.gateway_url;
  w.gateway_server_name = c.gateway_server_name;
  return w;
}

result<std::shared_ptr<gateway::downloads>> programs_of(const serve_config& c) {
  if (c.downloads.empty())
    return std::shared_ptr<gateway::downloads>{};
  std::error_code failed;
  if (!std::filesystem::is_directory(c.downloads, failed))
    return fail(errc::invalid_config,
                "downloads: " + c.downloads + " is not a folder");
  gateway::download_options o;
  o.folder = c.downloads;
  return gateway::downloads::start(std::move(o));
}

result<void> start_listeners(process& p, const serve_config& c,
                             std::shared_ptr<const pki::key_bundle> keys,
                             std::shared_ptr<const gateway::tls_identity> tls) {
  const auto connections = raise_connection_limit(2);
  BC_TRYV(start_relay(p, c, keys, connections));
  listener_options where;
  where.address = c.api.address;
  where.port = static_cast<std::uint16_t>(c.api.port);
  where.tls = std::move(tls);
  BC_TRY(programs, programs_of(c));
  where.programs = std::move(programs);
  where.connections = std::min(where.connections, connections);
  BC_TRY(api, start_api_listener(std::move(where), *p.plane,
                                 document_of(c, std::move(keys))));
  p.api = std::move(api);
  if (c.metrics.port >= 0) {
    auto* plane = p.plane.get();
    BC_TRY(probes, start_probe_listener(
                       c.metrics.address, c.metrics.port,
                       [plane] { return plane->ready(); },
                       [plane] { return plane->metrics(); }));
    p.probes = std::move(probes);
  }
  return ok();
}

// The API's certificate and key; the relay listener makes its own.
std::vector<renewable> renewables(
    const serve_config& c, const process& p,
    std::shared_ptr<const gateway::tls_identity> in_use) {
  std::vector<renewable> out;
  if (!in_use)
    return out;
  out.push_back({"api",
                 {c.api_tls, {}},
                 {std::move(in_use), {}},
                 [&api = *p.api,
                  &plane = *p.plane](const tls_material& m) -> result<void> {
                   BC_TRYV(api.renew_tls(*m.identity, {}));
                   plane.renewed("api", m.identity->chain_pem);
                   return ok();
                 }});
  return out;
}

// One line on standard output, for who started it.
void say_ready(const process& p, const serve_config& c) {
  auto line = std::string{"Ready: API "} +
              (c.api_tls.certificate.empty() ? "http://" : "https://") +
              gateway::authority_of(c.api.address, p.api->port()) + ", relay " +
              gateway::authority_of(c.relay.address, p.relay->port());
  if (p.probes)
    line += ", metrics http://" +
            gateway::authority_of(c.metrics.address, p.probes->port());
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace

result<int> run(const serve_config& c) {
  log_to_standard_error(c.log_level);
  keep_secrets_out_of_dumps();
  if (!arm_from_environment())
    return fail(errc::invalid_config, "BC_FAULTS names an unknown point");
  stop_signals signals{stop_signals::hangup::waits};
  std::optional<stop_while_starting> starting{std::in_place};
  bc::system_clock time;
  BC_TRY(tls, read_identity(c.api_tls));
  BC_TRY(options, open_deployment(c, time));
  if (tls)
    add_dated(options.certificates, "api", tls->chain_pem);
  spdlog::info("store {}, root tenant {}", store::shown(options.store.where),
               options.root_tenant.str());
  if (options.store.where.what == store::kind::postgres &&
      !postgres::checks_server(options.store.where.target))
    spdlog::warn(
        "the way to the store crosses a network, and nobody checks that it is "
        "the store: say sslmode=verify-full in its URL");
  auto keys = options.keys;
  process p;
  BC_TRY(plane, control_plane::start(std::move(options)));
  p.plane = std::move(plane);
  // From here on a signal stops what was started, in order.
  starting.reset();
  BC_TRYV(start_listeners(p, c, keys, tls));
  certificate_files files{renewables(c, p, std::move(tls))};
  files.watch();
  say_ready(p, c);
  notify_manager("READY=1");

  signals.wait([&files] { files.renew_now(); });
  signals.unblock();
  spdlog::info("stopping");
  notify_manager("STOPPING=1");
  stop_within(stop_limit);
  p.stop();
  spdlog::info("stopped");
  return done;
}

}  // namespace bc::serve
