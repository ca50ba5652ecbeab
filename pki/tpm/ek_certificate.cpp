#include "pki/tpm/ek_certificate.hpp"

#include "pki/tpm/cursor.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/name_text.hpp"
#include "pki/tpm/x509_handles.hpp"

#include <openssl/core_names.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace bc::pki::tpm {

namespace {

using general_names =
    std::unique_ptr<GENERAL_NAMES, ossl::deleter<GENERAL_NAMES_free>>;

constexpr std::size_t most_shown = 64;

// Tag and length of an outer SEQUENCE, minimal or not; 0 when there is none.
std::size_t sequence_size(byte_view in) {
  if (in.size() < 2 || in[0] != 0x30)
    return 0;
  if (in[1] < 0x80)
    return 2u + in[1];
  std::size_t count = in[1] & 0x7fu, size = 0;
  if (count == 0 || count > 3 || in.size() < 2 + count)
    return 0;
  for (std::size_t i = 0; i < count; ++i)
    size = (size << 8) | in[2 + i];
  return 2 + count + size;
}

std::string text_of_entry(const X509_NAME_ENTRY* entry) {
  unsigned char* raw = nullptr;
  int size = ASN1_STRING_to_UTF8(&raw, X509_NAME_ENTRY_get_data(entry));
  if (size < 0) {
    ossl::drain_errors();
    return {};
  }
  std::string out(reinterpret_cast<char*>(raw), static_cast<std::size_t>(size));
  OPENSSL_free(raw);
  // It goes into requests and events: letters and marks, not much of them.
  bool plain = out.size() <= most_shown &&
               std::ranges::all_of(
                   out, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  return plain ? out : std::string{};
}

// The three attributes by their numbers; each may stand in an RDN of its own
// or all in one.
tpm_identity identity_in(const X509_NAME* name) {
  tpm_identity out;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const auto* entry = X509_NAME_get_entry(name, i);
    char oid[32] = {};
    OBJ_obj2txt(oid, sizeof oid, X509_NAME_ENTRY_get_object(entry), 1);
    std::string_view id = oid;
    if (id == "2.23.133.2.1")
      out.manufacturer = text_of_entry(entry);
    else if (id == "2.23.133.2.2")
      out.model = text_of_entry(entry);
    else if (id == "2.23.133.2.3")
      out.version = text_of_entry(entry);
  }
  return out;
}

struct alternative_name {
  bool present = false;
  bool critical = false;
  bool readable = false;
  /// The one directoryName, and nothing else, with all three attributes.
  bool names_a_tpm = false;
  tpm_identity identity;
};

alternative_name read_san(const X509* certificate) {
  alternative_name out;
  int critical = -1;
  general_names names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nullptr))};
  ossl::drain_errors();
  out.present = critical != -1;
  out.critical = critical == 1;
  out.readable = names != nullptr;
  if (names == nullptr)
    return out;
  int directories = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* one = sk_GENERAL_NAME_value(names.get(), i);
    if (one->type != GEN_DIRNAME)
      continue;
    ++directories;
    out.identity = identity_in(one->d.directoryName);
  }
  const auto& id = out.identity;
  out.names_a_tpm = directories == 1 && sk_GENERAL_NAME_num(names.get()) == 1 &&
                    !id.manufacturer.empty() && !id.model.empty() &&
                    !id.version.empty();
  return out;
}

enum class usage { absent, good, wrong, unreadable };

usage extended_key_usage(const X509* certificate) {
  int critical = -1;
  std::unique_ptr<EXTENDED_KEY_USAGE, ossl::deleter<EXTENDED_KEY_USAGE_free>>
      all{static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(
          certificate, NID_ext_key_usage, &critical, nullptr))};
  ossl::drain_errors();
  if (all == nullptr)
    return critical == -1 ? usage::absent : usage::unreadable;
  for (int i = 0; i < sk_ASN1_OBJECT_num(all.get()); ++i) {
    char oid[32] = {};
    OBJ_obj2txt(oid, sizeof oid, sk_ASN1_OBJECT_value(all.get(), i), 1);
    // tcg-kp-EKCertificate
    if (std::string_view{oid} == "2.23.133.8.1")
      return usage::good;
  }
  return usage::wrong;
}

// n and e of an RSAPublicKey by hand: OpenSSL reads no key under the OID
// id-RSAES-OAEP.
bytes rsa_spki_of(const X509* certificate) {
  ASN1_OBJECT* algorithm = nullptr;
  const unsigned char* data = nullptr;
  int size = 0;
  if (X509_PUBKEY_get0_param(&algorithm, &data, &size, nullptr,
                             X509_get_X509_PUBKEY(certificate)) != 1)
    return {};
  int nid = OBJ_obj2nid(algorithm);
  if (nid != NID_rsaesOaep && nid != NID_rsaEncryption)
    return {};
  const auto* at = data;
  ossl::pkey key{d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, size)};
  ossl::drain_errors();
  if (key == nullptr || at != data + size)
    return {};
  unsigned char* out = nullptr;
  int length = i2d_PUBKEY(key.get(), &out);
  if (length <= 0)
    return {};
  bytes spki{out, out + length};
  OPENSSL_free(out);
  return spki;
}

// The same key as rsaEncryption, since OpenSSL builds no chain for a key that
// it cannot read. Read into its place: the signed bytes are kept as they came.
void name_rsa(X509* certificate, byte_view spki) {
  auto* place = X509_get_X509_PUBKEY(certificate);
  const auto* at = spki.data();
  if (d2i_X509_PUBKEY(&place, &at, static_cast<long>(spki.size())) != place)
    ossl::die("a checked key was refused");
}

// Of a point: in exactly that many bytes, or empty.
bytes coordinate_of(const EVP_PKEY* key, const char* name, std::size_t width) {
  BIGNUM* raw = nullptr;
  int got = EVP_PKEY_get_bn_param(key, name, &raw);
  ossl::bignum number{raw};
  bytes out(width);
  if (got == 1 &&
      BN_bn2binpad(number.get(), out.data(), static_cast<int>(width)) > 0)
    return out;
  ossl::drain_errors();
  return {};
}

bytes curve_spki_of(X509* certificate) {
  auto* key = X509_get0_pubkey(certificate);
  ossl::drain_errors();
  if (key == nullptr || EVP_PKEY_get_base_id(key) != EVP_PKEY_EC)
    return {};
  // Its curve by name and its point by value: "pub" would be in the form that
  // the certificate has it in, which may be the compressed one.
  char group[32] = {};
  ecc_parameters p;
  if (EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) != 1) {
    ossl::drain_errors();
    return {};
  }
  for (auto one : {curve::p256, curve::p384})
    if (std::string_view{group} == curve_name(one))
      p.curve = one;
  auto width = coordinate_size(p.curve);
  if (width == 0)
    return {};
  p.x = coordinate_of(key, OSSL_PKEY_PARAM_EC_PUB_X, width);
  p.y = coordinate_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, width);
  if (p.x.empty() || p.y.empty())
    return {};
  public_area area;
  area.type = alg::ecc;
  area.parameters = std::move(p);
  return spki_of(area);
}

}  // namespace

std::optional<bytes> trim_certificate(byte_view index) {
  constexpr std::uint8_t wrapper[] = {0x10, 0x01, 0x00};
  if (index.size() > 5 && std::ranges::equal(index.first(3), wrapper))
    index = index.subspan(5);
  auto size = sequence_size(index);
  if (size == 0 || size > index.size())
    return std::nullopt;
  return to_bytes(index.first(size));
}

struct ek_certificate::impl {
  ossl::x509 certificate;
  alternative_name san;
  std::string issuer;
  bytes spki;
};

ek_certificate::ek_certificate(std::shared_ptr<const impl> i)
    : impl_(std::move(i)) {}

std::optional<ek_certificate> ek_certificate::read(byte_view der) {
  if (der.size() > max_certificate_size)
    return std::nullopt;
  auto certificate = read_x509(der);
  if (certificate == nullptr)
    return std::nullopt;
  auto out = std::make_shared<impl>();
  out->san = read_san(certificate.get());
  out->issuer = text_of_name(X509_get_issuer_name(certificate.get()));
  out->spki = rsa_spki_of(certificate.get());
  if (out->spki.empty())
    out->spki = curve_spki_of(certificate.get());
  else if (X509_get0_pubkey(certificate.get()) == nullptr)
    name_rsa(certificate.get(), out->spki);
  ossl::drain_errors();
  out->certificate = std::move(certificate);
  return ek_certificate{std::move(out)};
}

bool ek_certificate::is_for(const public_area& ek) const {
  auto spki = spki_of(ek);
  return !spki.empty() && spki == impl_->spki;
}

std::optional<code> ek_certificate::check_profile() const {
  auto* certificate = impl_->certificate.get();
  auto flags = X509_get_extension_flags(certificate);
  auto extended = extended_key_usage(certificate);
  const auto& san = impl_->san;
  if ((flags & EXFLAG_INVALID) != 0 || extended == usage::unreadable ||
      (san.present && !san.readable)) {
    ossl::drain_errors();
    return code::ek_cert_malformed;
  }
  bool is_rsa = rsa_spki_of(certificate) == impl_->spki;
  auto needed = is_rsa ? KU_KEY_ENCIPHERMENT : KU_KEY_AGREEMENT;
  bool wrong_use =
      (flags & EXFLAG_KUSAGE) != 0 && (X509_get_key_usage(certificate) &
                                       static_cast<std::uint32_t>(needed)) == 0;
  // EXFLAG_CRITICAL: something critical that OpenSSL does not read; the SAN it
  // passes over, so it is held to its form here.
  if (X509_get_version(certificate) != X509_VERSION_3 ||
      (flags & (EXFLAG_CA | EXFLAG_CRITICAL)) != 0 || wrong_use ||
      extended == usage::wrong || (san.critical && !san.names_a_tpm))
    return code::ek_cert_profile;
  return std::nullopt;
}

const tpm_identity& ek_certificate::identity() const noexcept {
  return impl_->san.identity;
}

const std::string& ek_certificate::issuer() const noexcept {
  return impl_->issuer;
}

std::optional<code> ek_certificate::check_chain(
    const std::vector<bytes>& roots, const std::vector<bytes>& intermediates,
    const std::vector<bytes>& sent, time_point now) const {
  return check_ek_chain(impl_->certificate.get(), roots, intermediates, sent,
                        now);
}

}  // namespace bc::pki::tpm
