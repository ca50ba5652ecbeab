#pragma once

#include "ops/serve/discovery_config.hpp"
#include "ops/serve/options.hpp"
#include "ops/serve/tpm_config.hpp"

#include <map>
#include <string>
#include <vector>

namespace bc::serve {

/// Where a listener is; port 0 takes any free one.
struct endpoint {
  std::string address;
  std::int64_t port = 0;
};

/// Files of a TLS identity; both or none.
struct identity_files {
  std::string certificate;  // PEM, leaf first
  std::string key;          // PEM, 0600
};

/// What `better-compute serve` runs with (ops/sample/better-compute.toml).
struct serve_config {
  std::string store;
  std::string secret_file;  // empty: BETTER_COMPUTE_SECRET
  std::string source = "better-compute";
  std::int64_t workers = 2;
  seconds certificate_lifetime{86'400};
  std::string log_level = "info";
  std::string downloads;  // folder of bcd's programs; empty: none

  endpoint api{"127.0.0.1", 7780};
  identity_files api_tls;
  endpoint relay{"127.0.0.1", 7781};
  std::vector<std::string> relay_names = {"localhost"};

  std::string gateway_url;  // empty: the well-known document names none
  std::string gateway_server_name;

  /// Whether nodes may join again by their expired certificates.
  bool x509pop = false;
  tpm_settings tpm;
  discovery_settings discovery;

  /// Product UUIDs that several machines are known to share.
  std::vector<std::string> hardware_placeholder_uuids;

  endpoint metrics{"127.0.0.1", -1};  // -1: none

  std::string kafka_brokers;            // empty: no Kafka
  std::string kafka_layout = "single";  // or "type"
  std::string kafka_prefix = "better-compute";
  std::int64_t kafka_partitions = 12;
  std::string kafka_transactional_id = "better-compute-publisher";
  std::map<std::string, std::string> kafka_properties;
  std::string kafka_properties_file;  // NAME = VALUE lines, 0600
};

/// What `better-compute gateway` runs with (ops/sample/gateway.toml).
struct gateway_config {
  std::string log_level = "info";
  std::int64_t threads = 1;

  endpoint listen{"0.0.0.0", 7443};
  identity_files listen_tls;
  std::string node_ca_file;

  std::vector<std::string> api_addresses;  // HOST:PORT
  identity_files internal_tls;
  std::string internal_ca_file;

  std::int64_t connections = 4096;
  std::int64_t connections_per_address = 256;
  std::int64_t sessions = 4096;  // beside the connections
  std::int64_t sessions_per_address = 2048;
  std::int64_t requests_per_second = 50;  // from one address; 0: any number
  std::int64_t request_burst = 500;

  endpoint metrics{"127.0.0.1", -1};
};

/// Every setting of a program, pointing into its configuration.
[[nodiscard]] std::vector<option> options_of(serve_config& c);
[[nodiscard]] std::vector<option> options_of(gateway_config& c);

/// What no single value shows: settings that are missing or do not go
/// together. INVALID_CONFIG with every problem.
[[nodiscard]] result<void> check(const serve_config& c);
[[nodiscard]] result<void> check(const gateway_config& c);

}  // namespace bc::serve
