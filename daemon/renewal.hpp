#pragma once

#include "base/clock.hpp"
#include "daemon/answer_check.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/machine_keys.hpp"

#include <functional>
#include <optional>
#include <string>

namespace bc::daemon {

/// Of an answer that gives a node what it is again, for the new key of `csr`.
[[nodiscard]] expected_answer expected_again(const config& c,
                                             const identity& who, byte_view csr,
                                             const pki::public_key& key,
                                             pki::purpose purpose);

/// Carries a renewal to the gateway, with the identity's certificate as the
/// client's or, when null, without one: the network, or a test.
using renew_transport =
    std::function<exchange(std::string_view body, const node_identity* me)>;

/// What one attempt to renew came to.
struct renewal_attempt {
  enum class end {
    renewed,
    no_key,       // the TPM does not do its part; nothing was sent
    refused,      // ACCESS_DENIED, also with the clock corrected
    untrusted,    // a pin or a check failed
    unreachable,  // nothing was sent
    lost,         // no whole answer
    unavailable,  // UNAVAILABLE, or another error that may pass
  };
  end what = end::unreachable;
  std::string why;                        // in words, printable
  std::optional<node_identity> renewed;   // not yet on disk
  std::string by = {};                    // the attestor of a rejoin
  std::optional<time_point> server_time;  // the newest that was signed
  int requests = 0;                       // that were sent, or partly
};

/// Asks once for a new certificate for a new key, proving the current one
/// (POST /v1/renew, spec: joining#renewal), and checks the answer: signature,
/// CSR hash, key, that node, site, trust domain and role are the same, validity
/// by the signed time. `now` is the server's time as far as known. A second
/// request follows at once when the first is refused and the signed time shows
/// that `now` is over 60 s off (CASES 104, 111); and, without a client
/// certificate, when the gateway does not take ours: the refusal then carries
/// the signed time, which says whether it expired. Writes nothing. The new key
/// is one of `keys`; where the certificate names a TPM's AK, that AK is derived
/// and compared, and its word on the new key goes with the request (spec:
/// joining#renewal); what the TPM does not do is `no_key`, before anything is
/// sent.
[[nodiscard]] renewal_attempt attempt_renewal(
    const config& c, const node_identity& me,
    const std::function<time_point()>& now, const renew_transport& send,
    const machine_keys& keys = {});

}  // namespace bc::daemon
