#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// Where the gateway is: https://host[:port].
struct endpoint {
  std::string host;  // without the brackets of an IPv6 literal
  std::string port = "443";
};

/// INVALID_CONFIG for anything but https://host[:port][/].
[[nodiscard]] result<endpoint> parse_gateway_url(std::string_view url);

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
};

/// INVALID_CONFIG naming the first key whose value is wrong.
[[nodiscard]] result<void> check(const config& c);

/// Reads and checks a TOML file. INVALID_CONFIG naming the file and the key:
/// an unknown or missing key, a value of another type or form.
[[nodiscard]] result<config> load_config(const std::filesystem::path& file);

}  // namespace bc::daemon
