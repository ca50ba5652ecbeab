// spec: ATTESTATION sections 2.5 and 2.7; CASES 123
#include "base/encoding.hpp"
#include "pki/digest.hpp"
#include "pki/ecdsa.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/key_attestation.hpp"
#include "pki/tpm/key_rules.hpp"
#include "pki/tpm/verify.hpp"
#include "tests/support/soft_tpm.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki::tpm;
using namespace bc::testing;

namespace {

struct row {
  const char* what;
  std::function<void(certification&)> before;
  std::function<void(key_attestation&)> after;
  std::optional<code> expected;
};

void keep(certification&) {}
void leave(key_attestation&) {}

ecc_parameters& ecc_of(public_area& a) {
  return std::get<ecc_parameters>(a.parameters);
}

const row rows[] = {
    {"as it should be", keep, leave, {}},
    {"no AK", keep, [](auto& e) { e.ak_public.clear(); },
     code::node_key_missing},
    {"no key", keep, [](auto& e) { e.node_key_public.clear(); },
     code::node_key_missing},
    {"no attest", keep, [](auto& e) { e.certify_info.clear(); },
     code::node_key_missing},
    {"no signature", keep, [](auto& e) { e.signature.clear(); },
     code::node_key_missing},
    {"a byte behind the key", keep,
     [](auto& e) { e.node_key_public.push_back(0); }, code::node_key_malformed},
    {"a byte behind the attest", keep,
     [](auto& e) { e.certify_info.push_back(0); }, code::node_key_malformed},
    {"a byte behind the signature", keep,
     [](auto& e) { e.signature.push_back(0); }, code::node_key_malformed},
    {"a byte behind the AK", keep, [](auto& e) { e.ak_public.push_back(0); },
     code::node_key_malformed},
    {"another magic",
     [](auto& c) { c.change_attest = [](attest& a) { a.magic = 0xff544348; }; },
     leave, code::node_key_magic},
    {"a quote",
     [](auto& c) {
       c.change_attest = [](attest& a) {
         a.type = 0x8018;
         a.other = bytes(40);
       };
     },
     leave, code::node_key_type},
    {"a creation",
     [](auto& c) { c.change_attest = [](attest& a) { a.type = 0x801a; }; },
     leave, code::node_key_type},
    {"endorsement hierarchy",
     [](auto& c) { c.hierarchy = hierarchy::endorsement; },
     leave,
     {}},
    {"null hierarchy", [](auto& c) { c.hierarchy = 0x40000007; }, leave,
     code::node_key_signer},
    {"platform hierarchy", [](auto& c) { c.hierarchy = 0x4000000c; }, leave,
     code::node_key_signer},
    {"an AK that is someone's child",
     [](auto& c) {
       c.change_attest = [&c](attest& a) {
         auto parent = make_ek(key_kind::p256).name();
         auto qualified = qualified_name_of_primary(hierarchy::owner, parent);
         bytes both = qualified;
         put(both, c.ak.name());
         a.qualified_signer = {0, alg::sha256};
         put(a.qualified_signer, pki::sha256(both));
       };
     },
     leave, code::node_key_signer},
    {"no signer",
     [](auto& c) {
       c.change_attest = [](attest& a) { a.qualified_signer.clear(); };
     },
     leave, code::node_key_signer},
    {"the AK's Name alone as signer",
     [](auto& c) {
       c.change_attest = [&c](attest& a) { a.qualified_signer = c.ak.name(); };
     },
     leave, code::node_key_signer},
    {"bound to another CSR",
     [](auto& c) {
       c.change_attest = [](attest& a) { a.extra_data[31] ^= 1; };
     },
     leave, code::node_key_binding},
    {"bound to nothing",
     [](auto& c) { c.change_attest = [](attest& a) { a.extra_data = {}; }; },
     leave, code::node_key_binding},
    {"bound to a hash and more",
     [](auto& c) {
       c.change_attest = [](attest& a) { a.extra_data.push_back(0); };
     },
     leave, code::node_key_binding},
    {"the Name of another key",
     [](auto& c) { c.change_attest = [](attest& a) { a.name.back() ^= 1; }; },
     leave, code::node_key_name},
    {"the same digest under another algorithm",
     [](auto& c) {
       c.change_attest = [](attest& a) { a.name[1] = alg::sha1; };
     },
     leave, code::node_key_name},
    {"a digest without its algorithm",
     [](auto& c) {
       c.change_attest = [](attest& a) {
         a.name.erase(a.name.begin(), a.name.begin() + 2);
       };
     },
     leave, code::node_key_name},
    {"a key without a Name",
     [](auto& c) {
       c.area.name_alg = alg::null;
       c.change_attest = [](attest& a) { a.name = {}; };
     },
     leave, code::node_key_name},
    {"attributes changed after certification", keep,
     [](auto& e) { e.node_key_public[7] ^= 0x80; }, code::node_key_name},
    {"a changed signature",
     [](auto& c) { c.change_signature = [](signature& s) { s.r[5] ^= 1; }; },
     leave, code::node_key_signature},
    {"clock changed after signing", keep,
     [](auto& e) {
       auto a = *parse_attest(e.certify_info);
       a.clock_info[3] ^= 1;
       e.certify_info = encode(a);
     },
     code::node_key_signature},
    {"another scheme named",
     [](auto& c) {
       c.change_signature = [](signature& s) { s.algorithm = alg::ecschnorr; };
     },
     leave, code::node_key_signature},
    {"another hash named",
     [](auto& c) {
       c.change_signature = [](signature& s) { s.hash = alg::sha1; };
     },
     leave, code::node_key_signature},
    {"no signature at all",
     [](auto& c) { c.change_signature = [](signature& s) { s = {}; }; }, leave,
     code::node_key_signature},
    {"an HMAC",
     [](auto& c) {
       c.change_signature = [](signature& s) {
         s = {};
         s.algorithm = alg::hmac;
         s.hash = alg::sha256;
         s.digest = bytes(32);
       };
     },
     leave, code::node_key_signature},
    {"r and s of zero",
     [](auto& c) {
       c.change_signature = [](signature& s) { s.r = s.s = bytes(32); };
     },
     leave, code::node_key_signature},
    {"r longer than the order",
     [](auto& c) {
       c.change_signature = [](signature& s) { s.r.insert(s.r.begin(), 1); };
     },
     leave, code::node_key_signature},
    {"leading zeros",
     [](auto& c) {
       c.change_signature = [](signature& s) { s.r.insert(s.r.begin(), 3, 0); };
     },
     leave,
     {}},
    {"no scheme of its own",
     [](auto& c) { ecc_of(c.area).scheme = {}; },
     leave,
     {}},
    {"Name by SHA-384",
     [](auto& c) { c.area.name_alg = alg::sha384; },
     leave,
     {}},
    {"Name by SHA-1", [](auto& c) { c.area.name_alg = alg::sha1; }, leave,
     code::node_key_algorithm},
    {"ECDSA with SHA-384",
     [](auto& c) { ecc_of(c.area).scheme.hash = alg::sha384; }, leave,
     code::node_key_algorithm},
    {"ECDH",
     [](auto& c) {
       ecc_of(c.area).scheme = {alg::ecdh, alg::sha256};
     },
     leave, code::node_key_algorithm},
    {"P-384", [](auto& c) { ecc_of(c.area).curve = curve::p384; }, leave,
     code::node_key_algorithm},
    {"an RSA key", [](auto& c) { c.area = make_ak(key_kind::rsa_2048).area; },
     leave, code::node_key_algorithm},
    {"a cipher",
     [](auto& c) {
       ecc_of(c.area).symmetric = {alg::aes, 128, alg::cfb};
     },
     leave, code::node_key_algorithm},
    {"another key's CSR",
     [](auto& c) { c.csr = pki::build_csr(pki::private_key::generate()); },
     leave, code::node_key_csr},
    {"a CSR that is none", [](auto& c) { c.csr = bytes(100, 0x30); }, leave,
     code::node_key_csr},
    {"a CSR whose signature does not fit", [](auto& c) { c.csr.back() ^= 1; },
     leave, code::node_key_csr},
};

}  // namespace

TEST_CASE("tpm node key: each row of the table has its code (case 123)") {
  for (const auto& r : rows) {
    certification c;
    r.before(c);
    auto e = c.make();
    r.after(e);
    INFO(r.what);
    CHECK(verify_key_attestation(e, c.csr) == r.expected);
  }
}

TEST_CASE("tpm node key: every kind of AK certifies") {
  for (auto kind : {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256,
                    key_kind::p384}) {
    certification c;
    c.ak = make_ak(kind);
    auto e = c.make();
    CHECK_FALSE(verify_key_attestation(e, c.csr));
    auto s = *parse_signature(e.signature);
    auto& number = s.rsa.empty() ? s.s : s.rsa;
    number.back() ^= 1;
    e.signature = encode(s);
    CHECK(verify_key_attestation(e, c.csr) == code::node_key_signature);
  }
}

TEST_CASE("tpm node key: each attribute bit, flipped (case 123)") {
  using namespace attribute;
  constexpr auto judged = fixed_tpm | fixed_parent | sensitive_data_origin |
                          sign | restricted | decrypt | encrypted_duplication;
  for (int i = 0; i < 32; ++i) {
    auto bit = 1u << i;
    certification c;
    c.area.attributes ^= bit;
    INFO("bit " << i);
    auto verdict = verify_key_attestation(c.make(), c.csr);
    if ((bit & defined) == 0)
      CHECK(verdict == code::node_key_malformed);
    else if ((bit & judged) != 0)
      CHECK(verdict == code::node_key_attributes);
    else
      CHECK_FALSE(verdict);
  }
}

// The attest as the AK signed it is judged field by field; afterwards each bit
// of it is under the signature.
TEST_CASE("tpm node key: no bit of the attest can be changed after signing") {
  certification c;
  auto good = c.make();
  for (std::size_t at = 0; at < good.certify_info.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      auto e = good;
      e.certify_info[at] =
          static_cast<std::uint8_t>(e.certify_info[at] ^ (1 << bit));
      CHECK(verify_key_attestation(e, c.csr));
    }
}

TEST_CASE("tpm attack: a foreign AK's word for this machine (case 123)") {
  certification c;
  auto e = c.make();
  e.ak_public = make_ak(key_kind::p256, 1).encoded();
  CHECK(verify_key_attestation(e, c.csr) == code::node_key_signer);
  // With its own name written in, its signature fails.
  certification foreign;
  foreign.ak.key = make_ak(key_kind::p256, 1).key;
  CHECK(verify_key_attestation(foreign.make(), foreign.csr) ==
        code::node_key_signature);
}

TEST_CASE("tpm attack: a software key certified by a good AK (case 123)") {
  certification c;
  // What TPM2_LoadExternal takes: it never has fixedTPM or fixedParent, but
  // may claim sensitiveDataOrigin.
  c.area.attributes = attribute::sign | attribute::user_with_auth |
                      attribute::sensitive_data_origin;
  CHECK(verify_key_attestation(c.make(), c.csr) == code::node_key_attributes);
}

TEST_CASE("tpm attack: an AK that signs anything (case 123)") {
  certification c;
  c.ak.area.attributes &= ~attribute::restricted;
  // Its forged certification is in order, so the AK itself must be judged.
  CHECK_FALSE(verify_key_attestation(c.make(), c.csr));
  CHECK(check_ak(c.ak.area) == code::ak_attributes);
}

TEST_CASE("tpm attack: a signature of another scheme (case 123)") {
  auto rsa = make_ak(key_kind::rsa_2048);
  auto message = as_bytes("message");
  auto s = sign_with(rsa, message);
  CHECK(verifies(rsa.area, s, message));
  // The key's scheme is RSAPSS: an RSASSA signature is none, whatever it says.
  auto pss = rsa.area;
  std::get<rsa_parameters>(pss.parameters).scheme.algorithm = alg::rsapss;
  CHECK_FALSE(verifies(pss, s, message));
  s.algorithm = alg::rsapss;
  CHECK_FALSE(verifies(pss, s, message));
  CHECK_FALSE(verifies(rsa.area, s, message));
  auto none = rsa.area;
  std::get<rsa_parameters>(none.parameters).scheme = {};
  CHECK_FALSE(verifies(none, signature{}, message));
}

TEST_CASE("tpm signature: short numbers are the numbers they are") {
  auto ak = make_ak(key_kind::p256);
  int shortened = 0;
  for (int i = 0; i < 2000; ++i) {
    bytes message{static_cast<std::uint8_t>(i),
                  static_cast<std::uint8_t>(i >> 8)};
    auto s = sign_with(ak, message);
    if (s.r[0] != 0 && s.s[0] != 0)
      continue;
    s.r = to_bytes(significant(s.r));
    s.s = to_bytes(significant(s.s));
    CHECK(verifies(ak.area, s, message));
    ++shortened;
  }
  CHECK(shortened > 0);
}

TEST_CASE(
    "tpm renewal: a leaf that names an AK is never downgraded (case 123)") {
  certification c;
  auto own = ak_statement(c.ak.name());
  auto other = ak_statement(make_ak(key_kind::p256, 1).name());
  auto good = c.make();

  CHECK_FALSE(check_renewal({own}, good, c.csr));
  CHECK_FALSE(check_renewal({"urn:bc:other:1", own}, good, c.csr));
  // No statement: attested or not, it is nobody's matter.
  CHECK_FALSE(check_renewal({}, good, c.csr));
  CHECK_FALSE(check_renewal({"urn:bc:other:1"}, std::nullopt, c.csr));
  CHECK_FALSE(check_renewal({}, key_attestation{}, c.csr));

  CHECK(check_renewal({own}, std::nullopt, c.csr) ==
        code::key_attestation_missing);
  CHECK(check_renewal({own, other}, std::nullopt, c.csr) ==
        code::key_attestation_missing);
  CHECK(check_renewal({other}, good, c.csr) == code::key_attestation_ak);
  CHECK(check_renewal({own, other}, good, c.csr) == code::key_attestation_ak);
  CHECK(check_renewal({own, own}, good, c.csr) == code::key_attestation_ak);
  CHECK(check_renewal({"urn:bc:tpm-ak:sha256:00"}, good, c.csr) ==
        code::key_attestation_ak);
  CHECK(check_renewal({own}, key_attestation{}, c.csr) ==
        code::key_attestation_ak);

  auto upper = own;
  for (auto& ch : upper)
    if (ch >= 'a' && ch <= 'f' && &ch - upper.data() > 21)
      ch = static_cast<char>(ch - 'a' + 'A');
  if (upper != own)
    CHECK(check_renewal({upper}, good, c.csr) == code::key_attestation_ak);

  certification elsewhere;
  CHECK(check_renewal({own}, elsewhere.make(), c.csr) ==
        code::node_key_binding);
  auto partial = good;
  partial.signature.clear();
  CHECK(check_renewal({own}, partial, c.csr) == code::node_key_missing);
}

TEST_CASE("tpm renewal: an AK that would not be taken now is refused") {
  certification c;
  c.ak.area.attributes &= ~attribute::restricted;
  auto own = ak_statement(c.ak.name());
  CHECK(check_renewal({own}, c.make(), c.csr) == code::key_attestation_ak);
}
