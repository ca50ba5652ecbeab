#pragma once

#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/renewal.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <string_view>

/// How a machine whose certificate is over comes back by it (attestor x509pop;
/// spec: ATTESTATION section 3).
namespace bc::daemon {

/// So long after its end a certificate may still bring its machine back.
inline constexpr seconds rejoin_window{7 * 86'400};

/// Whether the certificate is one that may come back by itself at that time:
/// not a ramdisk's, none that names a TPM, and over for no longer than the
/// window.
[[nodiscard]] bool may_rejoin(const node_identity& me, time_point server_time);

struct rejoin_tools {
  /// POST of a path, without a client certificate: the network, or a test. To
  /// run_rejoin empty: the configured gateway.
  std::function<exchange(std::string_view path, std::string_view body)> post;
  std::function<result<pki::hardware_claims>()> hardware;
};

/// Asks once: for a challenge, and then to join by its answer. The key and CSR
/// are the store's pending ones, so that an answer that was lost is had again,
/// also by another process. Checks the answer as a renewal's. `refused`:
/// ACCESS_DENIED to either request. Writes nothing but the pending pair.
[[nodiscard]] renewal_attempt attempt_rejoin(const config& c,
                                             const identity_store& store,
                                             const node_identity& me,
                                             const rejoin_tools& tools);

/// `bcd join --attestor x509pop`: the same for a person, with a few retries.
/// `options` as of run_join: retries, wait.
[[nodiscard]] join_outcome run_rejoin(const config& c,
                                      const rejoin_tools& tools,
                                      const join_options& options = {});

}  // namespace bc::daemon
