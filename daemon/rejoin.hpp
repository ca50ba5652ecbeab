#pragma once

#include "base/clock.hpp"
#include "daemon/challenge.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/machine_keys.hpp"
#include "daemon/renewal.hpp"
#include "daemon/tpm_proof.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <string_view>

/// How a machine whose certificate is over comes back: by the certificate
/// (attestor x509pop; spec: ATTESTATION section 3), or by the TPM whose AK it
/// names (section 2).
namespace bc::daemon {

/// So long after its end a certificate may still bring its machine back.
inline constexpr seconds rejoin_window{7 * 86'400};

/// Whether the certificate is one that may come back by itself at that time:
/// not a ramdisk's, and over for no longer than the window.
[[nodiscard]] bool may_rejoin(const node_identity& me, time_point server_time);
/// Whether its TPM may bring it back at any time: a node's that names an AK.
[[nodiscard]] bool may_rejoin_by_tpm(const node_identity& me);

struct rejoin_tools {
  /// The network, or a test. To run_rejoin empty: the configured gateway.
  post_to_path post;
  std::function<result<pki::hardware_claims>()> hardware;
  /// Where the new key comes from; of a certificate that names an AK it is made
  /// in the TPM, and the AK vouches for it.
  machine_keys keys = {};
  /// The TPM that proves itself; null: there is none to this process (the
  /// helper has it), and nothing comes back by it.
  std::shared_ptr<tpm::attesting_keeper> tpm = nullptr;
  /// A line for a log.
  std::function<void(const std::string&)> say = {};
};

/// Asks once: for a challenge, and then to join by its answer. The key and CSR
/// are the store's pending ones, so that an answer that was lost is had again,
/// also by another process. Checks the answer as a renewal's. `refused`:
/// ACCESS_DENIED to either request. Writes nothing but the pending pair.
[[nodiscard]] renewal_attempt attempt_rejoin(const config& c,
                                             const identity_store& store,
                                             const node_identity& me,
                                             const rejoin_tools& tools);
/// The same by the TPM, for the same node. A deferral is `unavailable`, and
/// says which request a person must approve. Once it is refused, and no answer
/// to the pending CSR can still be had, the pair is forgotten. `no_key` before
/// anything is sent, when the TPM is not the one that the certificate names.
[[nodiscard]] renewal_attempt attempt_tpm_rejoin(const config& c,
                                                 const identity_store& store,
                                                 const node_identity& me,
                                                 const rejoin_tools& tools);

/// The ways back of `bcd node`, one after the other: by the certificate while
/// the window is open; when that is refused or over, by the TPM.
class way_back {
 public:
  way_back(const config& c, const identity_store& store, rejoin_tools tools)
      : config_(c), store_(store), tools_(std::move(tools)) {}

  /// `now`: the server's time.
  [[nodiscard]] renewal_attempt attempt(const node_identity& me,
                                        time_point now);
  /// Whether one of them is open at that time.
  [[nodiscard]] bool is_open(const node_identity& me, time_point now) const;

 private:
  const config& config_;
  const identity_store& store_;
  const rejoin_tools tools_;
  // While a request waits for a person, the certificate need not be refused
  // again and again.
  bool certificate_refused_ = false;
};

/// `bcd join --attestor x509pop`: the same for a person, with a few retries.
/// `options` as of run_join: retries, wait.
[[nodiscard]] join_outcome run_rejoin(const config& c,
                                      const rejoin_tools& tools,
                                      const join_options& options = {});

}  // namespace bc::daemon
