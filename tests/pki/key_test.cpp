// spec: DESIGN section 8; CASES 73, 77, 85, 174 and appendix A
#include "pki/key.hpp"

#include "pki/der.hpp"
#include "pki/ecdsa.hpp"
#include "pki/jwe.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/pem.h>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

// The same pair of numbers as DER, however wrong.
bytes sig_value(byte_view r, byte_view s) {
  return der::wrap(der::sequence, {der::wrap(der::integer, {r}),
                                   der::wrap(der::integer, {s})});
}

}  // namespace

TEST_CASE("key: vectors A1 and A2 give their coordinates and pins (case 73)") {
  struct row {
    const char *scalar, *x, *y, *pin;
  };
  auto v = GENERATE(row{"017b", "AFVDiUrz0A7X10Cr29dclrBod7eH219w7qeLkKjXwAo",
                        "u0yFo9jqKe-q-iRAaRLdhNWxTcMr9lbvbGvVil2UP5I",
                        "sha256/PU+ZT8gvHRc8bTJuBeD4v/01gtCOH62KNDVADlNgBYM="},
                    row{"2b", "mGriUG8f8QTQQjCGHY9LSY9LxMbQCbMPdUTcEpuC0o0",
                        "ADzMwKZGDgrjKKTZfTx7YdhvxiicGJ8lJREMRBuwfpc",
                        "sha256/6AzDqd/7nl93UJv4oXJxkwgdRG8mXMK8lIIemYojR8E="});
  auto key = key_of(v.scalar);
  CHECK(to_bytes(key.pub().sec1()) == point_of(v.x, v.y));
  CHECK(key.pub().pin() == v.pin);
  auto read = public_key::from_point(point_of(v.x, v.y));
  REQUIRE(read.has_value());
  CHECK(read.value() == key.pub());
}

TEST_CASE("key: a coordinate with two leading zero bytes stays 32 (case 73)") {
  auto key = key_of("9dc9");  // 40393
  CHECK(key.pub().sec1()[1] == 0);
  CHECK(key.pub().sec1()[2] == 0);
  CHECK(from_jwk(to_jwk(key.pub())).value() == key.pub());
}

TEST_CASE("key: points that are none are refused (case 77, vector A4)") {
  auto zero_x_plus_p = point_of("_____wAAAAEAAAAAAAAAAAAAAAD_______________8",
                                "ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q");
  CHECK_FALSE(public_key::from_point(zero_x_plus_p));
  // The same point, written as it should be, is good: x = 0.
  auto zero_x = point_of("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                         "ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q");
  CHECK(public_key::from_point(zero_x));
  CHECK_FALSE(public_key::from_point(tiny_point(0, 0)));
  CHECK_FALSE(public_key::from_point(tiny_point(0, 2)));
  CHECK_FALSE(public_key::from_point(tiny_point(1, 1)));
  CHECK_FALSE(public_key::from_point(tiny_point(2, 2)));
  CHECK_FALSE(public_key::from_point(bytes{0x00}));
  CHECK_FALSE(public_key::from_point(bytes{}));
  CHECK_FALSE(public_key::from_point(bytes(65, 0xff)));

  auto good = to_bytes(private_key::generate().pub().sec1());
  auto other_form = good;
  other_form[0] = static_cast<std::uint8_t>(0x06 | (good[64] & 1));  // hybrid
  CHECK_FALSE(public_key::from_point(other_form));
  bytes compressed(good.begin(), good.begin() + 33);
  compressed[0] = static_cast<std::uint8_t>(0x02 | (good[64] & 1));
  CHECK_FALSE(public_key::from_point(compressed));
  auto longer = good;
  longer.push_back(0);
  CHECK_FALSE(public_key::from_point(longer));
  CHECK(public_key::from_point(good));
}

TEST_CASE("key: a coordinate y that is not reduced is refused (case 77)") {
  // y = p for a point whose y would be 0 has no twin on P-256; the bound is
  // what is tested here.
  bytes p = to_bytes(ecdsa::field_prime);
  bytes sec1{0x04};
  sec1.insert(sec1.end(), 32, 0);
  sec1.insert(sec1.end(), p.begin(), p.end());
  auto refused = public_key::from_point(sec1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "a coordinate is not below the prime");
}

TEST_CASE("key: a scalar is above zero and below the order") {
  auto n = to_bytes(ecdsa::group_order);
  CHECK_FALSE(private_key::from_scalar(n));
  auto largest = n;
  --largest.back();
  CHECK(private_key::from_scalar(largest));
  ++n.back();
  CHECK_FALSE(private_key::from_scalar(n));
  CHECK_FALSE(private_key::from_scalar(bytes(32, 0)));
  CHECK_FALSE(private_key::from_scalar(bytes(32, 0xff)));
  CHECK_FALSE(private_key::from_scalar(bytes(31, 1)));
  CHECK_FALSE(private_key::from_scalar(bytes(33, 1)));
}

TEST_CASE("key: SPKI is OpenSSL's, and no other spelling is read (case 87)") {
  openssl_key reference{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")};
  auto der = openssl_spki(reference.get());
  auto key = public_key::from_spki(der);
  REQUIRE(key.has_value());
  CHECK(key.value().spki() == der);
  CHECK(der.size() == 91);
  for (std::size_t i = 0; i < 27; ++i) {
    auto other = der;
    other[i] ^= 1;
    CHECK_FALSE(public_key::from_spki(other));
  }
  auto trailing = der;
  trailing.push_back(0);
  CHECK_FALSE(public_key::from_spki(trailing));
  trailing.resize(90);
  CHECK_FALSE(public_key::from_spki(trailing));
}

TEST_CASE("key: PKCS#8 goes to OpenSSL and back") {
  auto key = key_of("017b");
  auto pem = key.pkcs8_pem();
  auto back = private_key::from_pkcs8_pem(pem.expose_text());
  REQUIRE(back.has_value());
  CHECK(back.value().pub() == key.pub());
  CHECK(back.value().scalar() == key.scalar());

  std::unique_ptr<BIO, release_with<BIO_free>> in{
      BIO_new_mem_buf(pem.expose().data(), static_cast<int>(pem.size()))};
  openssl_key theirs{
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr)};
  REQUIRE(theirs != nullptr);
  CHECK(openssl_spki(theirs.get()) == key.pub().spki());

  std::unique_ptr<BIO, release_with<BIO_free>> out{BIO_new(BIO_s_mem())};
  REQUIRE(PEM_write_bio_PKCS8PrivateKey(out.get(), theirs.get(), nullptr,
                                        nullptr, 0, nullptr, nullptr) == 1);
  char* text = nullptr;
  auto size = BIO_get_mem_data(out.get(), &text);
  CHECK(std::string_view(text, static_cast<std::size_t>(size)) ==
        pem.expose_text());
}

TEST_CASE("key: PEM that is not one P-256 key in PKCS#8 is refused") {
  auto key = key_of("017b");
  std::string good{key.pkcs8_pem().expose_text()};
  CHECK(private_key::from_pkcs8_pem("\r\n" + good + "\n"));
  CHECK_FALSE(private_key::from_pkcs8_pem(""));
  CHECK_FALSE(private_key::from_pkcs8_pem(good + good));
  CHECK_FALSE(private_key::from_pkcs8_pem("x" + good));
  CHECK_FALSE(private_key::from_pkcs8_pem(certificate_pem(bytes{0x30, 0})));
  openssl_key other{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384")};
  std::unique_ptr<BIO, release_with<BIO_free>> out{BIO_new(BIO_s_mem())};
  PEM_write_bio_PKCS8PrivateKey(out.get(), other.get(), nullptr, nullptr, 0,
                                nullptr, nullptr);
  char* text = nullptr;
  auto size = BIO_get_mem_data(out.get(), &text);
  CHECK_FALSE(
      private_key::from_pkcs8_pem({text, static_cast<std::size_t>(size)}));
  // The scalar of one key with the point of another.
  auto der = to_bytes(pem::decode("PRIVATE KEY", good).value().expose());
  der.back() ^= 1;
  auto mixed = pem::encode("PRIVATE KEY", der);
  CHECK_FALSE(private_key::from_pkcs8_pem(mixed.expose_text()));
}

TEST_CASE("key: a signature is for its digest and key alone") {
  auto key = private_key::generate(), other = private_key::generate();
  auto digest = sha256(as_bytes("one")), second = sha256(as_bytes("two"));
  auto raw = key.sign(digest);
  CHECK(key.pub().verify(digest, raw));
  CHECK_FALSE(key.pub().verify(second, raw));
  CHECK_FALSE(other.pub().verify(digest, raw));
  raw[5] ^= 1;
  CHECK_FALSE(key.pub().verify(digest, raw));
  CHECK_FALSE(key.pub().verify(digest, raw_signature{}));
  auto copy = key.clone();
  CHECK(key.pub().verify_der(digest, copy.sign_der(digest)));
}

TEST_CASE("key: only strict DER is a signature (case 85)") {
  auto key = private_key::generate();
  auto digest = sha256(as_bytes("one"));
  // A signature whose halves both fit 32 bytes without a leading zero.
  raw_signature raw;
  do
    raw = key.sign(digest);
  while (raw[0] >= 0x80 || raw[32] >= 0x80 || raw[0] == 0 || raw[32] == 0);
  byte_view both{raw};
  auto r = to_bytes(both.first(32)), s = to_bytes(both.last(32));
  REQUIRE(key.pub().verify_der(digest, sig_value(r, s)));

  CHECK_FALSE(key.pub().verify_der(digest, raw));  // raw r and s
  auto padded = r;
  padded.insert(padded.begin(), 0);
  CHECK_FALSE(ecdsa::from_der(sig_value(padded, s)));
  CHECK_FALSE(ecdsa::from_der(sig_value(r, bytes{})));
  CHECK_FALSE(ecdsa::from_der(sig_value(bytes{0}, s)));
  CHECK_FALSE(ecdsa::from_der(sig_value(r, bytes{0})));
  auto negative = r;
  negative[0] |= 0x80;
  CHECK_FALSE(ecdsa::from_der(sig_value(negative, s)));
  auto n = to_bytes(ecdsa::group_order);
  n.insert(n.begin(), 0);
  CHECK_FALSE(ecdsa::from_der(sig_value(n, s)));
  CHECK_FALSE(ecdsa::from_der(sig_value(r, n)));
  bytes huge(33, 1);
  CHECK_FALSE(ecdsa::from_der(sig_value(huge, s)));
  auto trailing = sig_value(r, s);
  trailing.push_back(0);
  CHECK_FALSE(ecdsa::from_der(trailing));
  auto inner = der::wrap(der::sequence, {der::wrap(der::integer, {r}),
                                         der::wrap(der::integer, {s}),
                                         der::wrap(der::integer, {s})});
  CHECK_FALSE(ecdsa::from_der(inner));
  auto long_form = sig_value(r, s);
  long_form.insert(long_form.begin() + 1, 0x81);
  CHECK_FALSE(ecdsa::from_der(long_form));
}

TEST_CASE("key: short halves of a signature survive both forms (case 85)") {
  auto key = private_key::generate();
  int shorter = 0;
  for (int i = 0; i < 2000; ++i) {
    auto raw = key.sign(sha256(as_bytes(std::to_string(i))));
    auto der = ecdsa::to_der(raw);
    shorter += raw[0] == 0 || raw[32] == 0;
    REQUIRE(ecdsa::from_der(der) == raw);
  }
  CHECK(shorter > 0);
  raw_signature smallest{};
  smallest[31] = smallest[63] = 1;
  CHECK(ecdsa::to_der(smallest) == bytes{0x30, 6, 2, 1, 1, 2, 1, 1});
  CHECK(ecdsa::from_der(ecdsa::to_der(smallest)) == smallest);
}

TEST_CASE("key: a pin has one spelling (case 174)") {
  auto pin = key_of("017b").pub().pin();
  CHECK(is_pin(pin));
  auto digest = key_of("017b").pub().spki_sha256();
  CHECK_FALSE(is_pin(to_hex(digest)));
  CHECK_FALSE(is_pin("sha256/" + to_hex(digest)));
  CHECK_FALSE(is_pin("sha256/" + to_base64url(digest)));
  CHECK_FALSE(is_pin(to_base64(digest)));
  CHECK_FALSE(is_pin("SHA256/" + to_base64(digest)));
  CHECK_FALSE(is_pin(pin.substr(0, pin.size() - 1)));
  CHECK_FALSE(is_pin(pin + " "));
  CHECK_FALSE(is_pin("sha256/" + std::string(44, '=')));
  auto stray_bits = pin;
  stray_bits[stray_bits.size() - 2] = 'N';  // was M, the last two bits are lost
  CHECK_FALSE(is_pin(stray_bits));
}
