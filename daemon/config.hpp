#pragma once

#include "base/result.hpp"
#include "daemon/endpoint.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// `[tpm]`: the machine's TPM and what bcd may do with it.
struct tpm_settings {
  enum class use {
    automatic,  // where there is one that works
    always,     // nothing goes without it
    never,
  };
  use enabled = use::automatic;
  std::string tcti = "device:/dev/tpmrm0";
  /// The passwords of the owner and endorsement hierarchies; empty: they have
  /// none.
  std::filesystem::path owner_auth_file = {};
  std::filesystem::path endorsement_auth_file = {};
};

/// `[helper]`: `bcd helper` holds the TPM for a `bcd node` that is not root.
struct helper_settings {
  std::string user = "bcd";
  std::filesystem::path socket = "/run/bcd/helper.sock";
};

/// `[site_agent]`: what `bcd site` needs beside a node's configuration.
struct site_agent_settings {
  /// ADDRESS:PORT that ramdisks ask for vouches at.
  std::string listen = "0.0.0.0:9480";
  /// dnsmasq's lease file.
  std::filesystem::path leases_file = "/var/lib/misc/dnsmasq.leases";
};

/// What a machine is installed with (spec: joining#run-it-on-the-server).
struct config {
  std::string gateway_url;
  std::string site;
  std::string serving_ca_spki_pin;
  std::string join_signing_key_pin;
  std::string join_encryption_key_pin;
  std::filesystem::path data_dir = "/var/lib/bcd";
  /// The JoinService's encryption key; beside the config file.
  std::filesystem::path join_encryption_jwk;
  /// Not of the file: pins that count beside the two above (trusted_pins.hpp).
  std::vector<std::string> further_serving_ca_pins = {};
  std::vector<std::string> further_join_signing_pins = {};
  tpm_settings tpm = {};
  /// nullopt: bcd node is root, or has the TPM otherwise.
  std::optional<helper_settings> helper = {};
  site_agent_settings site_agent = {};
};

/// INVALID_CONFIG naming the first key whose value is wrong.
[[nodiscard]] result<void> check(const config& c);

/// Reads and checks a TOML file. INVALID_CONFIG naming the file and the key:
/// an unknown or missing key, a value of another type or form.
[[nodiscard]] result<config> load_config(const std::filesystem::path& file);

}  // namespace bc::daemon
