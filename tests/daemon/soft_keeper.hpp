#pragma once

#include "daemon/machine_keys.hpp"
#include "pki/ecdsa.hpp"
#include "tests/support/soft_tpm.hpp"

#include <memory>
#include <string>
#include <vector>

/// A machine's TPM of software, which may go away, come back and be cleared.
namespace bc::testing {

class soft_keeper final : public daemon::tpm::attesting_keeper {
 public:
  using key_blobs = daemon::tpm::key_blobs;

  bool there = true;    // is_there()
  bool answers = true;  // else UNAVAILABLE
  bool signs = true;    // sign() alone
  bool has_ek = true;   // choose_ek()
  bool has_ecc = true;  // else it makes no key of ours
  int seed = 0;         // a clear counts it up: another AK, no old key loads
  int board = 0;        // a replaced TPM has another EK too
  std::vector<std::string> calls;

  bool is_there() override { return there; }

  result<bytes> ak_public() override {
    BC_TRYV(called("ak"));
    BC_TRYV(ecc());
    return ak().encoded();
  }

  result<key_blobs> create_node_key() override {
    BC_TRYV(called("create"));
    BC_TRYV(ecc());
    auto key = pki::private_key::generate();
    auto scalar = key.scalar();
    bytes hidden{static_cast<std::uint8_t>(seed)};
    hidden.insert(hidden.end(), scalar.expose().begin(), scalar.expose().end());
    return key_blobs{hidden, pki::tpm::encode(node_key_area(key.pub()))};
  }

  result<pki::raw_signature> sign(const key_blobs& key,
                                  const pki::sha256_digest& digest) override {
    BC_TRYV(called("sign"));
    if (!signs)
      return fail(errc::unavailable, "0x921 (TPM in lockout)");
    BC_TRY(opened, open(key));
    return opened.sign(digest);
  }

  result<daemon::tpm::device::certified> certify(const key_blobs& key,
                                                 byte_view csr) override {
    BC_TRYV(called("certify"));
    BC_TRY(opened, open(key));
    auto pub = opened.pub();
    auto made = certification{.ak = ak(),
                              .node_key = std::move(opened),
                              .csr = to_bytes(csr),
                              .area = node_key_area(pub)}
                    .make();
    return daemon::tpm::device::certified{made.certify_info, made.signature};
  }

  result<daemon::tpm::chosen_ek> choose_ek(
      const std::optional<std::string>& recorded) override {
    BC_TRYV(called("ek " + recorded.value_or("-")));
    if (!has_ek)
      return fail(errc::invalid_state, "this TPM makes no EK");
    if (recorded && *recorded != "p256")
      return fail(errc::invalid_state,
                  "this TPM makes no EK of kind " + *recorded);
    return daemon::tpm::chosen_ek{"p256", ek().encoded(), {}, {}, {}};
  }

  result<secret_bytes> activate(const daemon::tpm::chosen_ek& chosen,
                                byte_view blob, byte_view secret) override {
    BC_TRYV(called("activate"));
    auto got = chosen.public_area == ek().encoded()
                   ? testing::activate(ek(), ak().name(), blob, secret)
                   : std::nullopt;
    if (!got)
      return fail(errc::invalid_state, "0x1df (integrity)");
    return secret_bytes{std::move(*got)};
  }

  [[nodiscard]] soft_key ak() const {
    return make_ak(key_kind::p256, 100 + seed + 10 * board);
  }
  [[nodiscard]] soft_key ek() const {
    return make_ek(key_kind::p256, 100 + board);
  }
  [[nodiscard]] std::string statement() const {
    return pki::tpm::ak_statement(ak().name());
  }
  [[nodiscard]] int called_so_far(const std::string& what) const {
    int out = 0;
    for (const auto& call : calls)
      out += call == what ? 1 : 0;
    return out;
  }

 private:
  [[nodiscard]] result<void> ecc() const {
    if (has_ecc)
      return ok();
    return fail(errc::invalid_state,
                "the TPM answered 0x2a6 (the TPM does not have this kind of "
                "key)");
  }

  result<void> called(const std::string& what) {
    calls.push_back(what);
    if (!answers)
      return fail(errc::unavailable, "/dev/tpmrm0: No such device");
    return ok();
  }

  result<pki::private_key> open(const key_blobs& key) const {
    if (key.private_area.size() != 33 || key.private_area[0] != seed)
      return fail(errc::invalid_state, "0x1df (integrity): cleared");
    return pki::private_key::from_scalar(
        byte_view{key.private_area}.subspan(1));
  }
};

}  // namespace bc::testing
