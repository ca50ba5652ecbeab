#include "pki/chain.hpp"

#include "base/encoding.hpp"
#include "pki/key.hpp"
#include "pki/ossl.hpp"

#include <openssl/x509v3.h>

#include <algorithm>

namespace bc::pki {

namespace {

// A peer sends what it likes; more certificates than this are not looked at.
constexpr std::size_t max_chain = 8;

ossl::x509 decode(const bytes& der) {
  const auto* at = der.data();
  ossl::x509 out{d2i_X509(nullptr, &at, static_cast<long>(der.size()))};
  if (out != nullptr && at != der.data() + der.size())
    out = nullptr;
  ossl::drain_errors();
  return out;
}

std::vector<ossl::x509> decode_all(const std::vector<bytes>& chain) {
  std::vector<ossl::x509> out;
  if (chain.size() > max_chain)
    return out;
  for (const auto& der : chain) {
    out.push_back(decode(der));
    if (out.back() == nullptr)
      return {};
  }
  return out;
}

std::string pin_of(X509* certificate) {
  unsigned char* der = nullptr;
  int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0)
    return {};
  auto digest = sha256({der, static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return "sha256/" + to_base64(digest);
}

bool signed_by(X509* leaf, X509* ca) {
  EVP_PKEY* key = X509_get0_pubkey(ca);
  bool good = key != nullptr && X509_check_issued(ca, leaf) == X509_V_OK &&
              X509_verify(leaf, key) == 1;
  ossl::drain_errors();
  return good;
}

bool names_host(X509* leaf, std::string_view host) {
  constexpr unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                             X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                             X509_CHECK_FLAG_SINGLE_LABEL_SUBDOMAINS;
  std::string text{host};
  // A text with a NUL or a leading dot means something else to OpenSSL.
  if (text.empty() || text.front() == '.' || text.find('\0') != text.npos)
    return false;
  // An address is never compared with a DNS name.
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(text.c_str());
  ASN1_OCTET_STRING_free(address);
  bool good = address != nullptr
                  ? X509_check_ip_asc(leaf, text.c_str(), 0) == 1
                  : X509_check_host(leaf, text.data(), text.size(), flags,
                                    nullptr) == 1;
  ossl::drain_errors();
  return good;
}

bool serves(X509* leaf) {
  auto usages = X509_get_extended_key_usage(leaf);
  bool good = usages != UINT32_MAX && (usages & XKU_SSL_SERVER) != 0 &&
              X509_check_purpose(leaf, X509_PURPOSE_SSL_SERVER, 0) == 1;
  ossl::drain_errors();
  return good;
}

bool is_valid_at(X509* certificate, time_point now) {
  auto at = static_cast<std::time_t>(
      std::chrono::floor<seconds>(now).time_since_epoch().count());
  // X509_cmp_time never answers "equal": a time that is the one compared with
  // counts as before it. Both ends belong to the validity.
  auto before_end = at - 1;
  return X509_cmp_time(X509_get0_notBefore(certificate), &at) < 0 &&
         X509_cmp_time(X509_get0_notAfter(certificate), &before_end) > 0;
}

}  // namespace

std::string_view chain_fault_text(chain_fault f) noexcept {
  switch (f) {
    case chain_fault::none:
      return "none";
    case chain_fault::no_chain:
      return "no chain";
    case chain_fault::pin:
      return "pin";
    case chain_fault::signature:
      return "signature";
    case chain_fault::name:
      return "name";
    case chain_fault::usage:
      return "usage";
  }
  return {};
}

chain_fault check_server_chain(const std::vector<bytes>& chain,
                               std::string_view serving_ca_pin,
                               std::string_view host) {
  auto certificates = decode_all(chain);
  if (certificates.empty())
    return chain_fault::no_chain;
  auto* leaf = certificates[0].get();
  bool pinned = false, signed_by_pinned = false;
  for (std::size_t i = 1; i < certificates.size(); ++i) {
    auto* ca = certificates[i].get();
    if (X509_check_ca(ca) != 1 || pin_of(ca) != serving_ca_pin)
      continue;
    pinned = true;
    signed_by_pinned = signed_by_pinned || signed_by(leaf, ca);
  }
  ossl::drain_errors();
  if (!pinned)
    return chain_fault::pin;
  if (!signed_by_pinned)
    return chain_fault::signature;
  if (!names_host(leaf, host))
    return chain_fault::name;
  if (X509_check_ca(leaf) != 0 || !serves(leaf))
    return chain_fault::usage;
  return chain_fault::none;
}

chain_fault check_server_chain(const std::vector<bytes>& chain,
                               const std::vector<std::string>& serving_ca_pins,
                               std::string_view host) {
  auto worst = chain_fault::no_chain;
  for (const auto& pin : serving_ca_pins) {
    auto found = check_server_chain(chain, std::string_view{pin}, host);
    if (found == chain_fault::none)
      return found;
    worst = std::max(worst, found);  // they are in the order of the checks
  }
  return worst;
}

bool chain_valid_at(const std::vector<bytes>& chain, time_point now) {
  auto certificates = decode_all(chain);
  if (certificates.empty() || !is_valid_at(certificates[0].get(), now))
    return false;
  for (std::size_t i = 1; i < certificates.size(); ++i)
    if (is_valid_at(certificates[i].get(), now) &&
        signed_by(certificates[0].get(), certificates[i].get()))
      return true;
  return false;
}

}  // namespace bc::pki
