#include "pki/tpm/judge.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/credential.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/key_rules.hpp"

#include <algorithm>

namespace bc::pki::tpm {

namespace {

std::size_t size_of(const evidence& e) {
  std::size_t out = e.activation.size() + e.ek_public.size() +
                    e.ek_certificate.size() + e.ak_public.size() +
                    e.node_key_public.size() + e.certify_info.size() +
                    e.certify_signature.size() + e.repeated.kid.size();
  for (const auto& one : e.ek_chain)
    out += one.size();
  return out;
}

bool is_within_caps(const evidence& e) {
  return size_of(e) <= max_evidence_size &&
         e.ek_certificate.size() <= max_certificate_size &&
         e.ek_chain.size() <= max_intermediates &&
         std::ranges::all_of(e.ek_chain,
                             [](const bytes& one) {
                               return one.size() <= max_certificate_size;
                             }) &&
         e.node_key_public.size() <= max_public_size &&
         e.certify_info.size() <= max_attest_size &&
         e.certify_signature.size() <= max_signature_size;
}

struct keys {
  public_area ek;
  public_area ak;
  bytes ak_name;
};

std::optional<keys> read_keys(byte_view ek_public, byte_view ak_public) {
  auto ek = parse_public(ek_public);
  auto ak = parse_public(ak_public);
  if (!ek || !ak)
    return std::nullopt;
  auto name = name_of(*ak, ak_public);
  return keys{std::move(*ek), std::move(*ak), std::move(name)};
}

bool is_denied(const judge_config& config, const std::string& name) {
  return std::ranges::find(config.denied, name) != config.denied.end();
}

// Rows 5 to 8.
std::optional<code> judge_certificate(const evidence& e, const keys& k,
                                      const judge_config& config,
                                      time_point now, admitted& out) {
  auto certificate = e.ek_certificate.empty()
                         ? std::nullopt
                         : ek_certificate::read(e.ek_certificate);
  if (certificate && !certificate->is_for(k.ek))
    return code::ek_cert_key;
  if (is_denied(config, out.ek_hash) ||
      (certificate && is_denied(config, certificate->issuer())))
    return code::ek_denied;
  if (certificate)
    out.identity = certificate->identity();
  if (e.ek_certificate.empty()) {
    out.ek_certificate = ek_certificate_state::absent;
    out.ek_certificate_fault = code::ek_cert_required;
  } else {
    out.ek_certificate_fault =
        certificate ? certificate->check_profile() : code::ek_cert_malformed;
    if (!out.ek_certificate_fault)
      out.ek_certificate_fault = certificate->check_chain(
          config.ek_roots, config.ek_intermediates, e.ek_chain, now);
    out.ek_certificate = out.ek_certificate_fault
                             ? ek_certificate_state::unverified
                             : ek_certificate_state::verified;
  }
  if (config.require_ek_certificate)
    return out.ek_certificate_fault;
  return std::nullopt;
}

// Row 12.
std::optional<code> judge_node_key(const evidence& e, const keys& k,
                                   const judge_config& config,
                                   byte_view csr_der, admitted& out) {
  bool none = e.node_key_public.empty() && e.certify_info.empty() &&
              e.certify_signature.empty();
  if (none && !config.require_certified_key)
    return std::nullopt;
  key_attestation attested{e.ak_public, e.node_key_public, e.certify_info,
                           e.certify_signature};
  auto fault = verify_key_attestation(attested, csr_der);
  if (!fault)
    out.statement = ak_statement(k.ak_name);
  return fault;
}

}  // namespace

std::string_view text_of(ek_certificate_state s) noexcept {
  switch (s) {
    case ek_certificate_state::verified:
      return "verified";
    case ek_certificate_state::unverified:
      return "unverified";
    case ek_certificate_state::absent:
      return "absent";
  }
  return {};
}

std::variant<admitted, code> judge(const evidence& e,
                                   const judge_config& config,
                                   const judge_context& ctx) {
  auto k =
      is_within_caps(e) ? read_keys(e.ek_public, e.ak_public) : std::nullopt;
  if (!k)
    return code::malformed;
  if (ctx.role != certificate_role::node)
    return code::role;
  challenge_subject about{
      "tpm", sha256(ctx.csr_der),
      tpm_evidence(e.ek_public, k->ak_name, ctx.claims_sha256)};
  auto expected = recall_secret(ctx.challenge_keys, e.repeated, about, ctx.now);
  if (const auto* fault = std::get_if<code>(&expected))
    return *fault;
  if (auto fault = check_ek(k->ek))
    return *fault;
  admitted out;
  out.ek_hash = to_hex(ek_hash(k->ek));
  if (auto fault = judge_certificate(e, *k, config, ctx.now, out))
    return *fault;
  if (auto fault = check_ak(k->ak))
    return *fault;
  if (!equal_in_constant_time(std::get<secret_bytes>(expected).expose(),
                              e.activation))
    return code::activation;
  if (auto fault = judge_node_key(e, *k, config, ctx.csr_der, out))
    return *fault;
  return out;
}

std::variant<challenge_answer, code> answer_challenge(
    const challenge_request& request, const challenge_key& key,
    const std::array<std::uint8_t, 16>& nonce, time_point now) {
  auto k = read_keys(request.ek_public, request.ak_public);
  if (!k || k->ak_name.empty())
    return code::malformed;
  if (auto fault = check_ek(k->ek))
    return *fault;
  auto given = make_challenge(key, nonce, now);
  auto secret = challenge_secret(
      key, given,
      {"tpm", request.csr_sha256,
       tpm_evidence(request.ek_public, k->ak_name, request.claims_sha256)});
  auto made = make_credential(k->ek, k->ak_name, secret.expose());
  if (!made)
    return code::ek_template;
  return challenge_answer{std::move(given), std::move(made.value().blob),
                          std::move(made.value().encrypted_secret)};
}

}  // namespace bc::pki::tpm
