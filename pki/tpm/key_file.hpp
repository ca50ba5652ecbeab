#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bc::pki::tpm {

/// A key that only its TPM can load, under the storage root of the owner
/// hierarchy (templates.hpp).
struct key_blobs {
  bytes private_area = {};  // the content of TPM2B_PRIVATE
  bytes public_area = {};   // TPMT_PUBLIC
  bool operator==(const key_blobs&) const = default;
};

/// "TSS2 PRIVATE KEY", an ASN.1 TPMKey of kind loadable (2.23.133.10.1.3),
/// without authorisation: what other programs on TPM keys read too.
[[nodiscard]] std::string key_file_of(const key_blobs& key);

/// INVALID_INPUT for any other text, kind or parent, a password or a policy,
/// or a public area that is none.
[[nodiscard]] result<key_blobs> read_key_file(std::string_view pem);

/// True for a text that begins as such a file does: then it is no PKCS#8.
[[nodiscard]] bool is_key_file(std::string_view text) noexcept;

}  // namespace bc::pki::tpm
