#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pki/identifier_hash.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What happens to a node between its joins: sessions, acceptance, warnings
/// (spec: joining#renewal, DESIGN 7 and 8, ATTESTATION 5).
namespace bc::events::node {

/// `node.connected`: a session began. The newest one is the node's.
struct connected {
  node_id id;
  std::string session;  // sess_…
  std::string gateway;  // of that run of it
  std::string address;  // the peer's, without a port
  std::string version;  // of bcd
  std::string serial;   // hex; of the certificate it was opened with
  /// The session that it takes over from, or empty: there was none.
  std::string supersedes;
  time_point at;
  bool operator==(const connected&) const = default;
};

enum class session_end {
  closed,        // by the daemon
  lost,          // no heartbeat, or the connection broke
  cut,           // the identity is over
  superseded,    // by a newer session
  stopping,      // the gateway stopped
  gateway_lost,  // nobody hears of its gateway any more
};
/// "closed", "lost", "cut", "superseded", "stopping", "gateway-lost".
[[nodiscard]] std::string_view session_end_text(session_end e) noexcept;
[[nodiscard]] std::optional<session_end> parse_session_end(
    std::string_view text) noexcept;

/// `node.disconnected`: the node's session is over and none took its place.
struct disconnected {
  node_id id;
  std::string session;
  session_end reason = session_end::closed;
  time_point at;
  bool operator==(const disconnected&) const = default;
};

/// `node.acceptance.started`: the node's first session since it joined, in a
/// pool with acceptance checks.
struct acceptance_started {
  node_id id;
  time_point at;
  bool operator==(const acceptance_started&) const = default;
};

/// `node.acceptance.failed`: it stays adopting until a later run passes or an
/// operator adopts it.
struct acceptance_failed {
  node_id id;
  std::vector<std::string> checks;  // those that did not pass, as the pool's
  time_point at;
  bool operator==(const acceptance_failed&) const = default;
};

/// `security.certificate-expiring`: the node's newest certificate is nearly
/// over and was not renewed. Once for each certificate.
struct certificate_expiring {
  node_id id;
  std::string serial;  // hex
  std::int64_t generation = 1;
  time_point not_after;
  bool connected = false;  // it has a session all the same
  time_point at;
  bool operator==(const certificate_expiring&) const = default;
};

/// `node.inventory-recorded`: what the node found of its own hardware changes
/// the key it goes by, or what an operator must know of it. A trusted key is
/// never replaced.
struct inventory_recorded {
  node_id id;
  std::string hardware_key;  // hex or empty: the one it goes by from now on
  bool hardware_key_trusted = false;
  bool hardware_changed = false;  // it found another than its trusted one
  bool hardware_taken = false;    // it found one that another node holds
  time_point at;
  std::string newly_held;  // internal: the key taken with it, or empty
  /// Of hardware_changed: the kinds of identifier that differ from those it
  /// joined with (pki::changed_kinds).
  std::vector<std::string> changed_identifiers = {};
  std::vector<pki::identifier_hash> identifiers = {};  // internal: it found
  bool operator==(const inventory_recorded&) const = default;
};

}  // namespace bc::events::node
