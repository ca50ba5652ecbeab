#include "ops/serve/config.hpp"

#include "daemon/config.hpp"
#include "gateway/relay_client.hpp"
#include "gateway/url.hpp"
#include "pki/certificate.hpp"
#include "pki/hardware_key.hpp"

#include <algorithm>

namespace bc::serve {

namespace {

using problems = std::vector<std::string>;

constexpr const char* broker_property = "bootstrap.servers";
constexpr std::int64_t most_port = 65'535;
constexpr std::int64_t most_threads = 256;
constexpr std::int64_t most_connections = 1'000'000;
constexpr std::int64_t most_requests = 1'000'000;

option text(std::string key, std::string& into, std::string help,
            std::vector<std::string> choices = {}) {
  option o{std::move(key), &into, std::move(help)};
  o.choices = std::move(choices);
  return o;
}

option number(std::string key, std::int64_t& into, std::int64_t least,
              std::int64_t most, std::string help) {
  return {std::move(key), &into, std::move(help), least, most};
}

option log_level(std::string& into) {
  return text("log_level", into,
              "How much is logged; the journal's checkpoints always are",
              {"debug", "info", "warn", "error"});
}

void add_endpoint(std::vector<option>& to, const std::string& section,
                  endpoint& e, const std::string& what) {
  to.push_back(text(section + ".address", e.address, "Address of " + what));
  to.push_back(number(section + ".port", e.port, 0, most_port,
                      "Port of " + what + "; 0 takes any free one"));
}

void add_identity(std::vector<option>& to, const std::string& section,
                  identity_files& files, const std::string& what) {
  to.push_back(text(section + ".certificate_file", files.certificate,
                    "PEM certificate chain of " + what));
  to.push_back(text(section + ".key_file", files.key,
                    "PEM private key of " + what + " (0600)"));
}

void need(problems& found, const std::string& value, const std::string& key) {
  if (value.empty())
    found.push_back(key + " is missing (" + flag_of(key) + ", " +
                    variable_of(key) + ")");
}

void check_pair(problems& found, const identity_files& files,
                const std::string& section) {
  if (files.certificate.empty() != files.key.empty())
    found.push_back(section + ".certificate_file and " + section +
                    ".key_file go together");
}

}  // namespace

std::vector<option> options_of(serve_config& c) {
  std::vector<option> all;
  all.push_back(text("store", c.store,
                     "The store: postgres://USER@HOST/NAME or sqlite:PATH"));
  all.push_back(text("secret_file", c.secret_file,
                     "File (0600) with the secret that opens the key bundle; "
                     "else BETTER_COMPUTE_SECRET"));
  all.push_back(text("source", c.source, "`source` of every public event"));
  all.push_back(number("workers", c.workers, 1, most_threads,
                       "Worker threads for joins and API calls"));
  option lifetime{"certificate_lifetime", &c.certificate_lifetime,
                  "How long a node's certificate lasts"};
  lifetime.least = 600;
  lifetime.most = pki::max_node_lifetime.count();
  all.push_back(std::move(lifetime));
  all.push_back(log_level(c.log_level));
  all.push_back(text("downloads", c.downloads,
                     "Folder with VERSION/linux-ARCH, the bcd that machines "
                     "are installed with"));
  add_endpoint(all, "api", c.api, "the API listener");
  add_identity(all, "api", c.api_tls, "the API listener");
  add_endpoint(all, "relay", c.relay, "the listener for gateways");
  all.push_back({"relay.names", &c.relay_names,
                 "Names and addresses by which gateways reach this process"});
  all.push_back(text("gateway.url", c.gateway_url,
                     "Where machines join: https://HOST[:PORT]"));
  all.push_back(text("gateway.server_name", c.gateway_server_name,
                     "Name in the gateway's certificate, when it is not the "
                     "URL's host"));
  all.push_back({"attestors.x509pop", &c.x509pop,
                 "Whether a node joins again by its own certificate within "
                 "seven days of its end: true or false"});
  add_options(all, c.tpm);
  add_options(all, c.discovery);
  all.push_back({"hardware.placeholder_uuids", &c.hardware_placeholder_uuids,
                 "Product UUIDs that several machines share, and that count "
                 "as placeholders"});
  add_endpoint(all, "metrics", c.metrics, "the listener for /metrics");
  all.push_back(text("kafka.brokers", c.kafka_brokers,
                     "HOST:PORT of some brokers, with commas between"));
  all.push_back(text("kafka.layout", c.kafka_layout,
                     "One topic for all events, or one for each type",
                     {"single", "type"}));
  all.push_back(text("kafka.prefix", c.kafka_prefix,
                     "What the names of the topics begin with"));
  all.push_back(number("kafka.partitions", c.kafka_partitions, 1, 1000,
                       "Partitions of a topic of events that is made"));
  all.push_back(text("kafka.transactional_id", c.kafka_transactional_id,
                     "The producer's identity, one for each deployment"));
  all.push_back({"kafka.properties", &c.kafka_properties,
                 "Further properties of librdkafka"});
  all.push_back(text("kafka.properties_file", c.kafka_properties_file,
                     "File (0600) of more properties, NAME = VALUE lines; for "
                     "what is secret"));
  return all;
}

std::vector<option> options_of(gateway_config& c) {
  std::vector<option> all;
  all.push_back(log_level(c.log_level));
  all.push_back(
      number("threads", c.threads, 1, most_threads, "Threads for connections"));
  add_endpoint(all, "listen", c.listen, "the listener for machines");
  add_identity(all, "listen", c.listen_tls, "the listener for machines");
  all.push_back(text("node_ca_file", c.node_ca_file,
                     "PEM of the CA that nodes' certificates are from"));
  all.push_back({"api.addresses", &c.api_addresses,
                 "HOST:PORT of each API process's listener for gateways"});
  add_identity(all, "internal", c.internal_tls, "this gateway among servers");
  all.push_back(text("internal.ca_file", c.internal_ca_file,
                     "PEM of the CA that API processes' certificates are "
                     "from"));
  all.push_back(number("limits.connections", c.connections, 16,
                       most_connections, "Connections of machines at once"));
  all.push_back(number("limits.connections_per_address",
                       c.connections_per_address, 1, most_connections,
                       "Of them, from one address"));
  all.push_back(number("limits.sessions", c.sessions, 16, most_connections,
                       "Sessions of nodes at once, beside these"));
  all.push_back(number("limits.sessions_per_address", c.sessions_per_address, 1,
                       most_connections, "Of them, from one address"));
  all.push_back(number("limits.requests_per_second", c.requests_per_second, 0,
                       most_requests,
                       "Requests a second from one address; "
                       "0: no limit"));
  all.push_back(number("limits.request_burst", c.request_burst, 1,
                       most_requests,
                       "Requests at once from one address after a pause"));
  add_endpoint(all, "metrics", c.metrics, "the listener for /metrics");
  return all;
}

result<void> check(const serve_config& c) {
  problems found;
  need(found, c.store, "store");
  check_pair(found, c.api_tls, "api");
  if (c.api_tls.certificate.empty() && !gateway::is_loopback(c.api.address))
    found.push_back(
        "api.address " + c.api.address +
        " is not loopback: plain HTTP would show credentials to the network; "
        "set api.certificate_file and api.key_file");
  if (!c.gateway_url.empty() && !daemon::parse_gateway_url(c.gateway_url))
    found.push_back("gateway.url must be https://HOST or https://HOST:PORT");
  if (c.gateway_url.empty() && !c.gateway_server_name.empty())
    found.push_back("gateway.server_name needs gateway.url");
  if (auto shared = pki::shared_uuids::parse(c.hardware_placeholder_uuids);
      !shared)
    found.push_back("hardware.placeholder_uuids: " + shared.error().message);
  for (auto& problem : problems_of(c.tpm))
    found.push_back(std::move(problem));
  for (auto& problem : problems_of(c.discovery))
    found.push_back(std::move(problem));
  if (c.kafka_properties.contains(broker_property))
    found.push_back("kafka.properties: \"" + std::string{broker_property} +
                    "\" is kafka.brokers");
  if (c.kafka_brokers.empty() &&
      (!c.kafka_properties.empty() || !c.kafka_properties_file.empty()))
    found.push_back("kafka.brokers is missing: [kafka] has properties");
  return no_problems(found);
}

result<void> check(const gateway_config& c) {
  problems found;
  need(found, c.listen_tls.certificate, "listen.certificate_file");
  need(found, c.listen_tls.key, "listen.key_file");
  need(found, c.node_ca_file, "node_ca_file");
  need(found, c.internal_tls.certificate, "internal.certificate_file");
  need(found, c.internal_tls.key, "internal.key_file");
  need(found, c.internal_ca_file, "internal.ca_file");
  if (c.api_addresses.empty())
    need(found, "", "api.addresses");
  for (const auto& a : c.api_addresses)
    if (!gateway::parse_api_address(a))
      found.push_back("api.addresses: '" + a + "' is not HOST:PORT");
  return no_problems(found);
}

}  // namespace bc::serve
