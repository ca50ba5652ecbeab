#include "daemon/tpm_proof.hpp"

#include "pki/claims_digest.hpp"
#include "pki/digest.hpp"

namespace bc::daemon {

namespace {

constexpr std::size_t most_in_chain = 4;

}  // namespace

result<void> tpm_proof::choose() {
  if (!ek_.public_area.empty())
    return ok();
  std::optional<std::string> recorded;
  if (!recorded_.empty())
    recorded = recorded_;
  auto chosen = keeper_->choose_ek(recorded);
  // Another TPM than the one it joined by, which has no such EK.
  if (!chosen && recorded && chosen.error().code == errc::invalid_state) {
    if (warn_)
      warn_("warning: " + chosen.error().message +
            ", as this machine joined by before; it joins by another");
    chosen = keeper_->choose_ek(std::nullopt);
  }
  if (!chosen)
    return std::move(chosen).error();
  BC_TRY(ak, keeper_->ak_public());
  if (!chosen.value().warning.empty() && warn_)
    warn_("warning: " + chosen.value().warning);
  ak_public_ = std::move(ak);
  ek_ = std::move(chosen).value();
  if (ek_.chain.size() > most_in_chain)
    ek_.chain.resize(most_in_chain);
  return ok();
}

result<wire::challenge_request> tpm_proof::challenge_for(
    const wire::join_request& body, const std::optional<std::string>& ak) {
  BC_TRYV(choose());
  if (ak && tpm::statement_of(ak_public_) != *ak)
    return fail(errc::invalid_state, "the certificate names " + *ak +
                                         ", the TPM derives " +
                                         tpm::statement_of(ak_public_));
  wire::challenge_request out;
  out.attestor = wire::tpm_attestor;
  out.csr_sha256 = to_bytes(pki::sha256(body.csr));
  out.tpm = wire::tpm_challenge_evidence{ek_.public_area, ak_public_,
                                         to_bytes(pki::claims_digest(body))};
  return out;
}

result<wire::tpm_evidence> tpm_proof::answer(
    const wire::challenge_body& challenge, const node_key& key,
    byte_view csr_der) {
  if (key.blobs() == nullptr)
    return fail(errc::invalid_state, "the node's key is not in the TPM");
  BC_TRY(secret,
         keeper_->activate(ek_, challenge.payload, challenge.encrypted_secret));
  BC_TRY(certified, keeper_->certify(*key.blobs(), csr_der));
  wire::tpm_evidence out;
  out.kid = challenge.kid;
  out.nonce = challenge.nonce;
  out.expires_ms = challenge.expires_ms;
  out.activation = to_bytes(secret.expose());
  out.ek_public = ek_.public_area;
  out.ek_certificate = ek_.certificate;
  out.ek_chain = ek_.chain;
  out.ak_public = ak_public_;
  out.node_key_public = key.blobs()->public_area;
  out.certify_info = std::move(certified.info);
  out.certify_signature = std::move(certified.signature);
  return out;
}

}  // namespace bc::daemon
