// spec: joining#join-flow; CASES 85, 86, 87, 89
#include "pki/csr.hpp"

#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/x509.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

// A request in its pieces, signed anew whatever they hold.
struct request_parts {
  private_key key = private_key::generate();
  bytes version = to_bytes(oids::der_of(2, 1, 0));
  bytes subject = x509::name(oids::common_name, "better-compute-node");
  bytes spki = key.pub().spki();
  bytes attributes = to_bytes(oids::der_of(0xa0, 0));
  bytes algorithm = to_bytes(oids::ecdsa_sha256);

  [[nodiscard]] bytes info() const {
    return der::wrap(der::sequence, {version, subject, spki, attributes});
  }
  [[nodiscard]] bytes with_signature(byte_view signature) const {
    return der::wrap(der::sequence,
                     {info(), algorithm, der::write_bits(signature)});
  }
  [[nodiscard]] bytes der() const {
    return with_signature(key.sign_der(sha256(info())));
  }
};

bool refused(const bytes& der) {
  auto read = parse_csr(der);
  return !read && read.error().code == errc::invalid_input;
}

bytes attribute_of(byte_view value) {
  auto type = oids::der_of(6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 14);
  auto values = der::wrap(der::set, {value});
  return der::wrap(der::context(0), {der::wrap(der::sequence, {type, values})});
}

bytes openssl_spki_of(const char* type, const char* detail) {
  openssl_key key{detail == nullptr
                      ? EVP_PKEY_Q_keygen(nullptr, nullptr, type)
                      : EVP_PKEY_Q_keygen(nullptr, nullptr, type, detail)};
  return openssl_spki(key.get());
}

}  // namespace

TEST_CASE("csr: what is built is read, by OpenSSL too") {
  auto key = private_key::generate();
  auto der = build_csr(key);
  auto read = parse_csr(der);
  REQUIRE(read.has_value());
  CHECK(read.value().key == key.pub());
  CHECK(self_signature_verifies(read.value()));

  auto theirs = openssl_reads_request(der);
  REQUIRE(theirs != nullptr);
  CHECK(X509_REQ_get_version(theirs.get()) == 0);
  CHECK(X509_REQ_get_attr_count(theirs.get()) == 0);
  auto* their_key = X509_REQ_get0_pubkey(theirs.get());
  REQUIRE(their_key != nullptr);
  CHECK(openssl_spki(their_key) == key.pub().spki());
  CHECK(X509_REQ_verify(theirs.get(), their_key) == 1);
  char name[64];
  X509_NAME_get_text_by_NID(X509_REQ_get_subject_name(theirs.get()),
                            NID_commonName, name, sizeof name);
  CHECK(std::string_view{name} == "better-compute-node");
}

TEST_CASE("csr: OpenSSL's requests are read, with extensions asked for") {
  openssl_key key{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")};
  openssl_request made{X509_REQ_new()};
  X509_REQ_set_version(made.get(), 0);
  auto* subject = X509_REQ_get_subject_name(made.get());
  for (const char* type : {"C", "O", "CN"})
    X509_NAME_add_entry_by_txt(subject, type, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>("DE"), -1,
                               -1, 0);
  X509_REQ_set_pubkey(made.get(), key.get());
  X509_REQ_add1_attr_by_txt(made.get(), "challengePassword", MBSTRING_ASC,
                            reinterpret_cast<const unsigned char*>("ignored"),
                            -1);
  REQUIRE(X509_REQ_sign(made.get(), key.get(), EVP_sha256()) > 0);
  unsigned char* out = nullptr;
  int size = i2d_X509_REQ(made.get(), &out);
  bytes der(out, out + size);
  OPENSSL_free(out);
  auto read = parse_csr(der);
  REQUIRE(read.has_value());
  CHECK(read.value().key.spki() == openssl_spki(key.get()));
  CHECK(self_signature_verifies(read.value()));
}

TEST_CASE("csr: a request signed by another key does not verify") {
  request_parts parts;
  auto other = private_key::generate();
  auto read =
      parse_csr(parts.with_signature(other.sign_der(sha256(parts.info()))));
  REQUIRE(read.has_value());
  CHECK_FALSE(self_signature_verifies(read.value()));
}

TEST_CASE("csr: a signature that is not strict DER is refused (case 85)") {
  request_parts parts;
  auto raw = parts.key.sign(sha256(parts.info()));
  CHECK(refused(parts.with_signature(raw)));
  bytes one{1}, zero{0}, minus{0x81};
  auto pair = [](byte_view r, byte_view s) {
    return der::wrap(der::sequence, {der::wrap(der::integer, {r}),
                                     der::wrap(der::integer, {s})});
  };
  CHECK_FALSE(refused(parts.with_signature(pair(one, one))));
  CHECK(refused(parts.with_signature(pair(zero, one))));
  CHECK(refused(parts.with_signature(pair(one, zero))));
  CHECK(refused(parts.with_signature(pair(minus, one))));
  CHECK(refused(parts.with_signature(pair(bytes{0, 1}, one))));
  CHECK(refused(parts.with_signature(pair(bytes(33, 0x7f), one))));
  CHECK(refused(parts.with_signature({})));
}

TEST_CASE("csr: round trip over 2,000 keys (cases 73, 85)") {
  for (int i = 0; i < 2000; ++i) {
    auto key = private_key::generate();
    auto read = parse_csr(build_csr(key));
    REQUIRE(read.has_value());
    REQUIRE(read.value().key == key.pub());
    // Verifying is the slow half, so it is done for some.
    if (i % 8 == 0)
      REQUIRE(self_signature_verifies(read.value()));
  }
}

TEST_CASE("csr: another version than 0 is refused (case 86)") {
  request_parts parts;
  REQUIRE_FALSE(refused(parts.der()));
  for (int version : {1, 2, 0x80}) {
    parts.version = to_bytes(oids::der_of(2, 1, version));
    CHECK(refused(parts.der()));
  }
  parts.version = to_bytes(oids::der_of(2, 2, 0, 0));
  CHECK(refused(parts.der()));
  parts.version = {};
  CHECK(refused(parts.der()));
}

TEST_CASE("csr: only a named P-256 key, uncompressed, is read (case 87)") {
  request_parts parts;
  auto good = parts.spki;
  parts.spki = openssl_spki_of("EC", "P-384");
  CHECK(refused(parts.der()));
  parts.spki = openssl_spki_of("EC", "secp256k1");
  CHECK(refused(parts.der()));
  parts.spki = openssl_spki_of("ED25519", nullptr);
  CHECK(refused(parts.der()));
  openssl_key rsa{EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA",
                                    static_cast<std::size_t>(1024))};
  parts.spki = openssl_spki(rsa.get());
  CHECK(refused(parts.der()));

  openssl_key named{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")};
  EVP_PKEY_set_utf8_string_param(named.get(), "encoding", "explicit");
  parts.spki = openssl_spki(named.get());
  REQUIRE(parts.spki.size() > 200);
  CHECK(refused(parts.der()));

  auto point = to_bytes(parts.key.pub().sec1());
  auto spki_of = [](byte_view p) {
    return der::wrap(der::sequence, {oids::p256_algorithm, der::write_bits(p)});
  };
  parts.spki = spki_of(point);
  REQUIRE(parts.spki == good);
  bytes compressed(point.begin(), point.begin() + 33);
  compressed[0] = static_cast<std::uint8_t>(2 | (point[64] & 1));
  parts.spki = spki_of(compressed);
  CHECK(refused(parts.der()));
  parts.spki = spki_of(bytes{0});
  CHECK(refused(parts.der()));
  parts.spki = spki_of(tiny_point(1, 1));
  CHECK(refused(parts.der()));
}

TEST_CASE("csr: another signature algorithm is refused") {
  request_parts parts;
  parts.algorithm[11] = 3;  // ecdsa-with-SHA384
  CHECK(refused(parts.der()));
  // With NULL parameters, which RFC 5758 forbids.
  parts.algorithm = to_bytes(oids::der_of(0x30, 12, 6, 8, 0x2a, 0x86, 0x48,
                                          0xce, 0x3d, 4, 3, 2, 5, 0));
  CHECK(refused(parts.der()));
}

TEST_CASE("csr: subject and attributes may be anything well formed") {
  request_parts parts;
  parts.subject = to_bytes(oids::der_of(0x30, 0));
  CHECK_FALSE(refused(parts.der()));
  parts.attributes = attribute_of(bytes{0x30, 0});
  CHECK_FALSE(refused(parts.der()));
  parts.attributes = {};
  CHECK(refused(parts.der()));
  parts.attributes = attribute_of(bytes{0x30, 1});
  CHECK(refused(parts.der()));
  parts.attributes = attribute_of({});
  CHECK(refused(parts.der()));
  parts.attributes = to_bytes(oids::der_of(0xa0, 2, 5, 0));
  CHECK(refused(parts.der()));
}

TEST_CASE("csr: monsters are refused (case 89)") {
  request_parts parts;
  bytes arcs{0x2a};
  arcs.insert(arcs.end(), 300, 0xff);
  arcs.push_back(0x7f);
  parts.subject = x509::name(der::wrap(der::oid, {arcs}), "x");
  // An arc of any size is well formed; nothing is taken from it.
  CHECK_FALSE(refused(parts.der()));
  arcs.back() = 0xff;
  parts.subject = x509::name(der::wrap(der::oid, {arcs}), "x");
  CHECK(refused(parts.der()));

  parts.subject = x509::name(oids::common_name, std::string(1 << 20, 'x'));
  CHECK(refused(parts.der()));
  parts.subject = x509::name(oids::common_name, std::string(3500, 'x'));
  CHECK_FALSE(refused(parts.der()));
  parts.subject = x509::name(oids::common_name, std::string(4000, 'x'));
  CHECK(refused(parts.der()));

  parts.subject = x509::name(oids::common_name, "x");
  bytes nested;
  for (int i = 0; i < 10'000; ++i)
    nested = der::wrap(der::sequence, {nested});
  parts.attributes = attribute_of(nested);
  CHECK(refused(parts.der()));
  bytes deep;
  for (int i = 0; i < 100; ++i)
    deep = der::wrap(der::sequence, {deep});
  parts.attributes = attribute_of(deep);
  REQUIRE(parts.der().size() < 4096);
  CHECK(refused(parts.der()));

  auto indefinite = build_csr(parts.key);
  indefinite[1] = 0x80;
  indefinite.erase(indefinite.begin() + 2);
  indefinite.insert(indefinite.end(), {0, 0});
  CHECK(refused(indefinite));
}

TEST_CASE("csr: a byte more or a long-form length is refused (case 82)") {
  auto der = build_csr(private_key::generate());
  REQUIRE_FALSE(refused(der));
  auto trailing = der;
  trailing.push_back(0);
  CHECK(refused(trailing));
  // 30 81 LL becomes 30 82 00 LL.
  REQUIRE(der[1] == 0x81);
  auto long_form = der;
  long_form[1] = 0x82;
  long_form.insert(long_form.begin() + 2, 0);
  CHECK(refused(long_form));
  CHECK(refused({}));
  CHECK(refused(bytes(4096, 0x30)));
}

TEST_CASE("csr: what we read of a damaged request, OpenSSL reads the same") {
  request_parts parts;
  parts.attributes = attribute_of(bytes{0x30, 3, 1, 1, 0xff});
  auto plain = build_csr(parts.key), full = parts.der();
  dice d;
  int read_ones = 0;
  for (int i = 0; i < 12'000; ++i) {
    auto der = mutate(i % 2 == 0 ? plain : full, d);
    auto ours = parse_csr(der);
    if (!ours)
      continue;
    ++read_ones;
    auto theirs = openssl_reads_request(der);
    INFO(to_hex(der));
    REQUIRE(theirs != nullptr);
    auto* key = X509_REQ_get0_pubkey(theirs.get());
    REQUIRE(key != nullptr);
    REQUIRE(openssl_spki(key) == ours.value().key.spki());
    REQUIRE((X509_REQ_verify(theirs.get(), key) == 1) ==
            self_signature_verifies(ours.value()));
  }
  CHECK(read_ones > 100);
}
