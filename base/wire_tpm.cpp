#include "base/wire_tpm.hpp"

#include "base/json.hpp"
#include "base/wire_evidence.hpp"
#include "base/wire_fields.hpp"

#include <utility>

namespace bc::wire::detail {

namespace {

constexpr std::size_t max_structure = 1024;
constexpr std::size_t max_certificate = 4096;
constexpr std::size_t max_chain = 4;
constexpr std::size_t digest_size = 32;

void put_unless_empty(json::writer& out, std::string_view name,
                      const bytes& data) {
  if (!data.empty())
    put_base64(out, name, data);
}

}  // namespace

void put_tpm(json::writer& out, const tpm_evidence& evidence) {
  out.key("tpm").begin_object().field("kid", evidence.kid);
  put_base64(out, "nonce", evidence.nonce);
  out.field("exp", evidence.expires_ms);
  put_base64(out, "activation", evidence.activation);
  put_base64(out, "ekPublic", evidence.ek_public);
  put_unless_empty(out, "ekCert", evidence.ek_certificate);
  if (!evidence.ek_chain.empty())
    put_base64_list(out, "ekChain", evidence.ek_chain);
  put_base64(out, "akPublic", evidence.ak_public);
  put_unless_empty(out, "nodeKeyPublic", evidence.node_key_public);
  put_unless_empty(out, "certifyInfo", evidence.certify_info);
  put_unless_empty(out, "certifySignature", evidence.certify_signature);
  out.end_object();
}

result<std::optional<tpm_evidence>> tpm_of(const json::reader& evidence) {
  if (!evidence.has("tpm"))
    return std::optional<tpm_evidence>{};
  BC_TRY(from, evidence.object("tpm"));
  tpm_evidence out;
  BC_TRY(kid, kid_of(from));
  BC_TRY(nonce, sized(from, "nonce", nonce_size));
  BC_TRY(expires, from.integer("exp"));
  BC_TRY(activation, sized(from, "activation", digest_size));
  BC_TRY(ek, at_most(from, "ekPublic", max_structure));
  BC_TRY(certificate, at_most_or_none(from, "ekCert", max_certificate));
  if (from.has("ekChain")) {
    BC_TRY(chain, certificates_of(from, "ekChain", max_chain));
    out.ek_chain = std::move(chain);
  }
  BC_TRY(ak, at_most(from, "akPublic", max_structure));
  BC_TRY(node_key, at_most_or_none(from, "nodeKeyPublic", max_structure));
  BC_TRY(info, at_most_or_none(from, "certifyInfo", max_structure));
  BC_TRY(signature, at_most_or_none(from, "certifySignature", max_structure));
  out.kid = std::move(kid);
  out.nonce = std::move(nonce);
  out.expires_ms = expires;
  out.activation = std::move(activation);
  out.ek_public = std::move(ek);
  out.ek_certificate = std::move(certificate);
  out.ak_public = std::move(ak);
  out.node_key_public = std::move(node_key);
  out.certify_info = std::move(info);
  out.certify_signature = std::move(signature);
  return std::optional{std::move(out)};
}

void put_tpm(json::writer& out, const tpm_challenge_evidence& evidence) {
  out.key("tpm").begin_object();
  put_base64(out, "ekPublic", evidence.ek_public);
  put_base64(out, "akPublic", evidence.ak_public);
  put_base64(out, "claimsSha256", evidence.claims_sha256);
  out.end_object();
}

result<std::optional<tpm_challenge_evidence>> tpm_challenge_of(
    const json::reader& evidence) {
  if (!evidence.has("tpm"))
    return std::optional<tpm_challenge_evidence>{};
  BC_TRY(from, evidence.object("tpm"));
  BC_TRY(ek, at_most(from, "ekPublic", max_structure));
  BC_TRY(ak, at_most(from, "akPublic", max_structure));
  BC_TRY(claims, sized(from, "claimsSha256", digest_size));
  return std::optional{tpm_challenge_evidence{ek, ak, claims}};
}

void put_attestation(json::writer& out, const key_attestation& attestation) {
  out.key("keyAttestation").begin_object();
  put_unless_empty(out, "akPublic", attestation.ak_public);
  put_unless_empty(out, "nodeKeyPublic", attestation.node_key_public);
  put_unless_empty(out, "certifyInfo", attestation.certify_info);
  put_unless_empty(out, "signature", attestation.signature);
  out.end_object();
}

// A field that is missing is a refusal with a reason (node-key-missing), not a
// body that is not well formed.
result<std::optional<key_attestation>> attestation_of(
    const json::reader& from_body) {
  if (!from_body.has("keyAttestation"))
    return std::optional<key_attestation>{};
  BC_TRY(from, from_body.object("keyAttestation"));
  BC_TRY(ak, at_most_or_none(from, "akPublic", max_structure));
  BC_TRY(node_key, at_most_or_none(from, "nodeKeyPublic", max_structure));
  BC_TRY(info, at_most_or_none(from, "certifyInfo", max_structure));
  BC_TRY(signature, at_most_or_none(from, "signature", max_structure));
  return std::optional{key_attestation{ak, node_key, info, signature}};
}

}  // namespace bc::wire::detail
