#include "pki/tpm/key_attestation.hpp"

#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/key_rules.hpp"
#include "pki/tpm/verify.hpp"

#include <algorithm>

namespace bc::pki::tpm {

namespace {

namespace at = attribute;

bool is_node_key_algorithm(const public_area& key) {
  const auto* ecc = key.ecc();
  return ecc != nullptr &&
         (key.name_alg == alg::sha256 || key.name_alg == alg::sha384) &&
         ecc->curve == curve::p256 && ecc->symmetric == symmetric{} &&
         ecc->kdf == scheme{} &&
         (ecc->scheme == scheme{} ||
          ecc->scheme == scheme{alg::ecdsa, alg::sha256});
}

bool has_node_key_attributes(const public_area& key) {
  return key.has(at::fixed_tpm | at::fixed_parent | at::sensitive_data_origin |
                 at::sign) &&
         !key.has_any(at::restricted | at::decrypt | at::encrypted_duplication);
}

bool is_key_of(byte_view csr_der, const public_area& key) {
  auto request = parse_csr(csr_der);
  return request && self_signature_verifies(request.value()) &&
         std::ranges::equal(request.value().key.sec1(), sec1_point(*key.ecc()));
}

}  // namespace

std::optional<code> verify_key_attestation(const key_attestation& evidence,
                                           byte_view csr_der) {
  if (evidence.ak_public.empty() || evidence.node_key_public.empty() ||
      evidence.certify_info.empty() || evidence.signature.empty())
    return code::node_key_missing;
  auto ak = parse_public(evidence.ak_public);
  auto key = parse_public(evidence.node_key_public);
  auto info = parse_attest(evidence.certify_info);
  auto signed_by = parse_signature(evidence.signature);
  if (!ak || !key || !info || !signed_by)
    return code::node_key_malformed;
  if (info->magic != generated)
    return code::node_key_magic;
  if (info->type != attest_certify)
    return code::node_key_type;
  auto ak_name = name_of(*ak, evidence.ak_public);
  // An AK of the null hierarchy dies with a reset; one that is someone's child
  // may stand under a parent that its TPM never made.
  if (!is_lasting_primary(info->qualified_signer, ak_name))
    return code::node_key_signer;
  if (!std::ranges::equal(info->extra_data, sha256(csr_der)))
    return code::node_key_binding;
  auto name = name_of(*key, evidence.node_key_public);
  if (name.empty() || info->name != name)
    return code::node_key_name;
  if (!verifies(*ak, *signed_by, evidence.certify_info))
    return code::node_key_signature;
  if (!is_node_key_algorithm(*key))
    return code::node_key_algorithm;
  // An AK certifies a software key too, whatever that key claims to be; only
  // fixedTPM is out of its reach.
  if (!has_node_key_attributes(*key))
    return code::node_key_attributes;
  if (!is_key_of(csr_der, *key))
    return code::node_key_csr;
  return std::nullopt;
}

std::optional<code> check_renewal(
    const std::vector<std::string>& statements,
    const std::optional<key_attestation>& evidence, byte_view csr_der) {
  auto count = std::ranges::count_if(statements, is_ak_statement);
  if (count == 0)
    return std::nullopt;
  if (!evidence)
    return code::key_attestation_missing;
  auto ak = parse_public(evidence->ak_public);
  if (count != 1 || !ak ||
      *std::ranges::find_if(statements, is_ak_statement) !=
          ak_statement(name_of(*ak, evidence->ak_public)) ||
      check_ak(*ak))
    return code::key_attestation_ak;
  return verify_key_attestation(*evidence, csr_der);
}

}  // namespace bc::pki::tpm
