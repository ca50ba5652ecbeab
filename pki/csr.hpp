#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "pki/key.hpp"

namespace bc::pki {

/// A PKCS#10 request (RFC 2986) of version 0 for the key, subject
/// CN=better-compute-node, no attributes, ecdsa-with-SHA256.
[[nodiscard]] bytes build_csr(const private_key& key);

/// The two halves of build_csr, for a key that signs elsewhere: what is signed
/// (over its SHA-256), and the request with that signature.
[[nodiscard]] bytes csr_info(const public_key& key);
[[nodiscard]] bytes assemble_csr(byte_view info,
                                 const raw_signature& signature);

/// A request whose form was checked; nothing but the key is taken from it.
struct csr {
  public_key key;
  sha256_digest tbs_sha256;  // over certificationRequestInfo as received
  bytes signature;           // DER ECDSA-Sig-Value
};

/// Strict DER, at most 4 KiB: version 0, id-ecPublicKey with the named curve
/// prime256v1, uncompressed point on the curve, ecdsa-with-SHA256, minimal
/// lengths, no trailing bytes. Any subject and attributes are skipped after
/// their form is checked. Else INVALID_INPUT.
[[nodiscard]] result<csr> parse_csr(byte_view der);

/// The proof of possession: the request is signed by its own key.
[[nodiscard]] bool self_signature_verifies(const csr& request);

}  // namespace bc::pki
