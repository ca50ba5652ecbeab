#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/certificate.hpp"
#include "pki/key.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::pki {

/// Every key of a deployment (spec: DESIGN section 8).
struct key_bundle {
  std::string trust_domain;
  time_point created_at;
  issuer node_ca;
  issuer serving_ca;
  issuer internal_ca;
  issuer join_signing;  // its self-signed certificate goes to the well-known
                        // document
  private_key join_encryption;
  private_key command_signing;
  private_key journal_checkpoint;
};

/// Makes all keys. INVALID_INPUT for a bad trust domain.
[[nodiscard]] result<key_bundle> make_bundle(std::string_view trust_domain,
                                             time_point now);

/// The bundle as JSON, sealed with the deployment's secret: scrypt (N = 2^15,
/// r = 8, p = 1) and AES-256-GCM; the answer is JSON text that names its
/// parameters. INVALID_CONFIG for a secret shorter than 16 bytes.
[[nodiscard]] result<std::string> seal_bundle(const key_bundle& bundle,
                                              const secret_bytes& secret);

/// INVALID_CONFIG "BETTER_COMPUTE_SECRET does not open the key bundle" for a
/// wrong secret, another message for a damaged or unknown form.
[[nodiscard]] result<std::shared_ptr<const key_bundle>> open_bundle(
    std::string_view sealed, const secret_bytes& secret);

/// The pins machines are installed with.
struct bundle_pins {
  std::string serving_ca;
  std::string join_signing;
  std::string join_encryption;
};
[[nodiscard]] bundle_pins pins_of(const key_bundle& bundle);

}  // namespace bc::pki
