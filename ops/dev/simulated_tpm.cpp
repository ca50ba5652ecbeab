#include "ops/dev/simulated_tpm.hpp"

#include "pki/digest.hpp"
#include "pki/tpm/credential.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/templates.hpp"

#include <string_view>
#include <utility>

namespace bc::dev {

namespace {

namespace tpm = pki::tpm;

constexpr std::string_view ek_kind = "p256";

// One digest in 2^32 is no scalar.
pki::private_key key_of(const std::array<std::uint8_t, 32>& seed,
                        std::string_view what) {
  for (std::uint8_t n = 0;; ++n) {
    pki::field_hash hash;
    hash.add("bc-simulated-tpm").add(what).add(seed).add(bytes{n});
    auto key = pki::private_key::from_scalar(std::move(hash).finish());
    if (key)
      return std::move(key).value();
  }
}

tpm::public_area with_point(tpm::public_area area, const pki::public_key& key) {
  auto& ecc = std::get<tpm::ecc_parameters>(area.parameters);
  const byte_view point{key.sec1()};
  ecc.x = to_bytes(point.subspan(1, 32));
  ecc.y = to_bytes(point.subspan(33, 32));
  return area;
}

bytes name_of(const tpm::public_area& area) {
  return tpm::name_of(area, tpm::encode(area));
}

result<pki::private_key> private_of(const daemon::tpm::key_blobs& key) {
  return pki::private_key::from_scalar(key.private_area);
}

}  // namespace

simulated_tpm::simulated_tpm(const std::array<std::uint8_t, 32>& seed)
    : ek_([&seed] {
        auto key = key_of(seed, "ek");
        auto area = with_point(*tpm::ek_template(ek_kind), key.pub());
        return primary{std::move(key), std::move(area)};
      }()),
      ak_([&seed] {
        auto key = key_of(seed, "ak");
        auto area = with_point(tpm::ak_template(), key.pub());
        return primary{std::move(key), std::move(area)};
      }()) {}

result<bytes> simulated_tpm::ak_public() {
  return tpm::encode(ak_.area);
}

result<daemon::tpm::key_blobs> simulated_tpm::create_node_key() {
  const auto key = pki::private_key::generate();
  daemon::tpm::key_blobs out;
  out.private_area = to_bytes(key.scalar().expose());
  out.public_area =
      tpm::encode(with_point(tpm::node_key_template(), key.pub()));
  return out;
}

result<pki::raw_signature> simulated_tpm::sign(
    const daemon::tpm::key_blobs& key, const pki::sha256_digest& digest) {
  BC_TRY(own, private_of(key));
  return own.sign(digest);
}

result<daemon::tpm::device::certified> simulated_tpm::certify(
    const daemon::tpm::key_blobs& key, byte_view csr_der) {
  auto area = tpm::parse_public(key.public_area);
  if (!area)
    return fail(errc::invalid_state, "no key of this TPM");
  tpm::attest a;
  a.magic = tpm::generated;
  a.type = tpm::attest_certify;
  a.qualified_signer =
      tpm::qualified_name_of_primary(tpm::hierarchy::owner, name_of(ak_.area));
  a.extra_data = to_bytes(pki::sha256(csr_der));
  a.clock_info = bytes(17);
  a.name = tpm::name_of(*area, key.public_area);
  a.qualified_name = a.name;
  daemon::tpm::device::certified out;
  out.info = tpm::encode(a);
  const auto raw = ak_.key.sign(pki::sha256(out.info));
  const byte_view both{raw};
  tpm::signature s;
  s.algorithm = tpm::alg::ecdsa;
  s.hash = tpm::alg::sha256;
  s.r = to_bytes(both.first(32));
  s.s = to_bytes(both.subspan(32));
  out.signature = tpm::encode(s);
  return out;
}

result<daemon::tpm::chosen_ek> simulated_tpm::choose_ek(
    const std::optional<std::string>& recorded) {
  if (recorded && *recorded != ek_kind)
    return fail(errc::invalid_state, "the TPM makes no EK " + *recorded);
  daemon::tpm::chosen_ek out;
  out.kind = ek_kind;
  out.public_area = tpm::encode(ek_.area);
  return out;
}

result<secret_bytes> simulated_tpm::activate(const daemon::tpm::chosen_ek&,
                                             byte_view credential_blob,
                                             byte_view encrypted_secret) {
  auto opened = tpm::open_credential(
      ek_.area, ek_.key, name_of(ak_.area),
      {to_bytes(credential_blob), to_bytes(encrypted_secret)});
  if (!opened)
    return fail(errc::invalid_state, "the TPM does not open the challenge");
  return std::move(*opened);
}

}  // namespace bc::dev
