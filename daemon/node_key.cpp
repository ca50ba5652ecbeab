#include "daemon/node_key.hpp"

#include "pki/csr.hpp"
#include "pki/tpm/key_file.hpp"

namespace bc::daemon {

result<pki::raw_signature> node_key::tpm_half::sign(
    const pki::sha256_digest& digest) const {
  if (!keeper)
    return fail(errc::unavailable, "the node's key is in a TPM");
  return keeper->sign(blobs, digest);
}

result<node_key> node_key::in_tpm(tpm::key_blobs blobs,
                                  std::shared_ptr<tpm::key_keeper> keeper) {
  BC_TRY(pub, tpm::public_key_of(blobs));
  return node_key{tpm_half{std::move(blobs), pub, std::move(keeper)}};
}

result<node_key> node_key::read(std::string_view text,
                                std::shared_ptr<tpm::key_keeper> keeper) {
  if (pki::tpm::is_key_file(text)) {
    BC_TRY(blobs, pki::tpm::read_key_file(text));
    return in_tpm(std::move(blobs), std::move(keeper));
  }
  BC_TRY(key, pki::private_key::from_pkcs8_pem(text));
  return node_key{std::move(key)};
}

const pki::public_key& node_key::pub() const noexcept {
  if (const auto* half = std::get_if<tpm_half>(&half_))
    return half->pub;
  return std::get<pki::private_key>(half_).pub();
}

const tpm::key_blobs* node_key::blobs() const noexcept {
  const auto* half = std::get_if<tpm_half>(&half_);
  return half == nullptr ? nullptr : &half->blobs;
}

secret_bytes node_key::file_text() const {
  if (const auto* half = std::get_if<tpm_half>(&half_))
    return secret_bytes{pki::tpm::key_file_of(half->blobs)};
  return std::get<pki::private_key>(half_).pkcs8_pem();
}

result<pki::raw_signature> node_key::sign(
    const pki::sha256_digest& digest) const {
  if (const auto* half = std::get_if<tpm_half>(&half_))
    return half->sign(digest);
  return std::get<pki::private_key>(half_).sign(digest);
}

result<pki::raw_signature> node_key::sign(
    pki::purpose p, std::initializer_list<byte_view> fields) const {
  return sign(pki::signing_input(p, fields));
}

result<bytes> node_key::csr() const {
  const auto info = pki::csr_info(pub());
  BC_TRY(signature, sign(pki::sha256(info)));
  return pki::assemble_csr(info, signature);
}

pki::evp_pkey_handle node_key::evp(
    std::function<void(const fault&)> failed) const {
  const auto* half = std::get_if<tpm_half>(&half_);
  if (half == nullptr)
    return pki::evp_key(std::get<pki::private_key>(half_));
  return pki::outside_key(half->pub, [half = *half, failed = std::move(failed)](
                                         const pki::sha256_digest& digest) {
    auto made = half.sign(digest);
    if (!made && failed)
      failed(made.error());
    return made;
  });
}

node_key node_key::clone() const {
  if (const auto* half = std::get_if<tpm_half>(&half_))
    return node_key{tpm_half{*half}};
  return node_key{std::get<pki::private_key>(half_).clone()};
}

}  // namespace bc::daemon
