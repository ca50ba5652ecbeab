#include "daemon/tpm_join.hpp"

#include "daemon/tpm_proof.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/digest.hpp"

#include <optional>

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;

// Of the TPM: what it says no to, no waiting mends.
fault of_tpm(const fault& why) {
  return fail(
      why.code == errc::unavailable ? errc::not_found : errc::invalid_state,
      "the TPM: " + why.message);
}

fault of_challenge(const genuine_answer& got) {
  switch (got.what) {
    case end::refused:
      return fail(errc::unauthenticated, got.why);
    case end::untrusted:
      return fail(errc::access_denied, got.why + "; nothing was proved");
    case end::unavailable:
      // INVALID_CONFIG as it is, and what may pass as what the server said.
      return fail(got.code == errc::invalid_config ? errc::invalid_config
                                                   : errc::rate_limited,
                  got.why);
    default:
      return fail(errc::unavailable, got.why);
  }
}

class prover {
 public:
  prover(const config& c, tpm_join_tools tools)
      : config_(c),
        proof_(tools.tpm, std::move(tools.recorded_ek), tools.say),
        post_(std::move(tools.post)) {
    if (!post_)
      post_ = [&c](std::string_view path, std::string_view body) {
        return post_to_gateway(c, path, body, nullptr);
      };
  }

  result<void> is_ready() {
    auto chosen = proof_.choose();
    return chosen ? chosen : of_tpm(chosen.error());
  }

  void begins(const pending_request& request) {
    key_.emplace(request.key.clone());
    csr_ = request.csr;
  }

  result<void> fill(wire::join_request& body) {
    auto asked = proof_.challenge_for(body);
    if (!asked)
      return of_tpm(asked.error());
    const expected_answer expected{{config_.join_signing_key_pin},
                                   pki::sha256(csr_),
                                   key_->pub(),
                                   config_.site};
    auto given = ask_challenge(post_, expected, asked.value());
    if (!given.body)
      return of_challenge(given.otherwise);
    auto made = proof_.answer(*given.body, *key_, csr_);
    if (!made)
      return of_tpm(made.error());
    body.tpm = std::move(made).value();
    return ok();
  }

  [[nodiscard]] const std::string& ek_kind() const { return proof_.ek_kind(); }

 private:
  const config& config_;
  tpm_proof proof_;
  post_to_path post_;
  std::optional<node_key> key_;
  bytes csr_;
};

}  // namespace

join_evidence tpm_join_evidence(const config& c, tpm_join_tools tools) {
  auto shared = std::make_shared<prover>(c, std::move(tools));
  join_evidence out;
  out.attestor = wire::tpm_attestor;
  out.is_ready = [shared] { return shared->is_ready(); };
  out.begins = [shared](const pending_request& request) {
    shared->begins(request);
  };
  out.fill = [shared](wire::join_request& body,
                      const std::optional<std::string>&) {
    return shared->fill(body);
  };
  out.key_in_tpm = true;
  out.ek_kind = [shared] { return shared->ek_kind(); };
  return out;
}

}  // namespace bc::daemon
