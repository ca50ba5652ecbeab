// spec: ATTESTATION section 2.4 rows 5 to 8 and section 2.8; CASES 113,
// 118
#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/identity.hpp"
#include "tests/pki/support.hpp"
#include "tests/support/ek_certificates.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace bc;
using namespace bc::pki::tpm;
using namespace bc::testing;

namespace {

const time_point now = from_rfc3339("2026-11-29T12:00:00Z").value();

const ek_issuer& root() {
  static const auto one = make_ek_ca("Vendor root", 1);
  return one;
}

bytes good_certificate(key_kind kind = key_kind::rsa_2048,
                       const ek_options& o = {}) {
  return make_ek_certificate(make_ek(kind), root(), o);
}

std::optional<code> chain_of(const bytes& leaf, std::vector<bytes> roots,
                             std::vector<bytes> intermediates = {},
                             std::vector<bytes> sent = {},
                             time_point at = now) {
  auto read = ek_certificate::read(leaf);
  REQUIRE(read);
  return read->check_chain(roots, intermediates, sent, at);
}

std::optional<code> profile_of(key_kind kind, const ek_options& o) {
  auto read = ek_certificate::read(good_certificate(kind, o));
  REQUIRE(read);
  CHECK(read->is_for(make_ek(kind).area));
  return read->check_profile();
}

}  // namespace

TEST_CASE("tpm EK certificate: one for each kind of EK is good (case 120)") {
  for (auto kind : {key_kind::rsa_2048, key_kind::rsa_3072, key_kind::p256,
                    key_kind::p384}) {
    auto read = ek_certificate::read(good_certificate(kind));
    REQUIRE(read);
    CHECK(read->is_for(make_ek(kind).area));
    CHECK_FALSE(read->is_for(make_ek(kind, 1).area));
    CHECK_FALSE(read->check_profile());
    CHECK_FALSE(read->check_chain({root().certificate}, {}, {}, now));
    CHECK(read->identity() ==
          tpm_identity{"id:49465800", "SLB9670", "id:00070055"});
    CHECK(read->issuer() == "CN=Vendor root");
  }
}

// The Microsoft, Infineon and ST shapes: no subject, a critical SAN of a
// directory name alone, an EKU that is no TLS purpose.
TEST_CASE("tpm EK certificate: a critical SAN and no subject (case 118)") {
  ek_options o;
  o.common_name = "";
  o.san_critical = true;
  auto der = good_certificate(key_kind::rsa_2048, o);
  auto read = ek_certificate::read(der);
  REQUIRE(read);
  CHECK_FALSE(read->check_profile());
  CHECK_FALSE(chain_of(der, {root().certificate}));
}

TEST_CASE("tpm EK certificate: profiles") {
  struct row {
    const char* what;
    std::function<void(ek_options&)> change;
    std::optional<code> expected;
  };
  auto bad = code::ek_cert_profile;
  const row rows[] = {
      {"as it should be", [](auto&) {}, {}},
      {"with a subject", [](auto& o) { o.common_name = "EK"; }, {}},
      {"SAN not critical", [](auto& o) { o.san_critical = false; }, {}},
      {"no SAN", [](auto& o) { o.san = false; }, {}},
      {"no EKU", [](auto& o) { o.extended_key_usage = ""; }, {}},
      {"two EKUs",
       [](auto& o) { o.extended_key_usage = "clientAuth,2.23.133.8.1"; },
       {}},
      {"no key usage", [](auto& o) { o.key_usage = "none"; }, {}},
      {"no basic constraints", [](auto& o) { o.basic_constraints = ""; }, {}},
      {"RSAES-OAEP", [](auto& o) { o.oaep_oid = true; }, {}},
      {"version 1", [](auto& o) { o.version = 0; }, bad},
      {"a CA", [](auto& o) { o.basic_constraints = "critical,CA:TRUE"; }, bad},
      {"for TLS", [](auto& o) { o.extended_key_usage = "serverAuth"; }, bad},
      {"an AK's EKU", [](auto& o) { o.extended_key_usage = "2.23.133.8.3"; },
       bad},
      {"for signatures", [](auto& o) { o.key_usage = "digitalSignature"; },
       bad},
      {"for agreement, though RSA",
       [](auto& o) { o.key_usage = "keyAgreement"; }, bad},
      {"an unknown critical extension",
       [](auto& o) { o.unknown_critical = true; }, bad},
      {"a critical SAN with a DNS name", [](auto& o) { o.san_with_dns = true; },
       bad},
      {"the same, not critical",
       [](auto& o) {
         o.san_with_dns = true;
         o.san_critical = false;
       },
       {}},
      {"a critical SAN without a model",
       [](auto& o) { o.tpm_attributes.erase(o.tpm_attributes.begin() + 1); },
       bad},
      {"a critical SAN that cannot be shown",
       [](auto& o) { o.tpm_attributes[1].second = "a\nb"; }, bad},
  };
  for (const auto& r : rows) {
    ek_options o;
    r.change(o);
    INFO(r.what);
    CHECK(profile_of(key_kind::rsa_2048, o) == r.expected);
  }
  ek_options encipher;
  encipher.key_usage = "keyEncipherment";
  CHECK(profile_of(key_kind::p256, encipher) == bad);
  CHECK_FALSE(profile_of(key_kind::p256, {}));
}

TEST_CASE(
    "tpm EK certificate: what it says of the TPM is short and printable") {
  auto said = [](const std::string& model) {
    ek_options o;
    o.san_critical = false;
    o.tpm_attributes[1].second = model;
    return ek_certificate::read(good_certificate(key_kind::p256, o))
        ->identity()
        .model;
  };
  CHECK(said("SLB 9670") == "SLB 9670");
  CHECK(said(std::string(64, 'x')) == std::string(64, 'x'));
  CHECK(said(std::string(65, 'x')).empty());
  CHECK(said("caf\xc3\xa9").empty());
  CHECK(said("\x1b[2J").empty());
}

// row 5 of section 2.4: by value, for any spelling of the algorithm.
TEST_CASE("tpm EK certificate: of another TPM (case 122)") {
  auto ek = make_ek(key_kind::rsa_2048);
  ek_options oaep;
  oaep.oaep_oid = true;
  auto named_oaep =
      ek_certificate::read(good_certificate(key_kind::rsa_2048, oaep));
  REQUIRE(named_oaep);
  CHECK(named_oaep->is_for(ek.area));
  CHECK_FALSE(named_oaep->is_for(make_ek(key_kind::rsa_2048, 1).area));
  CHECK_FALSE(chain_of(good_certificate(key_kind::rsa_2048, oaep),
                       {root().certificate}));
  auto on_curve = ek_certificate::read(good_certificate(key_kind::p256));
  CHECK_FALSE(on_curve->is_for(ek.area));
  CHECK_FALSE(on_curve->is_for(public_area{}));
}

TEST_CASE("tpm EK certificate: a point in its short form is the same key") {
  ek_options o;
  o.compressed_point = true;
  for (auto kind : {key_kind::p256, key_kind::p384}) {
    auto der = good_certificate(kind, o);
    // A coordinate is 32 bytes or more; signatures differ by a few.
    CHECK(der.size() < good_certificate(kind).size() - 20);
    auto read = ek_certificate::read(der);
    REQUIRE(read);
    CHECK(read->is_for(make_ek(kind).area));
    CHECK_FALSE(read->is_for(make_ek(kind, 1).area));
    CHECK_FALSE(read->check_profile());
    CHECK_FALSE(read->check_chain({root().certificate}, {}, {}, now));
  }
}

// A coordinate with a leading zero, one key in 128, is as wide as the others.
TEST_CASE("tpm EK certificate: a short coordinate is the same key") {
  int number = 100;
  auto short_one = [&] {
    auto ek = make_ek(key_kind::p256, number++);
    return ek.area.ecc()->x[0] == 0 || ek.area.ecc()->y[0] == 0
               ? std::optional{ek}
               : std::nullopt;
  };
  std::optional<soft_key> found;
  while (!found)
    found = short_one();
  auto read = ek_certificate::read(make_ek_certificate(*found, root()));
  REQUIRE(read);
  CHECK(read->is_for(found->area));
}

TEST_CASE("tpm EK certificate: read to its last byte, no longer than the cap") {
  auto der = good_certificate();
  CHECK(ek_certificate::read(der));
  for (std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{0xff}}) {
    auto padded = der;
    padded.push_back(byte);
    CHECK_FALSE(ek_certificate::read(padded));
  }
  for (std::size_t size = 0; size < der.size(); size += 7)
    CHECK_FALSE(ek_certificate::read(byte_view{der}.first(size)));
  ek_options o;
  o.san_critical = false;
  o.tpm_attributes[1].second = std::string(4000, 'x');
  o.tpm_attributes.resize(2);
  auto large = good_certificate(key_kind::p256, o);
  REQUIRE(large.size() > max_certificate_size);
  CHECK_FALSE(ek_certificate::read(large));
}

TEST_CASE("tpm EK certificate: cut to its length out of an index (case 113)") {
  auto der = good_certificate();
  auto filled = [&](std::uint8_t with) {
    auto out = der;
    out.resize(1600, with);
    return out;
  };
  CHECK(trim_certificate(der) == der);
  CHECK(trim_certificate(filled(0xff)) == der);
  CHECK(trim_certificate(filled(0x00)) == der);
  bytes wrapped{0x10, 0x01, 0x00, static_cast<std::uint8_t>(der.size() >> 8),
                static_cast<std::uint8_t>(der.size())};
  wrapped.insert(wrapped.end(), der.begin(), der.end());
  CHECK(trim_certificate(wrapped) == der);
  wrapped.resize(2000, 0xff);
  CHECK(trim_certificate(wrapped) == der);

  auto longer = der;
  longer[3] = static_cast<std::uint8_t>(longer[3] + 1);
  CHECK_FALSE(trim_certificate(longer));
  CHECK_FALSE(trim_certificate(bytes(1600, 0xff)));
  CHECK_FALSE(trim_certificate(bytes(1600, 0x00)));
  CHECK_FALSE(trim_certificate({}));
  CHECK_FALSE(trim_certificate(bytes{0x30}));
  CHECK_FALSE(trim_certificate(bytes{0x30, 0x80, 0, 0}));
  CHECK_FALSE(trim_certificate(bytes{0x30, 0x82, 0x01}));
}

TEST_CASE("tpm EK chain: through intermediates, ours and the machine's") {
  auto first = make_ek_ca("Intermediate", 2, &root());
  auto second = make_ek_ca("Issuing", 3, &first);
  auto leaf = make_ek_certificate(make_ek(key_kind::p256), second);
  auto bad = code::ek_cert_chain;
  CHECK_FALSE(chain_of(leaf, {root().certificate},
                       {first.certificate, second.certificate}));
  CHECK_FALSE(chain_of(leaf, {root().certificate}, {},
                       {second.certificate, first.certificate}));
  CHECK_FALSE(chain_of(leaf, {root().certificate}, {first.certificate},
                       {second.certificate}));
  // An anchor need not be self-signed.
  CHECK_FALSE(chain_of(leaf, {second.certificate}));
  CHECK_FALSE(chain_of(leaf, {first.certificate}, {}, {second.certificate}));
  CHECK(chain_of(leaf, {root().certificate}, {first.certificate}) == bad);
  CHECK(chain_of(leaf, {}, {first.certificate, second.certificate},
                 {root().certificate}) == bad);
  CHECK(chain_of(leaf, {make_ek_ca("Vendor root", 9).certificate},
                 {first.certificate, second.certificate}) == bad);
  // What cannot be read is not there.
  CHECK_FALSE(chain_of(leaf, {bytes{1, 2}, root().certificate},
                       {bytes{}, first.certificate}, {second.certificate}));
}

TEST_CASE("tpm EK chain: issuers are CAs that may sign") {
  auto chained = [&](const ca_options& o) {
    auto issuing = make_ek_ca("Issuing", 4, &root(), o);
    auto leaf = make_ek_certificate(make_ek(key_kind::p256), issuing);
    return chain_of(leaf, {root().certificate}, {}, {issuing.certificate});
  };
  auto bad = code::ek_cert_chain;
  CHECK_FALSE(chained({}));
  ca_options no_ca;
  no_ca.is_ca = false;
  CHECK(chained(no_ca) == bad);
  ca_options unsaid;
  unsaid.basic_constraints = false;
  CHECK(chained(unsaid) == bad);
  ca_options no_signing;
  no_signing.key_usage = "critical,cRLSign";
  CHECK(chained(no_signing) == bad);

  ca_options only_leaves;
  only_leaves.path_length = 0;
  CHECK_FALSE(chained(only_leaves));
  auto first = make_ek_ca("Intermediate", 5, &root(), only_leaves);
  auto second = make_ek_ca("Issuing", 6, &first);
  auto leaf = make_ek_certificate(make_ek(key_kind::p256), second);
  CHECK(chain_of(leaf, {root().certificate}, {first.certificate},
                 {second.certificate}) == bad);
}

TEST_CASE("tpm EK chain: at most five issuers between") {
  std::vector<ek_issuer> line{root()};
  std::vector<bytes> between;
  for (int i = 0; i < 6; ++i) {
    line.push_back(make_ek_ca("CA " + std::to_string(i), 20 + i, &line.back()));
    between.push_back(line.back().certificate);
    auto leaf = make_ek_certificate(make_ek(key_kind::p256), line.back());
    auto verdict = chain_of(leaf, {root().certificate}, between);
    INFO(i + 1 << " between");
    CHECK(verdict.has_value() == (i >= 5));
  }
}

TEST_CASE("tpm EK chain: SHA-1 counts under a root alone") {
  ek_options sha1_leaf;
  sha1_leaf.sha1 = true;
  auto leaf = make_ek_certificate(make_ek(key_kind::p256), root(), sha1_leaf);
  CHECK_FALSE(chain_of(leaf, {root().certificate}));

  auto issuing = make_ek_ca("Issuing", 7, &root());
  auto below = make_ek_certificate(make_ek(key_kind::p256), issuing, sha1_leaf);
  CHECK(chain_of(below, {root().certificate}, {issuing.certificate}) ==
        code::ek_cert_chain);
  CHECK_FALSE(chain_of(below, {issuing.certificate}));

  ca_options sha1_ca;
  sha1_ca.sha1 = true;
  auto old = make_ek_ca("Old", 8, &root(), sha1_ca);
  CHECK_FALSE(chain_of(make_ek_certificate(make_ek(key_kind::p256), old),
                       {root().certificate}, {old.certificate}));
}

TEST_CASE("tpm EK chain: valid at that time, every part of it") {
  ek_options o;
  o.not_before = from_rfc3339("2026-01-01T00:00:00Z").value();
  o.not_after = "20270101000000Z";
  auto leaf = make_ek_certificate(make_ek(key_kind::p256), root(), o);
  auto at = [&](const char* when) {
    return chain_of(leaf, {root().certificate}, {}, {},
                    from_rfc3339(when).value());
  };
  CHECK_FALSE(at("2026-01-01T00:00:00Z"));
  CHECK_FALSE(at("2026-12-31T23:59:59Z"));
  CHECK(at("2025-12-31T23:59:59Z") == code::ek_cert_expired);
  CHECK(at("2027-01-01T00:00:01Z") == code::ek_cert_expired);

  ca_options old;
  old.not_after = from_rfc3339("2025-01-01T00:00:00Z").value();
  auto issuing = make_ek_ca("Expired", 10, &root(), old);
  CHECK(chain_of(make_ek_certificate(make_ek(key_kind::p256), issuing),
                 {root().certificate},
                 {issuing.certificate}) == code::ek_cert_expired);
  // 9999-12-31 is a time like another.
  CHECK_FALSE(chain_of(good_certificate(), {root().certificate}, {}, {},
                       from_rfc3339("2049-12-31T00:00:00Z").value()));
}

// Over the bytes as they came: what OpenSSL would write anew is not asked.
TEST_CASE("tpm EK chain: any changed bit of what is signed breaks it") {
  auto der = good_certificate(key_kind::p256);
  int read = 0;
  for (std::size_t at = 0; at < der.size(); ++at) {
    auto changed = der;
    changed[at] ^= 1;
    auto certificate = ek_certificate::read(changed);
    if (!certificate)
      continue;
    ++read;
    CHECK(certificate->check_chain({root().certificate}, {}, {}, now));
    (void)certificate->check_profile();
  }
  CHECK(read > 100);
}
