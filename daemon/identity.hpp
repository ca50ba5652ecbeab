#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"
#include "daemon/config.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// What a joined machine knows about itself; kept in identity.json.
struct identity {
  std::string node_id;
  std::string site;
  std::string trust_domain;
  std::string role;
  std::string gateway_url;
  std::vector<bytes> certificate_chain;     // DER, leaf first
  std::vector<bytes> command_signing_keys;  // DER SPKI
  time_point not_after;
  /// The keys that the last checked answer said are trusted beside those of
  /// the configuration, while the deployment's keys rotate or have since.
  std::vector<std::string> serving_ca_pins = {};
  std::vector<std::string> join_signing_pins = {};
  /// The configured pins when those were told: once a person has replaced
  /// these, what an older key vouched for counts no more.
  std::string installed_serving_ca_pin = {};
  std::string installed_join_signing_pin = {};
  /// What it joined by: an attestor's name; empty in what an older bcd wrote.
  std::string attestor = {};
  /// The EK that a `tpm` join chose (tpm/ek_candidates.hpp): the next one is by
  /// the same.
  std::string ek_kind = {};
};

/// Of a join's or renewal's checked answer, under the pins of the
/// configuration.
[[nodiscard]] identity identity_of(const config& c, const wire::joined_body& b,
                                   time_point not_after);

/// The text of identity.json.
[[nodiscard]] std::string encode(const identity& who);
[[nodiscard]] result<identity> decode_identity(std::string_view text);

}  // namespace bc::daemon
