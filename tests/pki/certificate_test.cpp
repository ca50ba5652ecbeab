// spec: joining#node-certificates; CASES 91 to 99
#include "pki/der.hpp"
#include "pki/oids.hpp"
#include "pki/spiffe.hpp"
#include "pki/x509.hpp"
#include "support.hpp"

#include <catch2/catch.hpp>
#include <openssl/x509v3.h>

#include <algorithm>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

namespace {

const std::string site = "site_01k5w00000000000000000000a";
const std::string node = "node_01k5w00000000000000000000b";
const std::string ak_statement =
    "urn:bc:tpm-ak:sha256:"
    "00000000000000000000000000000000000000000000000000000000000000aa";

const issuer& node_ca() {
  static const auto ca = make_ca("node CA", noon).value();
  return ca;
}

node_certificate_request request_for(const public_key& key) {
  return {
      .subject_key = key,
      .trust_domain = "compute.example.com",
      .site = site,
      .node = node,
      .statements = {},
      .now = noon,
      .serial_random = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
}

// Fails on any arc over 2^31 - 1, as Go's parser does, and on what is not DER.
void walk_arcs(byte_view content) {
  der::reader in{content};
  while (!in.at_end()) {
    auto e = in.next();
    REQUIRE(e.has_value());
    if (e->tag == der::oid) {
      std::uint64_t arc = 0;
      for (auto byte : e->content) {
        arc = (arc << 7) | (byte & 0x7f);
        REQUIRE(arc <= 0x7fffffff);
        if ((byte & 0x80) == 0)
          arc = 0;
      }
      // No private enterprise arc: 1.3.6.1.4.1.
      bytes enterprise{0x2b, 6, 1, 4, 1};
      CHECK_FALSE(std::ranges::search(e->content, enterprise).size() > 0);
    } else if ((e->tag & 0x20) != 0) {
      walk_arcs(e->content);
    }
  }
}

// A leaf with any subject, else as ours.
bytes with_subject(byte_view subject) {
  auto ca = x509::split(node_ca().certificate).value();
  auto key = private_key::generate();
  return x509::sign(
      node_ca().key,
      {.serial = x509::serial_of({}),
       .issuer = ca.subject,
       .not_before = noon,
       .not_after = noon + seconds{60},
       .subject = subject,
       .key = key.pub(),
       .extensions = {x509::make_extension(oids::basic_constraints, true,
                                           oids::der_of(0x30, 0))}});
}

bytes ou(std::uint8_t tag, std::string_view text) {
  return der::wrap(der::sequence, {oids::organizational_unit,
                                   der::wrap(tag, {as_bytes(text)})});
}

}  // namespace

TEST_CASE("certificate: OpenSSL reads and verifies a node's leaf") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.statements = {ak_statement};
  auto issued = issue_node_certificate(node_ca(), request);

  auto theirs = openssl_reads(issued.der);
  REQUIRE(theirs != nullptr);
  CHECK(X509_get_version(theirs.get()) == 2);
  CHECK(openssl_spki(X509_get0_pubkey(theirs.get())) == key.pub().spki());
  CHECK(re_encoded(theirs.get()) == issued.der);
  auto ca = openssl_reads(node_ca().certificate);
  REQUIRE(ca != nullptr);
  CHECK(re_encoded(ca.get()) == node_ca().certificate);
  CHECK(X509_verify(theirs.get(), X509_get0_pubkey(ca.get())) == 1);
  CHECK(X509_check_issued(ca.get(), theirs.get()) == X509_V_OK);
  CHECK(X509_check_ca(theirs.get()) == 0);
  CHECK(X509_check_ca(ca.get()) == 1);
  CHECK(X509_check_purpose(theirs.get(), X509_PURPOSE_SSL_CLIENT, 0) == 1);
  CHECK(X509_check_purpose(theirs.get(), X509_PURPOSE_SSL_SERVER, 0) == 0);
  CHECK(X509_get_key_usage(theirs.get()) == KU_DIGITAL_SIGNATURE);
  CHECK(X509_get_extended_key_usage(theirs.get()) == XKU_SSL_CLIENT);
  CHECK(X509_get_key_usage(ca.get()) == (KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  CHECK(X509_get_pathlen(ca.get()) == 0);
  for (int nid : {NID_basic_constraints, NID_key_usage})
    CHECK(X509_EXTENSION_get_critical(X509_get_ext(
              theirs.get(), X509_get_ext_by_NID(theirs.get(), nid, -1))) == 1);
  CHECK(X509_get_ext_count(theirs.get()) == 6);
  CHECK(openssl_verifies(issued.der, node_ca().certificate, noon) == X509_V_OK);
  CHECK(openssl_verifies(issued.der, node_ca().certificate,
                         noon + std::chrono::hours{25}) ==
        X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_CASE("certificate: a leaf is read back as it was asked for") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.role =
      GENERATE(certificate_role::node, certificate_role::site,
               certificate_role::ramdisk, certificate_role::node_tenant);
  auto issued = issue_node_certificate(node_ca(), request);
  auto view = parse_certificate(issued.der);
  REQUIRE(view.has_value());
  CHECK(view.value().key == key.pub());
  CHECK(view.value().serial == issued.serial);
  CHECK(view.value().role == request.role);
  CHECK(view.value().not_before == issued.not_before);
  CHECK(view.value().not_after == issued.not_after);
  CHECK_FALSE(view.value().is_ca);
  CHECK(view.value().dns_names.empty());
  REQUIRE(view.value().uris.size() == 1);
  CHECK(parse_spiffe_id(view.value().uris[0]).value() ==
        spiffe_id{"compute.example.com", site, node});
  CHECK(parse_role(role_text(request.role)) == request.role);
}

TEST_CASE("certificate: roles have fixed texts") {
  CHECK(role_text(certificate_role::node_tenant) == "node-tenant");
  for (const char* text : {"", "Node", "node ", "node_tenant", "gateway"})
    CHECK_FALSE(parse_role(text));
}

TEST_CASE("certificate: no arc over 2^31 - 1, no private one (case 91)") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.statements = {ak_statement};
  walk_arcs(issue_node_certificate(node_ca(), request).der);
  walk_arcs(node_ca().certificate);
  walk_arcs(issue_server_certificate(node_ca(), {"gw.example.com"}, noon)
                .value()
                .certificate);
}

TEST_CASE("certificate: serials are positive, minimal, 16 octets (case 92)") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  auto serial_of = [&](std::uint8_t first, std::uint8_t rest) {
    request.serial_random.fill(rest);
    request.serial_random[0] = first;
    auto issued = issue_node_certificate(node_ca(), request);
    auto parts = x509::split(issued.der);
    REQUIRE(parts.has_value());
    REQUIRE(parts.value().serial.size() == 16);
    REQUIRE(der::is_positive(parts.value().serial));
    REQUIRE(to_hex(parts.value().serial) == issued.serial);
    REQUIRE(issued.serial.size() == 32);
    return issued.serial;
  };
  CHECK(serial_of(0, 0) == "40000000000000000000000000000000");
  CHECK(serial_of(0xff, 0xff) == "7fffffffffffffffffffffffffffffff");
  CHECK(serial_of(0x80, 0xab) == "40ababababababababababababababab");
  for (int first = 0; first < 256; ++first)
    serial_of(static_cast<std::uint8_t>(first), 0x5a);
}

TEST_CASE("certificate: the SPIFFE id comes first, then statements (case 93)") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.statements = {ak_statement, "urn:bc:other:1"};
  auto view = parse_certificate(issue_node_certificate(node_ca(), request).der);
  REQUIRE(view.has_value());
  CHECK(view.value().uris ==
        std::vector<std::string>{
            "spiffe://compute.example.com/site/" + site + "/node/" + node,
            ak_statement, "urn:bc:other:1"});
}

TEST_CASE("certificate: the lifetime counts the backdating (case 97)") {
  struct row {
    certificate_role role;
    seconds asked, given;
  };
  auto v = GENERATE(
      row{certificate_role::node, seconds{86'400}, seconds{86'400}},
      row{certificate_role::node, seconds{86'401}, seconds{86'400}},
      row{certificate_role::node, seconds{3600}, seconds{3600}},
      row{certificate_role::site, seconds{1'000'000}, seconds{86'400}},
      row{certificate_role::node_tenant, seconds{86'400}, seconds{86'400}},
      row{certificate_role::ramdisk, seconds{86'400}, seconds{7'200}},
      row{certificate_role::ramdisk, seconds{600}, seconds{600}});
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.role = v.role;
  request.lifetime = v.asked;
  request.now = noon + milliseconds{999};
  auto issued = issue_node_certificate(node_ca(), request);
  CHECK(issued.not_after - issued.not_before == v.given);
  CHECK(issued.not_before == noon - seconds{300});
  auto view = parse_certificate(issued.der);
  CHECK(view.value().not_after - view.value().not_before == v.given);
}

TEST_CASE("certificate: times are whole seconds in the right type (case 98)") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.now = from_rfc3339("2049-12-31T23:59:59.999Z").value();
  auto issued = issue_node_certificate(node_ca(), request);
  auto holds = [&](std::uint8_t tag, std::string_view text) {
    auto element = der::wrap(tag, {as_bytes(text)});
    return std::ranges::search(issued.der, element).size() > 0;
  };
  CHECK(holds(der::utc_time, "491231235459Z"));
  CHECK(holds(der::generalized_time, "20500101235459Z"));
  CHECK(parse_certificate(issued.der).value().not_after == issued.not_after);
  auto ca = make_ca("late CA", request.now).value();
  CHECK(openssl_reads(ca.certificate) != nullptr);
  CHECK(openssl_verifies(ca.certificate, ca.certificate, request.now) ==
        X509_V_OK);
}

TEST_CASE("certificate: exactly one OU, exact bytes, is a role (case 99)") {
  auto one = ou(der::utf8_string, "bc-role:node");
  auto rdn = [](std::initializer_list<byte_view> values) {
    return der::wrap(der::set, values);
  };
  auto role_in = [](std::initializer_list<byte_view> rdns) {
    auto view = parse_certificate(with_subject(der::wrap(der::sequence, rdns)));
    REQUIRE(view.has_value());
    return view.value().role;
  };
  CHECK(role_in({rdn({one})}) == certificate_role::node);
  auto site_ou = ou(der::utf8_string, "bc-role:site");
  auto plain = ou(der::utf8_string, "x");
  CHECK_FALSE(role_in({rdn({one}), rdn({site_ou})}));
  CHECK_FALSE(role_in({rdn({one}), rdn({one})}));
  CHECK_FALSE(role_in({rdn({plain}), rdn({one})}));
  CHECK_FALSE(role_in({rdn({plain, one})}));
  CHECK_FALSE(role_in({}));
  std::string wide;
  for (char c : std::string_view{"bc-role:node"})
    wide += std::string{'\0', c};
  CHECK_FALSE(role_in({rdn({ou(0x1e, wide)})}));
  CHECK_FALSE(role_in({rdn({ou(0x13, "bc-role:node")})}));
  for (const char* text : {"BC-ROLE:node", "bc-role:node ", "bc-role:",
                           "bc-role:gateway", " bc-role:node", "node"})
    CHECK_FALSE(role_in({rdn({ou(der::utf8_string, text)})}));
}

TEST_CASE("certificate: signed by means the CA's key and its name") {
  auto key = private_key::generate();
  auto issued = issue_node_certificate(node_ca(), request_for(key.pub()));
  CHECK(is_signed_by(issued.der, node_ca().certificate));
  auto namesake = make_ca("node CA", noon).value();
  CHECK_FALSE(is_signed_by(issued.der, namesake.certificate));
  // The CA's key under another name.
  issuer renamed{node_ca().key.clone(),
                 make_ca("other", noon).value().certificate};
  auto other = issue_node_certificate(renamed, request_for(key.pub()));
  CHECK_FALSE(is_signed_by(other.der, node_ca().certificate));
  // A leaf is no CA.
  issuer leaf{key.clone(), issued.der};
  auto below = issue_node_certificate(leaf, request_for(key.pub()));
  CHECK_FALSE(is_signed_by(below.der, issued.der));
  // A CA whose key is not for certificates: keyCertSign taken away, else the
  // same.
  auto parts = x509::split(node_ca().certificate).value();
  auto with_usage = [&](std::uint8_t usage) {
    auto constraints = oids::der_of(0x30, 3, 1, 1, 0xff);
    return x509::sign(
        node_ca().key,
        {.serial = x509::serial_of({}),
         .issuer = parts.subject,
         .not_before = noon,
         .not_after = noon + seconds{60},
         .subject = parts.subject,
         .key = node_ca().key.pub(),
         .extensions = {
             x509::make_extension(oids::basic_constraints, true, constraints),
             x509::make_extension(oids::key_usage, true,
                                  oids::der_of(3, 2, 1, usage))}});
  };
  CHECK(is_signed_by(issued.der, with_usage(0x06)));
  CHECK_FALSE(is_signed_by(issued.der, with_usage(0x82)));
  auto damaged = issued.der;
  damaged[100] ^= 1;
  CHECK_FALSE(is_signed_by(damaged, node_ca().certificate));
  CHECK_FALSE(is_signed_by({}, node_ca().certificate));
  CHECK_FALSE(is_signed_by(issued.der, {}));
}

TEST_CASE("certificate: what is not a strict certificate is refused") {
  auto key = private_key::generate();
  auto issued = issue_node_certificate(node_ca(), request_for(key.pub()));
  REQUIRE(parse_certificate(issued.der));
  auto trailing = issued.der;
  trailing.push_back(0);
  CHECK_FALSE(parse_certificate(trailing));
  for (std::size_t size = 0; size < issued.der.size(); ++size)
    REQUIRE_FALSE(parse_certificate(byte_view{issued.der}.first(size)));
  // A key that is not P-256.
  openssl_key other{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384")};
  auto theirs = openssl_reads(issued.der);
  X509_set_pubkey(theirs.get(), other.get());
  openssl_key ca_key{EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")};
  X509_sign(theirs.get(), ca_key.get(), EVP_sha256());
  CHECK_FALSE(parse_certificate(re_encoded(theirs.get())));
  // An unknown extension may be there, but not be critical.
  X509_set_pubkey(theirs.get(), ca_key.get());
  auto add_extension = [&](int critical) {
    std::unique_ptr<ASN1_OCTET_STRING, release_with<ASN1_OCTET_STRING_free>>
        value{ASN1_OCTET_STRING_new()};
    ASN1_OCTET_STRING_set(value.get(),
                          reinterpret_cast<const unsigned char*>("x"), 1);
    std::unique_ptr<X509_EXTENSION, release_with<X509_EXTENSION_free>> e{
        X509_EXTENSION_create_by_NID(nullptr, NID_netscape_comment, critical,
                                     value.get())};
    X509_add_ext(theirs.get(), e.get(), -1);
    X509_sign(theirs.get(), ca_key.get(), EVP_sha256());
    return re_encoded(theirs.get());
  };
  CHECK(parse_certificate(add_extension(0)));
  X509_EXTENSION_free(X509_delete_ext(theirs.get(), 6));
  CHECK_FALSE(parse_certificate(add_extension(1)));
}

TEST_CASE("certificate: what we read of a damaged one, OpenSSL reads too") {
  auto key = private_key::generate();
  auto request = request_for(key.pub());
  request.statements = {ak_statement};
  auto leaf = issue_node_certificate(node_ca(), request).der;
  dice d;
  int read_ones = 0;
  for (int i = 0; i < 16'000; ++i) {
    auto der = mutate(i % 2 == 0 ? leaf : node_ca().certificate, d);
    auto ours = parse_certificate(der);
    if (!ours)
      continue;
    ++read_ones;
    INFO(to_hex(der));
    auto theirs = openssl_reads(der);
    REQUIRE(theirs != nullptr);
    auto* their_key = X509_get0_pubkey(theirs.get());
    REQUIRE(their_key != nullptr);
    REQUIRE(openssl_spki(their_key) == ours.value().key.spki());
    if (read_ones % 8 == 0)
      REQUIRE((X509_check_ca(theirs.get()) == 1 ||
               (X509_get_extension_flags(theirs.get()) & EXFLAG_CA) != 0) ==
              ours.value().is_ca);
  }
  CHECK(read_ones > 100);
}
