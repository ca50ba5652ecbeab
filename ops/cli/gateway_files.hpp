#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/bundle.hpp"

#include <string>
#include <vector>

namespace bc::cli {

/// One file of a gateway's folder.
struct gateway_file {
  std::string name;
  std::string role;     // its field in JSON output
  std::string purpose;  // for people
  bool secret = false;
  secret_bytes content;
};

/// What `better-compute gateway` needs (ops/sample/gateway.toml): its serving
/// chain and key for these names, its certificate of the internal CA and key,
/// and the CAs it checks others by. INVALID_INPUT for a bad name.
[[nodiscard]] result<std::vector<gateway_file>> make_gateway_files(
    const pki::key_bundle& keys, const std::vector<std::string>& names,
    time_point now);

/// Into a new folder of mode 0700, keys 0600 and the rest 0644, as it is to be
/// installed; nothing stays behind when one cannot be written. ALREADY_EXISTS
/// for a folder that is there.
[[nodiscard]] result<void> write_gateway_files(
    const std::string& folder, const std::vector<gateway_file>& files);

}  // namespace bc::cli
