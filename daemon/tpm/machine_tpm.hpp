#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/tpm/device.hpp"
#include "daemon/tpm/ek_candidates.hpp"
#include "pki/key.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bc::daemon::tpm {

/// The EK this machine is known by.
struct chosen_ek {
  std::string kind;          // the name of an ek_candidate
  bytes public_area;         // TPMT_PUBLIC
  bytes certificate;         // DER; empty when there is none
  std::vector<bytes> chain;  // intermediates that the TPM holds
  /// Set when there is no certificate but one that is for no key of this TPM.
  std::string warning;
};

/// What a TPM says about itself, for a person.
struct tpm_facts {
  std::string manufacturer;  // four characters, for example "IBM"
  bool owner_has_password = false;
  bool endorsement_has_password = false;
  /// Of the dictionary attack protection, which bcd's own keys are outside of.
  bool in_lockout = false;
  /// Kinds of pki::tpm::ek_kinds for which there is a certificate.
  std::vector<std::string> certificates;
};

/// What bcd does with a machine's TPM (spec: ATTESTATION section 2.2). Keys are
/// derived or loaded for each call and flushed after it: between calls nothing
/// is in the TPM.
class machine_tpm {
 public:
  struct passwords {
    secret_bytes owner;
    secret_bytes endorsement;
  };
  machine_tpm(std::unique_ptr<transport> t, passwords p)
      : device_(std::move(t)), passwords_(std::move(p)) {}
  explicit machine_tpm(std::unique_ptr<transport> t)
      : machine_tpm(std::move(t), passwords{}) {}

  [[nodiscard]] result<tpm_facts> facts();

  /// The first candidate whose key is a certificate's, else RSA-2048 without
  /// one; with `recorded`, candidates of that name and no other. INVALID_STATE
  /// when the TPM cannot make it. Any fault but that a TPM lacks a kind ends
  /// the search: what comes after would be another machine.
  [[nodiscard]] result<chosen_ek> choose_ek(
      const std::optional<std::string>& recorded = std::nullopt);

  /// TPMT_PUBLIC of the AK, derived again.
  [[nodiscard]] result<bytes> ak_public();

  /// A new key for the node; its blobs are of use in this TPM alone.
  [[nodiscard]] result<device::key_blobs> create_node_key();
  /// INVALID_STATE when the blobs are of another TPM, or of this one before a
  /// clear.
  [[nodiscard]] result<pki::raw_signature> sign(const device::key_blobs& key,
                                                const pki::sha256_digest& d);
  /// PKCS#10 of the key, signed by it. ECDSA is random: made anew it has
  /// another hash, so whoever asks keeps what this gives.
  [[nodiscard]] result<bytes> csr(const device::key_blobs& key);

  [[nodiscard]] result<secret_bytes> activate(const chosen_ek& ek,
                                              byte_view credential_blob,
                                              byte_view encrypted_secret);
  /// The AK's word on the node's key, bound to the CSR.
  [[nodiscard]] result<device::certified> certify(const device::key_blobs& key,
                                                  byte_view csr_der);

 private:
  struct derived {
    held object;
    bytes public_area;
  };
  [[nodiscard]] result<derived> derive(handle hierarchy,
                                       const pki::tpm::public_area& from);
  [[nodiscard]] result<held> load(const device::key_blobs& key);
  /// An EK that is derived, or at its persistent handle.
  struct ek_key {
    std::optional<held> object;
    handle at = 0;
    bytes public_area;
  };
  [[nodiscard]] result<ek_key> open_ek(const ek_candidate& candidate);
  /// Whether it was not opened because this TPM lacks the kind.
  [[nodiscard]] bool is_lacked(const ek_candidate& candidate) const noexcept;
  /// Its TPMT_PUBLIC; nullopt when this TPM lacks the kind.
  [[nodiscard]] result<std::optional<bytes>> public_of(
      const ek_candidate& candidate);
  /// The one that was chosen, again.
  [[nodiscard]] result<ek_key> open_again(const chosen_ek& ek);

  device device_;
  passwords passwords_;
};

}  // namespace bc::daemon::tpm
