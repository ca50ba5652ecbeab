#pragma once

#include "actors/tpm/tpm_attestor.hpp"
#include "base/result.hpp"
#include "ops/serve/options.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bc::serve {

/// [attestors.tpm] of `better-compute serve`.
struct tpm_settings {
  bool enabled = false;
  std::vector<std::string> ek_roots;          // PEM files
  std::vector<std::string> ek_intermediates;  // PEM files
  std::map<std::string, std::string> allow;   // EK hash: pool
  std::vector<std::string> deny;              // EK hashes and issuers
  bool require_ek_cert = false;
  bool require_certified_key = true;
  std::map<std::string, std::string> admit_verified;  // site: pool
  bool enrollment = false;
  seconds pending_ttl{86'400};
  std::int64_t pending_places = 1000;
  seconds max_lifetime{86'400};
};

void add_options(std::vector<option>& to, tpm_settings& s);

/// What is wrong with the values alone, a line each.
[[nodiscard]] std::vector<std::string> problems_of(const tpm_settings& s);

/// The attestor, its certificates read; nothing when it is not enabled.
/// INVALID_CONFIG for a file that holds no certificate.
[[nodiscard]] result<std::optional<actors::tpm_attestor>> attestor_of(
    const tpm_settings& s);

}  // namespace bc::serve
