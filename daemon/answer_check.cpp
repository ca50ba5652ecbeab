#include "daemon/answer_check.hpp"

#include "base/ids.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/spiffe.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

constexpr std::size_t challenge_size = 32;  // of x509pop
// No TPM2B that an EK opens is larger (an RSA-4096 secret).
constexpr std::size_t most_of_tpm = 1024;

std::optional<pki::public_key> pinned_key(const wire::join_answer& answer,
                                          const expected_answer& expected) {
  auto key = pki::public_key::from_spki(answer.signing_key);
  if (!key || !is_trusted(key.value().pin(), expected.signing_key_pins))
    return std::nullopt;
  return key.value();
}

bool body_is_signed(const wire::join_answer& answer,
                    const expected_answer& expected) {
  auto key = pinned_key(answer, expected);
  return key && pki::verify(*key, expected.purpose, {as_bytes(answer.body)},
                            answer.signature);
}

bool is_own(const bytes& csr_sha256, const expected_answer& expected) {
  return std::equal(csr_sha256.begin(), csr_sha256.end(),
                    expected.csr_sha256.begin(), expected.csr_sha256.end());
}

bool well_formed(const wire::joined_body& body) {
  return !body.certificate_chain.empty() &&
         !body.command_signing_keys.empty() &&
         std::all_of(body.command_signing_keys.begin(),
                     body.command_signing_keys.end(), [](const bytes& spki) {
                       return pki::public_key::from_spki(spki).has_value();
                     });
}

// The SPIFFE id comes first and is the only one; what follows are statements.
bool names_node(const pki::leaf_view& leaf, const wire::joined_body& body,
                const expected_answer& expected) {
  pki::spiffe_id id{body.trust_domain, expected.site, body.node_id};
  if (!expected.node_id.empty() && body.node_id != expected.node_id)
    return false;
  if (!expected.trust_domain.empty() &&
      body.trust_domain != expected.trust_domain)
    return false;
  if (body.site_id != expected.site || !node_id::parse(body.node_id) ||
      !pki::parse_trust_domain(body.trust_domain))
    return false;
  return !leaf.uris.empty() && leaf.uris.front() == pki::to_uri(id) &&
         std::none_of(
             leaf.uris.begin() + 1, leaf.uris.end(),
             [](const std::string& uri) { return uri.starts_with("spiffe:"); });
}

bool is_node_agent(pki::certificate_role r) {
  return r == pki::certificate_role::node ||
         r == pki::certificate_role::node_tenant;
}

bool role_fits(pki::certificate_role issued, const expected_answer& expected) {
  return issued == expected.role ||
         (!expected.exactly_this_role && is_node_agent(issued) &&
          is_node_agent(expected.role));
}

}  // namespace

std::string_view answer_check_text(answer_check c) noexcept {
  switch (c) {
    case answer_check::none:
      return "none";
    case answer_check::signature:
      return "signature";
    case answer_check::form:
      return "form";
    case answer_check::csr_sha256:
      return "csr_sha256";
    case answer_check::key:
      return "key";
    case answer_check::spiffe:
      return "SPIFFE SAN";
    case answer_check::role:
      return "role";
    case answer_check::claims_sha256:
      return "claims_sha256";
  }
  return "unknown";
}

result<time_point> check_signed_time(const wire::join_answer& answer,
                                     const expected_answer& expected) {
  auto key = pinned_key(answer, expected);
  if (!answer.time || !key)
    return fail(errc::access_denied, "not signed by the pinned key");
  auto text = std::to_string(answer.time->time_ms);
  if (!pki::verify(*key, pki::purpose::server_time,
                   {as_bytes(text), expected.csr_sha256},
                   answer.time->signature))
    return fail(errc::access_denied, "the server time's signature is wrong");
  return from_millis(answer.time->time_ms);
}

checked_join check_joined(const wire::join_answer& answer,
                          const expected_answer& expected) {
  auto failed = [](answer_check c) { return checked_join{c, {}, {}, {}}; };
  if (!body_is_signed(answer, expected))
    return failed(answer_check::signature);
  auto body = wire::decode_joined_body(answer.body);
  if (!body || !well_formed(body.value()))
    return failed(answer_check::form);
  const auto& b = body.value();
  if (!is_own(b.csr_sha256, expected))
    return failed(answer_check::csr_sha256);
  auto leaf = pki::parse_certificate(b.certificate_chain.front());
  if (!leaf || !(leaf.value().key == expected.own_key))
    return failed(answer_check::key);
  if (!names_node(leaf.value(), b, expected))
    return failed(answer_check::spiffe);
  const auto role = leaf.value().role;
  if (!role || !role_fits(*role, expected) || b.role != pki::role_text(*role))
    return failed(answer_check::role);
  return {answer_check::none, b, leaf.value().not_before,
          leaf.value().not_after};
}

namespace {

bool is_blob(const bytes& of_tpm) {
  return !of_tpm.empty() && of_tpm.size() <= most_of_tpm;
}

bool has_form(const wire::challenge_body& body, bool of_tpm) {
  return of_tpm ? is_blob(body.payload) && is_blob(body.encrypted_secret)
                : body.payload.size() == challenge_size;
}

}  // namespace

checked_challenge check_challenge(const wire::join_answer& answer,
                                  expected_answer expected,
                                  const wire::challenge_request& request) {
  expected.purpose = pki::purpose::join_challenge;
  if (!body_is_signed(answer, expected))
    return {answer_check::signature, {}};
  auto body = wire::decode_challenge_body(answer.body);
  if (!body || answer.what != wire::join_answer::kind::challenge ||
      !has_form(body.value(), request.tpm.has_value()))
    return {answer_check::form, {}};
  if (!is_own(body.value().csr_sha256, expected))
    return {answer_check::csr_sha256, {}};
  // Before the TPM opens anything: a gateway that changed what is claimed must
  // not get what it would be proved with.
  if (request.tpm && body.value().claims_sha256 != request.tpm->claims_sha256)
    return {answer_check::claims_sha256, {}};
  return {answer_check::none, std::move(body).value()};
}

checked_deferral check_deferred(const wire::join_answer& answer,
                                const expected_answer& expected) {
  if (!body_is_signed(answer, expected))
    return {answer_check::signature, {}};
  auto body = wire::decode_deferred_body(answer.body);
  if (!body)
    return {answer_check::form, {}};
  if (!is_own(body.value().csr_sha256, expected))
    return {answer_check::csr_sha256, {}};
  return {answer_check::none, body.value()};
}

}  // namespace bc::daemon
