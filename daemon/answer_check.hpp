#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/wire.hpp"
#include "pki/certificate.hpp"
#include "pki/digest.hpp"
#include "pki/key.hpp"
#include "pki/signature.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// What the daemon knows before it reads an answer.
struct expected_answer {
  std::vector<std::string> signing_key_pins;  // any of them
  pki::sha256_digest csr_sha256;
  pki::public_key own_key;
  std::string site;
  pki::certificate_role role = pki::certificate_role::node;
  std::string node_id = {};  // empty: any
  // Of a renewal: its own purpose, and nothing of the identity may change.
  pki::purpose purpose = pki::purpose::join_response;
  std::string trust_domain = {};  // empty: any
  bool exactly_this_role = false;
};

/// The checks of an answer, in their order (spec: joining#join-flow step 5).
/// Asked for `node` or `node-tenant`, the server says which of the two it is:
/// the token, not the machine, decides on trust.
/// `form` is a signed body that does not parse.
enum class answer_check {
  none,
  signature,
  form,
  csr_sha256,
  key,
  spiffe,
  role,
  claims_sha256,  // of a challenge of `tpm`
};
/// "signature", "csr_sha256", "SPIFFE SAN", …
[[nodiscard]] std::string_view answer_check_text(answer_check c) noexcept;

/// Checks the server's signed time: the signing key has the pin and signed
/// the time together with our CSR's hash. ACCESS_DENIED otherwise.
[[nodiscard]] result<time_point> check_signed_time(
    const wire::join_answer& answer, const expected_answer& expected);

struct checked_join {
  answer_check failed = answer_check::none;
  wire::joined_body body;  // meaningful when nothing failed
  time_point not_before;   // of the leaf
  time_point not_after;
};
/// Judges a `joined` or `renewed` answer; `failed` names the first check it
/// does not pass.
[[nodiscard]] checked_join check_joined(const wire::join_answer& answer,
                                        const expected_answer& expected);

struct checked_deferral {
  answer_check failed = answer_check::none;
  wire::deferred_body body;
};
struct checked_challenge {
  answer_check failed = answer_check::none;
  wire::challenge_body body;
};
/// Judges an answer `challenge`, whose purpose is its own, whatever `expected`
/// says: of tpm where the request has its evidence, else of x509pop.
[[nodiscard]] checked_challenge check_challenge(
    const wire::join_answer& answer, expected_answer expected,
    const wire::challenge_request& request = {});

[[nodiscard]] checked_deferral check_deferred(const wire::join_answer& answer,
                                              const expected_answer& expected);

}  // namespace bc::daemon
