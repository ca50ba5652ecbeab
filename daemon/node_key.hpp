#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/tpm/key_keeper.hpp"
#include "pki/key.hpp"
#include "pki/outside_key.hpp"
#include "pki/signature.hpp"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <variant>

namespace bc::daemon {

/// A key of the node, wherever its private part is: in memory and a file, or in
/// the machine's TPM. What the TPM does blocks, and may fail as its keeper
/// does.
class node_key {
 public:
  node_key(pki::private_key key) : half_(std::move(key)) {}
  /// INVALID_INPUT for blobs of another kind of key.
  [[nodiscard]] static result<node_key> in_tpm(
      tpm::key_blobs blobs, std::shared_ptr<tpm::key_keeper> keeper);
  /// What file_text() gave: PKCS#8 PEM, or the TPM's blobs (pki/tpm/key_file);
  /// those need a keeper to sign. INVALID_INPUT for anything else.
  [[nodiscard]] static result<node_key> read(
      std::string_view text, std::shared_ptr<tpm::key_keeper> keeper);

  [[nodiscard]] const pki::public_key& pub() const noexcept;
  /// The blobs; null for a key that is here.
  [[nodiscard]] const tpm::key_blobs* blobs() const noexcept;
  [[nodiscard]] secret_bytes file_text() const;

  [[nodiscard]] result<pki::raw_signature> sign(
      const pki::sha256_digest& digest) const;
  [[nodiscard]] result<pki::raw_signature> sign(
      pki::purpose p, std::initializer_list<byte_view> fields) const;
  /// PKCS#10, made anew: another each time.
  [[nodiscard]] result<bytes> csr() const;
  /// For TLS: what it signs it signs on the thread of the handshake. `failed`
  /// is told why a signature of the TPM's did not come.
  [[nodiscard]] pki::evp_pkey_handle evp(
      std::function<void(const fault&)> failed) const;

  [[nodiscard]] node_key clone() const;

 private:
  struct tpm_half {
    tpm::key_blobs blobs;
    pki::public_key pub;
    std::shared_ptr<tpm::key_keeper> keeper;

    [[nodiscard]] result<pki::raw_signature> sign(
        const pki::sha256_digest& digest) const;
  };
  explicit node_key(tpm_half half) : half_(std::move(half)) {}

  std::variant<pki::private_key, tpm_half> half_;
};

}  // namespace bc::daemon
