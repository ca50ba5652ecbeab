#include "base/encoding.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"
#include "pki/tpm/challenge.hpp"

// Certificates in events, and the event of a renewal.
namespace bc::events::node::detail {

namespace {

// A key stays taken while an expired certificate may still join again (7 days)
// and a day more.
constexpr seconds key_memory{8 * 86'400};
constexpr seconds answer_memory{600};
// Until then the same proof could pass for a new one: twice what a client's
// time may be off (120 s), and a challenge's whole life as the slowest clock
// sees it (spec: joining#renewal, ATTESTATION section 1.1).
constexpr seconds proof_memory{pki::tpm::challenge_lifetime +
                               pki::tpm::challenge_slack};
static_assert(proof_memory >= seconds{120});

constexpr certificate_names names{"serial", "generation"};

}  // namespace

claim_move take(std::string claim, std::optional<time_point> until) {
  return {claim_move::kind::take, std::move(claim), until};
}

void claim_certificate(moves& to, const certificate& c,
                       std::string_view subject, time_point now) {
  const auto until = c.not_after + key_memory;
  to.claims.push_back(take("serial:" + c.serial, until));
  to.claims.push_back(take(spki_claim(c.spki_sha256), until));
  to.claims.push_back(
      take(answer_claim(subject, c.csr_sha256), now + answer_memory));
}

void claim_proof(moves& to, std::string_view proof_sha256, time_point now) {
  to.claims.push_back(take(proof_claim(proof_sha256), now + proof_memory));
}

void put_certificate(json::writer& internal, const certificate& c) {
  internal.field("spkiSha256", c.spki_sha256)
      .field("notBeforeMs", to_millis(c.not_before))
      .field("statements", c.statements)
      .field("certificate", to_base64(c.der))
      .field("csrSha256", c.csr_sha256);
  if (!c.allowed_kinds.empty())
    internal.field("allowedKinds", c.allowed_kinds);
}

result<certificate> read_certificate(const json::reader& data,
                                     const json::reader& internal,
                                     const certificate_names& named) {
  BC_TRY(serial, data.text(named.serial));
  BC_TRY(spki, internal.text("spkiSha256"));
  BC_TRY(role, codec::one_of(data, "role", pki::parse_role));
  BC_TRY(generation, data.integer(named.generation));
  BC_TRY(not_before, codec::millis_of(internal, "notBeforeMs"));
  BC_TRY(not_after, codec::time_of(data, "notAfter"));
  BC_TRY(statements, internal.texts("statements"));
  BC_TRY(der, internal.base64("certificate"));
  BC_TRY(csr, internal.text("csrSha256"));
  BC_TRY(kinds, internal.texts_or_none("allowedKinds"));
  return certificate{std::move(serial),
                     std::move(spki),
                     role,
                     generation,
                     not_before,
                     not_after,
                     std::move(statements),
                     std::move(der),
                     std::move(csr),
                     std::move(kinds)};
}

moves effect(const renewed& r) {
  moves m;
  claim_certificate(m, r.cert, r.id.str(), r.at);
  claim_proof(m, r.proof_sha256, r.at);
  return m;
}

event_write write(const renewed& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("nodeId", r.id.str())
        .field("serial", r.cert.serial)
        .field("generation", r.cert.generation)
        .field("notAfter", to_rfc3339(r.cert.not_after))
        .field("role", pki::role_text(r.cert.role))
        .field("previousSerial", r.previous_serial);
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", r.tenant.str()).field("renewedAtMs", to_millis(r.at));
    put_certificate(out, r.cert);
    out.field("proofSha256", r.proof_sha256)
        .field("answerBody", to_base64(as_bytes(r.answer_body)))
        .field("answerSig", to_base64(r.answer_signature));
  });
  return {std::string{name::certificate_renewed}, 1, std::move(data),
          std::move(internal), effect(r)};
}

result<event> read_renewed(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(previous, data.text("previousSerial"));
  BC_TRY(cert, read_certificate(data, internal, names));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(at, codec::millis_of(internal, "renewedAtMs"));
  BC_TRY(proof, internal.text("proofSha256"));
  BC_TRY(body, internal.base64("answerBody"));
  BC_TRY(signature, internal.base64("answerSig"));
  return event{renewed{std::move(id), std::move(tenant), std::move(cert),
                       std::move(previous), at, std::move(proof),
                       std::string{as_text(body)}, std::move(signature)}};
}

}  // namespace bc::events::node::detail
