#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "pki/certificate.hpp"
#include "pki/key.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::pki {

/// The keys of a deployment by what they do.
enum class key_name {
  node_ca,
  serving_ca,
  internal_ca,
  join_signing,
  join_encryption,
  command_signing,
  journal_checkpoint
};
inline constexpr std::array every_key{
    key_name::node_ca,           key_name::serving_ca,
    key_name::internal_ca,       key_name::join_signing,
    key_name::join_encryption,   key_name::command_signing,
    key_name::journal_checkpoint};
/// "node-ca", "serving-ca", …
[[nodiscard]] std::string_view key_text(key_name k) noexcept;
[[nodiscard]] std::optional<key_name> parse_key_name(
    std::string_view text) noexcept;

/// The second of a key's pair while it rotates (rotation.hpp): the next one,
/// or the one before. Trusted beside the current one, never used.
struct other_key {
  enum class phase { prepared, retiring };
  phase what = phase::prepared;
  time_point since;
  private_key key;
  bytes certificate;  // DER; empty for a key that has none
};

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
  std::map<key_name, other_key> others = {};
  /// DER SPKI of the journal keys that are no more: what they signed stays.
  std::vector<bytes> past_journal_keys = {};
};

[[nodiscard]] const private_key& key_of(const key_bundle& bundle,
                                        key_name which);
/// The current key, then the other one if there is one.
[[nodiscard]] std::vector<public_key> public_keys_of(const key_bundle& bundle,
                                                     key_name which);
/// Every key that checkpoints of the journal may be signed with, the current
/// one first.
[[nodiscard]] std::vector<public_key> journal_keys_of(const key_bundle& bundle);
/// As public_keys_of, the certificates of a key that has one.
[[nodiscard]] std::vector<bytes> certificates_of(const key_bundle& bundle,
                                                 key_name which);

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
