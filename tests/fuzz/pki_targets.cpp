#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/certificate.hpp"
#include "pki/csr.hpp"
#include "pki/der.hpp"
#include "pki/hardware_key.hpp"
#include "pki/jwe.hpp"
#include "pki/release.hpp"
#include "pki/signature.hpp"
#include "pki/spiffe.hpp"
#include "tests/fuzz/targets.hpp"

#include <openssl/err.h>
#include <openssl/x509.h>

#include <memory>

namespace bc::fuzz {

namespace {

template <auto Free>
struct freer {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};

pki::private_key recipient() {
  bytes scalar(32, 7);
  return std::move(pki::private_key::from_scalar(scalar)).value();
}

}  // namespace

// Whatever our reader accepts, OpenSSL's accepts too, and to the last byte.
void csr(byte_view input) {
  auto ours = pki::parse_csr(input);
  if (!ours)
    return;
  const auto* at = input.data();
  std::unique_ptr<X509_REQ, freer<X509_REQ_free>> theirs{
      d2i_X509_REQ(nullptr, &at, static_cast<long>(input.size()))};
  BC_MUST(theirs != nullptr);
  BC_MUST(at == input.data() + input.size());
  std::unique_ptr<EVP_PKEY, freer<EVP_PKEY_free>> key{
      X509_REQ_get_pubkey(theirs.get())};
  BC_MUST(key != nullptr);
  BC_MUST(pki::self_signature_verifies(ours.value()) ==
          (X509_REQ_verify(theirs.get(), key.get()) == 1));
  ERR_clear_error();
}

void certificate(byte_view input) {
  auto ours = pki::parse_certificate(input);
  if (!ours)
    return;
  const auto* at = input.data();
  std::unique_ptr<X509, freer<X509_free>> theirs{
      d2i_X509(nullptr, &at, static_cast<long>(input.size()))};
  BC_MUST(theirs != nullptr);
  BC_MUST(at == input.data() + input.size());
  (void)pki::is_signed_by(input, input);
  ERR_clear_error();
}

void der(byte_view input) {
  pki::der::reader read{input};
  std::size_t seen = 0;
  while (auto e = read.next()) {
    seen += e->whole.size();
    BC_MUST(seen <= input.size());
    (void)pki::der::well_formed(e->content);
    (void)pki::der::is_name(e->content);
    (void)pki::der::is_positive(e->content);
    (void)pki::der::is_sorted(e->content);
    (void)pki::der::octets_of_bits(e->content);
    if (auto t = pki::der::read_time(*e))
      (void)pki::der::write_time(*t);
  }
}

// The seal in the corpus is for this key, CSR and time; a change of any byte
// of it must not open.
void jwe(byte_view input) {
  static const auto key = recipient();
  auto opened = pki::open_seal(key, text_of(input), pki::sha256_digest{},
                               from_millis(1'800'000'000'000));
  if (opened)
    BC_MUST(opened.value().expose_text() == "bcjt_fuzz");
  ERR_clear_error();
}

void jwk(byte_view input) {
  auto key = pki::from_jwk(text_of(input));
  if (!key)
    return;
  auto again = pki::from_jwk(pki::to_jwk(key.value()));
  BC_MUST(again.has_value());
  BC_MUST(again.value() == key.value());
}

void pem(byte_view input) {
  if (auto der = pki::certificate_from_pem(text_of(input)))
    (void)pki::certificate_pem(der.value());
  if (auto key = pki::private_key::from_pkcs8_pem(text_of(input)))
    BC_MUST(
        pki::private_key::from_pkcs8_pem(key.value().pkcs8_pem().expose_text())
            .has_value());
  if (auto key = pki::public_key::from_spki(input))
    BC_MUST(key.value().spki() == to_bytes(input));
  ERR_clear_error();
}

// One claim a line: what is left of the claims does not change when it is
// claimed again, or with its parts in another order.
void hardware(byte_view input) {
  pki::hardware_claims claims;
  auto text = text_of(input);
  std::string* fields[] = {&claims.product_uuid, &claims.product_serial,
                           &claims.board_serial, &claims.chassis_serial};
  for (std::size_t line = 0; !text.empty(); ++line) {
    auto end = text.find('\n');
    std::string one{text.substr(0, end)};
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line < std::size(fields))
      *fields[line] = one;
    else if (line % 2 == 0)
      claims.macs.push_back(one);
    else
      claims.gpu_uuids.push_back(one);
  }
  auto once = pki::normalise(claims);
  auto key = pki::derive_hardware_key(once);
  BC_MUST(key.hex.empty() || key.hex.size() == 64);
  BC_MUST(!key.trusted || !once.serials.empty() || once.product_uuid ||
          (!once.macs.empty() && !once.gpu_uuids.empty()));
  pki::hardware_claims left;
  left.product_uuid = once.product_uuid.value_or("");
  std::string* serials[] = {&left.product_serial, &left.board_serial,
                            &left.chassis_serial};
  BC_MUST(once.serials.size() <= std::size(serials));
  for (std::size_t i = 0; i < once.serials.size(); ++i)
    *serials[i] = once.serials[i];
  left.macs = {once.macs.rbegin(), once.macs.rend()};
  left.gpu_uuids = {once.gpu_uuids.rbegin(), once.gpu_uuids.rend()};
  auto kept = once;
  kept.printed_uuids.clear();  // not among what is claimed again
  BC_MUST(pki::normalise(left) == kept);
  for (const auto& serial : once.serials)
    BC_MUST(is_utf8(serial));
  // A placeholder satisfies no expectation.
  for (const auto* claimed :
       {&claims.product_serial, &claims.board_serial, &claims.chassis_serial}) {
    pki::hardware_expectation expect;
    expect.serial = *claimed;
    auto expected = pki::normalise_expectation(expect);
    BC_MUST(!pki::matches(expected.value, once) || !expected.bad_field);
  }
}

void names(byte_view input) {
  auto text = text_of(input);
  if (auto id = pki::parse_spiffe_id(text))
    BC_MUST(pki::to_uri(id.value()) == text);
  if (auto domain = pki::parse_trust_domain(text))
    BC_MUST(domain.value() == text);
  (void)pki::is_pin(text);
}

// As a manifest, and as the body that a good key signed. What opens is a
// release that can be signed again, and is then the same.
void release_manifest(byte_view input) {
  auto key = recipient();
  const std::vector<std::string> pins{key.pub().pin()};
  static_cast<void>(pki::open_release(text_of(input), pins));
  json::writer out;
  out.begin_object()
      .field("body", to_base64(input))
      .field("signingKey", to_base64(key.pub().spki()))
      .field("sig", to_base64(pki::sign(key, pki::purpose::release, {input})))
      .end_object();
  auto opened = pki::open_release(out.str(), pins);
  if (!opened)
    return;
  BC_MUST(pki::is_release_version(opened.value().version));
  BC_MUST(!opened.value().files.empty());
  auto again = pki::sign_release(key, opened.value());
  BC_MUST(again);
  auto same = pki::open_release(again.value(), pins);
  BC_MUST(same && same.value().files == opened.value().files);
}

}  // namespace bc::fuzz
