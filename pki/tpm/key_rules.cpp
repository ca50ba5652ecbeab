#include "pki/tpm/key_rules.hpp"

#include "pki/tpm/evp.hpp"

namespace bc::pki::tpm {

namespace {

namespace at = attribute;

bool has_ek_parameters(const public_area& ek) {
  symmetric small{alg::aes, 128, alg::cfb}, large{alg::aes, 256, alg::cfb};
  bool is_small = ek.name_alg == alg::sha256;
  if (!is_small && ek.name_alg != alg::sha384)
    return false;
  const auto& cipher = is_small ? small : large;
  if (const auto* rsa = ek.rsa())
    return rsa->symmetric == cipher && rsa->scheme == scheme{} &&
           rsa->bits == (is_small ? 2048 : 3072);
  if (const auto* ecc = ek.ecc())
    return ecc->symmetric == cipher && ecc->scheme == scheme{} &&
           ecc->kdf == scheme{} &&
           ecc->curve == (is_small ? curve::p256 : curve::p384);
  return false;
}

// A signing key's scheme and what goes with it, for the AK.
bool has_ak_parameters(const public_area& ak) {
  if (ak.name_alg != alg::sha256 && ak.name_alg != alg::sha384)
    return false;
  if (const auto* rsa = ak.rsa())
    return rsa->symmetric == symmetric{} &&
           rsa->scheme == scheme{alg::rsassa, alg::sha256} &&
           rsa->bits >= 2048 && rsa->bits % 8 == 0;
  const auto* ecc = ak.ecc();
  if (ecc == nullptr || ecc->symmetric != symmetric{} || ecc->kdf != scheme{})
    return false;
  return (ecc->curve == curve::p256 &&
          ecc->scheme == scheme{alg::ecdsa, alg::sha256}) ||
         (ecc->curve == curve::p384 &&
          ecc->scheme == scheme{alg::ecdsa, alg::sha384});
}

}  // namespace

std::optional<code> check_ek(const public_area& ek) {
  // userWithAuth is free: clear in the low range of templates, set in the
  // high one.
  constexpr auto must = at::fixed_tpm | at::fixed_parent |
                        at::sensitive_data_origin | at::admin_with_policy |
                        at::restricted | at::decrypt;
  constexpr auto never = at::sign | at::encrypted_duplication;
  if (!has_ek_parameters(ek) || load_public(ek) == nullptr || !ek.has(must) ||
      ek.has_any(never))
    return code::ek_template;
  return std::nullopt;
}

std::optional<code> check_ak(const public_area& ak) {
  if (!has_ak_parameters(ak) || load_public(ak) == nullptr)
    return code::ak_algorithm;
  constexpr auto must = at::fixed_tpm | at::fixed_parent |
                        at::sensitive_data_origin | at::user_with_auth |
                        at::restricted | at::sign;
  constexpr auto never =
      at::decrypt | at::admin_with_policy | at::encrypted_duplication;
  if (!ak.has(must) || ak.has_any(never) || !ak.auth_policy.empty())
    return code::ak_attributes;
  return std::nullopt;
}

}  // namespace bc::pki::tpm
