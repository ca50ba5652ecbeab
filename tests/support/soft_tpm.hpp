#pragma once

#include "base/secret_bytes.hpp"
#include "pki/csr.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/key_attestation.hpp"
#include "pki/tpm/structures.hpp"

#include <openssl/evp.h>

#include <functional>
#include <memory>
#include <optional>

/// A TPM of software: keys whose publics look like a TPM's, its activation and
/// its certifications, with any field changed on the way.
namespace bc::testing {

struct evp_pkey_free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using soft_pkey = std::shared_ptr<EVP_PKEY>;

enum class key_kind { rsa_2048, rsa_3072, p256, p384 };

/// A key of that kind; the same for the same number in one process.
[[nodiscard]] soft_pkey soft_pkey_of(key_kind kind, int number = 0);

/// A private key and the public area that goes with it.
struct soft_key {
  soft_pkey key;
  pki::tpm::public_area area;

  [[nodiscard]] bytes encoded() const { return pki::tpm::encode(area); }
  [[nodiscard]] bytes name() const {
    return pki::tpm::name_of(area, encoded());
  }
};

/// As the low range of templates makes it.
[[nodiscard]] soft_key make_ek(key_kind kind, int number = 0);
/// A primary of the owner hierarchy by our template; P-256 or P-384 with
/// ECDSA, RSA-2048 with RSASSA.
[[nodiscard]] soft_key make_ak(key_kind kind, int number = 0);
/// The public area of a node's key in the TPM: ECC P-256, signing.
[[nodiscard]] pki::tpm::public_area node_key_area(const pki::public_key& key);

/// What TPM2_ActivateCredential gives: nullopt where a TPM would refuse.
[[nodiscard]] std::optional<bytes> activate(const soft_key& ek,
                                            byte_view object_name,
                                            byte_view credential_blob,
                                            byte_view encrypted_secret);

/// TPMT_SIGNATURE over the message by the key's own scheme.
[[nodiscard]] pki::tpm::signature sign_with(const soft_key& ak,
                                            byte_view message);

/// A node's key, its CSR and its certification; each part may be changed
/// before what depends on it is made.
struct certification {
  soft_key ak = make_ak(key_kind::p256);
  pki::private_key node_key = pki::private_key::generate();
  bytes csr = pki::build_csr(node_key);
  pki::tpm::public_area area = node_key_area(node_key.pub());
  std::uint32_t hierarchy = pki::tpm::hierarchy::owner;
  std::function<void(pki::tpm::attest&)> change_attest = [](auto&) {};
  std::function<void(pki::tpm::signature&)> change_signature = [](auto&) {};

  [[nodiscard]] pki::tpm::key_attestation make() const;
};

}  // namespace bc::testing
