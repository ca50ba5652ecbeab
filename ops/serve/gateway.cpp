#include "gateway/gateway_node.hpp"
#include "gateway/url.hpp"
#include "ops/serve/certificate_files.hpp"
#include "ops/serve/control_plane.hpp"
#include "ops/serve/expiry.hpp"
#include "ops/serve/metrics.hpp"
#include "ops/serve/process.hpp"
#include "ops/serve/serve.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>

namespace bc::serve {

namespace {

constexpr int done = 0;
constexpr seconds stop_grace{15};
constexpr seconds stop_limit{20};

tls_files serving_files(const gateway_config& c) {
  return {c.listen_tls, c.node_ca_file};
}

tls_files internal_files(const gateway_config& c) {
  return {c.internal_tls, c.internal_ca_file};
}

result<gateway::relay_client_options> relay_options(const gateway_config& c) {
  gateway::relay_client_options o;
  for (const auto& text : c.api_addresses) {
    BC_TRY(address, gateway::parse_api_address(text));
    o.addresses.push_back(std::move(address));
  }
  BC_TRY(internal, read_tls(internal_files(c)));
  o.identity = std::move(internal.identity);
  o.internal_ca_pem = std::move(internal.ca_pem);
  return o;
}

// What was configured, unless the process may not open so many.
std::size_t within(std::size_t allowed, std::int64_t configured,
                   const char* name) {
  const auto wanted = static_cast<std::size_t>(configured);
  if (allowed < wanted)
    spdlog::warn("{} is {}, but the limit on open files allows {}", name,
                 wanted, allowed);
  return std::min(wanted, allowed);
}

result<gateway::gateway_options> options_from(const gateway_config& c) {
  gateway::gateway_options o;
  o.address = c.listen.address;
  o.port = static_cast<std::uint16_t>(c.listen.port);
  BC_TRY(serving, read_tls(serving_files(c)));
  o.serving = std::move(serving.identity);
  o.node_ca_pem = std::move(serving.ca_pem);
  BC_TRY(relay, relay_options(c));
  o.relay = std::move(relay);
  o.joins.per_second = static_cast<double>(c.requests_per_second);
  o.joins.burst = static_cast<double>(c.request_burst);
  // Half for the one, half for the other.
  const auto allowed = raise_connection_limit(2);
  o.max_connections = within(allowed, c.connections, "limits.connections");
  o.sessions.max_open = within(allowed, c.sessions, "limits.sessions");
  o.sessions.max_open_per_peer =
      static_cast<std::size_t>(c.sessions_per_address);
  o.max_connections_per_peer =
      static_cast<std::size_t>(c.connections_per_address);
  o.io_threads = static_cast<int>(c.threads);
  return o;
}

std::string metrics_of(const gateway::gateway_node& node,
                       std::size_t api_processes, const expiry_watch& expiry) {
  gateway_figures f;
  f.api_processes = api_processes;
  f.healthy_apis = node.healthy_apis();
  f.watched = node.is_watched();
  f.sessions = node.sessions();
  f.in_flight = node.in_flight();
  return metrics_text(f) + expiry.metrics();
}

std::vector<dated_certificate> certificates_of(
    const gateway::gateway_options& o) {
  std::vector<dated_certificate> out;
  for (const auto& [name, pem] :
       {std::pair{"listen", &o.serving->chain_pem},
        std::pair{"internal", &o.relay.identity->chain_pem},
        std::pair{"internal_ca", &o.relay.internal_ca_pem},
        std::pair{"node_ca", &o.node_ca_pem}})
    add_dated(out, name, *pem);
  return out;
}

// What was read at the start, and how each is replaced. `node` and `expiry`
// must outlive what comes of it.
std::vector<renewable> renewables(const gateway_config& c,
                                  const gateway::gateway_options& read,
                                  gateway::gateway_node& node,
                                  expiry_watch& expiry) {
  std::vector<renewable> out;
  out.push_back({"listen",
                 serving_files(c),
                 {read.serving, read.node_ca_pem},
                 [&](const tls_material& m) -> result<void> {
                   BC_TRYV(node.renew_serving(*m.identity, m.ca_pem));
                   expiry.renewed("listen", m.identity->chain_pem);
                   expiry.renewed("node_ca", m.ca_pem);
                   return ok();
                 }});
  out.push_back({"internal",
                 internal_files(c),
                 {read.relay.identity, read.relay.internal_ca_pem},
                 [&](const tls_material& m) -> result<void> {
                   BC_TRYV(node.renew_internal(*m.identity, m.ca_pem));
                   expiry.renewed("internal", m.identity->chain_pem);
                   expiry.renewed("internal_ca", m.ca_pem);
                   return ok();
                 },
                 true});
  return out;
}

gateway::readiness ready(const gateway::gateway_node& node) {
  return readiness_of(node.has_healthy_api() ? "" : "no API process answers");
}

}  // namespace

result<int> run(const gateway_config& c) {
  log_to_standard_error(c.log_level);
  keep_secrets_out_of_dumps();
  stop_signals signals{stop_signals::hangup::waits};
  BC_TRY(options, options_from(c));
  expiry_watch expiry{certificates_of(options)};
  BC_TRY(node, gateway::start_gateway(options));
  certificate_files files{renewables(c, options, *node, expiry)};
  files.watch();
  auto line =
      "Ready: gateway " + gateway::authority_of(c.listen.address, node->port());
  std::unique_ptr<gateway::http_server> probes;
  if (c.metrics.port >= 0) {
    const auto& seen = *node;
    BC_TRY(listener, start_probe_listener(
                         c.metrics.address, c.metrics.port,
                         [&seen] { return ready(seen); },
                         [&, apis = c.api_addresses.size()] {
                           return metrics_of(seen, apis, expiry);
                         }));
    probes = std::move(listener);
    line += ", metrics http://" +
            gateway::authority_of(c.metrics.address, probes->port());
  }
  std::puts(line.c_str());
  std::fflush(stdout);
  notify_manager("READY=1");

  signals.wait([&files] { files.renew_now(); });
  signals.unblock();
  spdlog::info("stopping");
  notify_manager("STOPPING=1");
  stop_within(stop_limit);
  node->stop(stop_grace);
  // It reads the node until it is stopped.
  if (probes)
    probes->stop(seconds{1});
  spdlog::info("stopped");
  return done;
}

}  // namespace bc::serve
