#include "tests/support/ek_certificates.hpp"

#include <catch2/catch.hpp>
#include <openssl/core_names.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace bc::testing {

namespace {

struct free_x509 {
  void operator()(X509* p) const { X509_free(p); }
};
using x509 = std::unique_ptr<X509, free_x509>;

x509 read(byte_view der) {
  const auto* at = der.data();
  x509 out{d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
  REQUIRE(out != nullptr);
  return out;
}

bytes der_of(X509* certificate) {
  unsigned char* out = nullptr;
  int size = i2d_X509(certificate, &out);
  REQUIRE(size > 0);
  bytes der{out, out + size};
  OPENSSL_free(out);
  return der;
}

void set_time(ASN1_TIME* to, time_point t) {
  ASN1_TIME_set(to, to_millis(t) / 1000);
}

void add_extension(X509* to, int nid, const std::string& value) {
  X509V3_CTX ctx;
  X509V3_set_ctx(&ctx, to, to, nullptr, nullptr, 0);
  auto* one = X509V3_EXT_conf_nid(nullptr, &ctx, nid, value.c_str());
  REQUIRE(one != nullptr);
  X509_add_ext(to, one, -1);
  X509_EXTENSION_free(one);
}

void add_text(X509_NAME* to, const char* oid, const std::string& text) {
  auto* object = OBJ_txt2obj(oid, 1);
  REQUIRE(X509_NAME_add_entry_by_OBJ(
              to, object, MBSTRING_UTF8,
              reinterpret_cast<const unsigned char*>(text.data()),
              static_cast<int>(text.size()), -1, 0) == 1);
  ASN1_OBJECT_free(object);
}

void add_san(X509* to, const ek_options& o) {
  auto* names = GENERAL_NAMES_new();
  auto* name = X509_NAME_new();
  for (const auto& [oid, text] : o.tpm_attributes)
    add_text(name, oid.c_str(), text);
  auto* directory = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(directory, GEN_DIRNAME, name);
  sk_GENERAL_NAME_push(names, directory);
  if (o.san_with_dns) {
    auto* dns = GENERAL_NAME_new();
    auto* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, "tpm.example", -1);
    GENERAL_NAME_set0_value(dns, GEN_DNS, text);
    sk_GENERAL_NAME_push(names, dns);
  }
  REQUIRE(X509_add1_ext_i2d(to, NID_subject_alt_name, names,
                            o.san_critical ? 1 : 0, 0) == 1);
  GENERAL_NAMES_free(names);
}

void add_unknown_critical(X509* to) {
  auto* object = OBJ_txt2obj("1.3.6.1.4.1.55555.1", 1);
  auto* value = ASN1_OCTET_STRING_new();
  const unsigned char null[] = {5, 0};
  ASN1_OCTET_STRING_set(value, null, 2);
  auto* one = X509_EXTENSION_create_by_OBJ(nullptr, object, 1, value);
  X509_add_ext(to, one, -1);
  X509_EXTENSION_free(one);
  ASN1_OCTET_STRING_free(value);
  ASN1_OBJECT_free(object);
}

x509 blank(int number) {
  x509 out{X509_new()};
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 100 + number);
  return out;
}

// The SPKI's OID is one byte's change: rsaEncryption ends in 1, RSAES-OAEP in
// 7, and its parameters' place stays NULL.
void name_oaep(X509* certificate) {
  auto* object = OBJ_nid2obj(NID_rsaesOaep);
  const unsigned char* data = nullptr;
  int size = 0;
  auto* pub = X509_get_X509_PUBKEY(certificate);
  X509_PUBKEY_get0_param(nullptr, &data, &size, nullptr, pub);
  auto* copy = static_cast<unsigned char*>(
      OPENSSL_memdup(data, static_cast<std::size_t>(size)));
  REQUIRE(X509_PUBKEY_set0_param(pub, object, V_ASN1_NULL, nullptr, copy,
                                 size) == 1);
}

}  // namespace

ek_issuer make_ek_ca(const std::string& name, int number,
                     const ek_issuer* signer, const ca_options& options) {
  ek_issuer out{soft_pkey_of(key_kind::p256, 5000 + number), {}, name};
  auto certificate = blank(number);
  auto* to = certificate.get();
  add_text(X509_get_subject_name(to), "2.5.4.3", name);
  if (signer == nullptr)
    X509_set_issuer_name(to, X509_get_subject_name(to));
  else
    X509_set_issuer_name(
        to, X509_get_subject_name(read(signer->certificate).get()));
  set_time(X509_getm_notBefore(to), options.not_before);
  set_time(X509_getm_notAfter(to), options.not_after);
  X509_set_pubkey(to, out.key.get());
  std::string basic = "critical,CA:";
  basic += options.is_ca ? "TRUE" : "FALSE";
  if (options.path_length)
    basic += ",pathlen:" + std::to_string(*options.path_length);
  if (options.basic_constraints)
    add_extension(to, NID_basic_constraints, basic);
  if (!options.key_usage.empty())
    add_extension(to, NID_key_usage, options.key_usage);
  X509_sign(to, signer == nullptr ? out.key.get() : signer->key.get(),
            options.sha1 ? EVP_sha1() : EVP_sha256());
  out.certificate = der_of(to);
  return out;
}

bytes make_ek_certificate(const soft_key& ek, const ek_issuer& signer,
                          const ek_options& o) {
  auto certificate = blank(1);
  auto* to = certificate.get();
  X509_set_version(to, o.version);
  if (!o.common_name.empty())
    add_text(X509_get_subject_name(to), "2.5.4.3", o.common_name);
  X509_set_issuer_name(to,
                       X509_get_subject_name(read(signer.certificate).get()));
  set_time(X509_getm_notBefore(to), o.not_before);
  REQUIRE(ASN1_TIME_set_string(X509_getm_notAfter(to), o.not_after.c_str()));
  soft_pkey subject{EVP_PKEY_dup(ek.key.get()), evp_pkey_free{}};
  if (o.compressed_point)
    REQUIRE(EVP_PKEY_set_utf8_string_param(
                subject.get(), OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_COMPRESSED) == 1);
  X509_set_pubkey(to, subject.get());
  if (o.oaep_oid)
    name_oaep(to);
  if (o.version == 2) {
    if (!o.basic_constraints.empty())
      add_extension(to, NID_basic_constraints, o.basic_constraints);
    auto usage = o.key_usage;
    if (usage.empty())
      usage = ek.area.rsa() != nullptr ? "critical,keyEncipherment"
                                       : "critical,keyAgreement";
    if (usage != "none")
      add_extension(to, NID_key_usage, usage);
    if (!o.extended_key_usage.empty())
      add_extension(to, NID_ext_key_usage, o.extended_key_usage);
    if (o.san)
      add_san(to, o);
    if (o.unknown_critical)
      add_unknown_critical(to);
  }
  X509_sign(to, signer.key.get(), o.sha1 ? EVP_sha1() : EVP_sha256());
  return der_of(to);
}

}  // namespace bc::testing
