#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "daemon/tpm/transport.hpp"
#include "pki/tpm/key_file.hpp"
#include "pki/tpm/structures.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bc::daemon::tpm {

using handle = std::uint32_t;

/// What a response code of a TPM means for a person: "0x921 (TPM in lockout)".
[[nodiscard]] std::string response_text(std::uint32_t code);

/// Whether the code says that the TPM knows no key of the template's kind: an
/// algorithm, size, curve or attribute. It says so whenever it is asked.
[[nodiscard]] bool lacks_kind(std::uint32_t code) noexcept;
/// Whether the code is of an NV index's own state: it is not there, was never
/// written, or is not read by its own empty authorisation.
[[nodiscard]] bool is_of_index(std::uint32_t code) noexcept;

/// The commands of TPM 2.0 that we send (part 3 of the library). A response
/// code is UNAVAILABLE for what may pass (each warning: memory, lockout), else
/// INVALID_STATE; its text is response_text. Warnings that ask for a retry are
/// retried.
class device {
 public:
  explicit device(std::unique_ptr<transport> t) : transport_(std::move(t)) {}

  struct created {
    handle at = 0;
    bytes public_area;  // TPMT_PUBLIC
  };
  using key_blobs = pki::tpm::key_blobs;
  struct certified {
    bytes info;       // TPMS_ATTEST
    bytes signature;  // TPMT_SIGNATURE
  };

  [[nodiscard]] result<created> create_primary(
      handle hierarchy, const secret_bytes& auth,
      const pki::tpm::public_area& from);
  [[nodiscard]] result<key_blobs> create(handle parent,
                                         const pki::tpm::public_area& from);
  [[nodiscard]] result<handle> load(handle parent, const key_blobs& key);
  [[nodiscard]] result<void> flush(handle object);
  /// TPMT_PUBLIC of an object that is in the TPM.
  [[nodiscard]] result<bytes> read_public(handle object);

  [[nodiscard]] result<certified> certify(handle key, handle ak,
                                          byte_view qualifying);
  /// TPMT_SIGNATURE over a SHA-256 digest made outside the TPM.
  [[nodiscard]] result<bytes> sign(handle key, byte_view digest);
  /// A session that PolicySecret(endorsement) satisfied.
  [[nodiscard]] result<handle> endorsement_session(
      std::uint16_t hash, const secret_bytes& endorsement_auth);
  /// Both inputs are whole TPM2Bs; without a session the EK goes by its own
  /// empty authorisation.
  [[nodiscard]] result<secret_bytes> activate(handle ak, handle ek,
                                              handle session,
                                              byte_view credential_blob,
                                              byte_view encrypted_secret);

  /// Handles of a range that exist, from `first` on.
  [[nodiscard]] result<std::vector<handle>> handles(handle first);
  /// A TPM_PT of part 2; nullopt where the TPM does not say.
  [[nodiscard]] result<std::optional<std::uint32_t>> property(
      std::uint32_t which);
  /// TPM_PT_NV_BUFFER_MAX, and 512 where the TPM does not say.
  [[nodiscard]] result<std::size_t> most_read();
  /// The whole index, read by its own empty authorisation.
  [[nodiscard]] result<bytes> read_index(handle index, std::size_t most);

  /// The code of the last response; 0 when there was none.
  [[nodiscard]] std::uint32_t last_code() const noexcept { return last_code_; }

 private:
  struct answer {
    handle at = 0;
    secret_bytes parameters;
  };
  struct session {
    handle which;
    byte_view auth = {};
  };
  [[nodiscard]] result<answer> send(std::uint32_t command,
                                    std::vector<handle> handles,
                                    std::vector<session> sessions,
                                    byte_view parameters,
                                    bool answers_handle = false);
  [[nodiscard]] result<secret_bytes> exchange(byte_view packet);

  std::unique_ptr<transport> transport_;
  std::uint32_t last_code_ = 0;
};

/// An object or session that is flushed when it is no longer held, so that
/// nothing is left in the TPM's few slots.
class held {
 public:
  held(device& d, handle at) : device_(&d), at_(at) {}
  held(held&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), at_(other.at_) {}
  held& operator=(held&&) = delete;
  ~held() {
    if (device_ != nullptr)
      (void)device_->flush(at_);
  }
  [[nodiscard]] handle at() const noexcept { return at_; }

 private:
  device* device_;
  handle at_;
};

}  // namespace bc::daemon::tpm
