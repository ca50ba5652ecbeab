#include "base/wire_attest.hpp"

#include "base/json.hpp"
#include "base/wire.hpp"
#include "base/wire_evidence.hpp"
#include "base/wire_fields.hpp"

#include <utility>

namespace bc::wire {

namespace {

using detail::at_most;
using detail::at_most_or_none;
using detail::invalid;
using detail::kid_of;
using detail::put_base64;
using detail::sized;

constexpr std::size_t max_attestor = 64;
constexpr std::size_t max_certificate = 4096;
constexpr std::size_t max_payload = 4096;
constexpr std::size_t max_chain = 5;  // the leaf and 4 above it
constexpr std::size_t digest_size = 32;
constexpr std::size_t signature_size = 64;
constexpr std::size_t max_vouch = 4096;
constexpr std::size_t max_seal = 4096;

}  // namespace

std::string encode(const challenge_request& request) {
  json::writer out;
  out.begin_object()
      .field("protocol", protocol_version)
      .field("attestor", request.attestor);
  put_base64(out, "csrSha256", request.csr_sha256);
  out.key("evidence").begin_object();
  if (!request.leaf.empty()) {
    out.key("x509pop").begin_object();
    put_base64(out, "leaf", request.leaf);
    out.end_object();
  }
  if (request.tpm)
    detail::put_tpm(out, *request.tpm);
  out.end_object().end_object();
  return out.str();
}

result<challenge_request> decode_challenge_request(std::string_view body) {
  BC_TRY(doc, detail::parse_body(body));
  json::reader from{doc};
  BC_TRYV(detail::check_protocol(from));
  challenge_request out;
  BC_TRY(attestor, from.text("attestor"));
  if (attestor.size() > max_attestor)
    return invalid("is longer than 64 bytes", "/attestor");
  BC_TRY(csr, sized(from, "csrSha256", digest_size));
  BC_TRY(evidence, from.object("evidence"));
  if (evidence.has("x509pop")) {
    BC_TRY(presented, evidence.object("x509pop"));
    BC_TRY(leaf, at_most(presented, "leaf", max_certificate));
    out.leaf = std::move(leaf);
  }
  BC_TRY(tpm, detail::tpm_challenge_of(evidence));
  out.tpm = std::move(tpm);
  out.attestor = std::move(attestor);
  out.csr_sha256 = std::move(csr);
  return out;
}

std::string encode(const challenge_body& body) {
  json::writer out;
  out.begin_object().field("kid", body.kid);
  put_base64(out, "nonce", body.nonce);
  out.field("exp", body.expires_ms);
  put_base64(out, "payload", body.payload);
  put_base64(out, "csrSha256", body.csr_sha256);
  if (!body.encrypted_secret.empty())
    put_base64(out, "encryptedSecret", body.encrypted_secret);
  if (!body.claims_sha256.empty())
    put_base64(out, "claimsSha256", body.claims_sha256);
  out.end_object();
  return out.str();
}

result<challenge_body> decode_challenge_body(std::string_view body) {
  BC_TRY(doc, json::parse_object(body));
  json::reader from{doc};
  BC_TRY(kid, kid_of(from));
  BC_TRY(nonce, sized(from, "nonce", nonce_size));
  BC_TRY(expires, from.integer("exp"));
  BC_TRY(payload, at_most(from, "payload", max_payload));
  BC_TRY(csr, sized(from, "csrSha256", digest_size));
  BC_TRY(secret, at_most_or_none(from, "encryptedSecret", max_payload));
  BC_TRY(claims, from.has("claimsSha256")
                     ? sized(from, "claimsSha256", digest_size)
                     : result<bytes>{bytes{}});
  return challenge_body{kid, nonce, expires, payload, csr, secret, claims};
}

namespace detail {

result<std::string> kid_of(const json::reader& from) {
  BC_TRY(kid, from.text("kid"));
  if (kid.size() > max_kid)
    return invalid("is longer than 64 bytes", from.path_of("kid"));
  return std::move(kid);
}

void put_x509pop(json::writer& out, const x509pop_evidence& evidence) {
  out.key("x509pop").begin_object();
  put_base64_list(out, "chain", evidence.chain);
  out.field("kid", evidence.kid);
  put_base64(out, "nonce", evidence.nonce);
  out.field("exp", evidence.expires_ms);
  put_base64(out, "signature", evidence.signature);
  if (evidence.attestation)
    put_attestation(out, *evidence.attestation);
  out.end_object();
}

result<std::optional<x509pop_evidence>> x509pop_of(
    const json::reader& evidence) {
  if (!evidence.has("x509pop"))
    return std::optional<x509pop_evidence>{};
  BC_TRY(from, evidence.object("x509pop"));
  BC_TRY(chain, certificates_of(from, "chain", max_chain));
  BC_TRY(kid, kid_of(from));
  BC_TRY(nonce, sized(from, "nonce", nonce_size));
  BC_TRY(expires, from.integer("exp"));
  BC_TRY(signature, sized(from, "signature", signature_size));
  BC_TRY(attestation, attestation_of(from));
  return std::optional{
      x509pop_evidence{chain, kid, nonce, expires, signature, attestation}};
}

void put_discovery(json::writer& out, const discovery_evidence& evidence) {
  out.key("discovery").begin_object().field("vouch", evidence.vouch);
  if (evidence.sealed_token)
    out.field("sealed", *evidence.sealed_token);
  out.end_object();
}

result<std::optional<discovery_evidence>> discovery_of(
    const json::reader& evidence) {
  if (!evidence.has("discovery"))
    return std::optional<discovery_evidence>{};
  BC_TRY(from, evidence.object("discovery"));
  BC_TRY(vouch, bounded(from, "vouch", max_vouch));
  BC_TRY(sealed, from.optional_text("sealed"));
  if (sealed && sealed->size() > max_seal)
    return invalid("is longer than 4096 bytes", from.path_of("sealed"));
  return std::optional{discovery_evidence{vouch, sealed}};
}

}  // namespace detail

}  // namespace bc::wire
