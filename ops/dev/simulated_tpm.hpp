#pragma once

#include "daemon/tpm/key_keeper.hpp"
#include "pki/key.hpp"

#include <array>
#include <cstdint>

namespace bc::dev {

/// A TPM that is made up, for a machine that is: its EK (P-256, without a
/// certificate) and its AK follow from the seed, so that it is the same at each
/// start; a node's key, whose "private area" is the bare scalar, is as safe as
/// the file it is in. To the server it looks like any TPM of software.
class simulated_tpm final : public daemon::tpm::attesting_keeper {
 public:
  explicit simulated_tpm(const std::array<std::uint8_t, 32>& seed);

  bool is_there() override { return true; }
  result<bytes> ak_public() override;
  result<daemon::tpm::key_blobs> create_node_key() override;
  result<pki::raw_signature> sign(const daemon::tpm::key_blobs& key,
                                  const pki::sha256_digest& digest) override;
  result<daemon::tpm::device::certified> certify(
      const daemon::tpm::key_blobs& key, byte_view csr_der) override;
  result<daemon::tpm::chosen_ek> choose_ek(
      const std::optional<std::string>& recorded) override;
  result<secret_bytes> activate(const daemon::tpm::chosen_ek& ek,
                                byte_view credential_blob,
                                byte_view encrypted_secret) override;

 private:
  struct primary {
    pki::private_key key;
    pki::tpm::public_area area;
  };
  const primary ek_;
  const primary ak_;
};

}  // namespace bc::dev
