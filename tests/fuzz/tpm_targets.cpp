#include "pki/pem.hpp"
#include "pki/tpm/credential.hpp"
#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/key_attestation.hpp"
#include "pki/tpm/key_file.hpp"
#include "pki/tpm/key_rules.hpp"
#include "pki/tpm/verify.hpp"
#include "tests/fuzz/targets.hpp"

#include <openssl/err.h>

namespace bc::fuzz {

// What is read is written again byte for byte, and a key that passes as an EK
// is one that a credential can be made for.
void tpm_public(byte_view input) {
  auto area = pki::tpm::parse_public(input);
  if (!area)
    return;
  BC_MUST(pki::tpm::encode(*area) == to_bytes(input));
  auto name = pki::tpm::name_of(*area, input);
  (void)pki::tpm::ak_statement(name);
  if (!pki::tpm::check_ek(*area)) {
    BC_MUST(!pki::tpm::spki_of(*area).empty());
    BC_MUST(pki::tpm::make_credential(*area, name, bytes(32, 1)).has_value());
  }
  // No key is both.
  BC_MUST(pki::tpm::check_ak(*area) || pki::tpm::check_ek(*area));
  BC_MUST(!pki::tpm::verifies(*area, {}, input));
  ERR_clear_error();
}

void tpm_attest(byte_view input) {
  auto info = pki::tpm::parse_attest(input);
  if (info)
    BC_MUST(pki::tpm::encode(*info) == to_bytes(input));
  // Nothing is attested by bytes alone.
  pki::tpm::key_attestation e{bytes(1), bytes(1), to_bytes(input), bytes(1)};
  BC_MUST(pki::tpm::verify_key_attestation(e, input).has_value());
}

void tpm_signature(byte_view input) {
  auto s = pki::tpm::parse_signature(input);
  if (!s)
    return;
  BC_MUST(pki::tpm::encode(*s) == to_bytes(input));
  // The public point 5 G of P-256, as a key that signs with ECDSA.
  static const bytes x{0x51, 0x59, 0x0b, 0x7a, 0x51, 0x51, 0x40, 0xd2,
                       0xd7, 0x84, 0xc8, 0x56, 0x08, 0x66, 0x8f, 0xdf,
                       0xef, 0x8c, 0x82, 0xfd, 0x1f, 0x5b, 0xe5, 0x24,
                       0x21, 0x55, 0x4a, 0x0d, 0xc3, 0xd0, 0x33, 0xed};
  static const bytes y{0xe0, 0xc1, 0x7d, 0xa8, 0x90, 0x4a, 0x72, 0x7d,
                       0x8a, 0xe1, 0xbf, 0x36, 0xbf, 0x8a, 0x79, 0x26,
                       0x0d, 0x01, 0x2f, 0x00, 0xd4, 0xd8, 0x08, 0x88,
                       0xd1, 0xd0, 0xbb, 0x44, 0xfd, 0xa1, 0x6d, 0xa4};
  pki::tpm::public_area key;
  key.type = pki::tpm::alg::ecc;
  pki::tpm::ecc_parameters p;
  p.scheme = {pki::tpm::alg::ecdsa, pki::tpm::alg::sha256};
  p.curve = pki::tpm::curve::p256;
  p.x = x;
  p.y = y;
  key.parameters = p;
  BC_MUST(!pki::tpm::verifies(key, *s, as_bytes("never signed")));
  ERR_clear_error();
}

// Whatever an index holds: what is cut out of it is read or not, and is never
// an EK's certificate under its own authority.
void ek_certificate(byte_view input) {
  for (auto der :
       {std::optional{to_bytes(input)}, pki::tpm::trim_certificate(input)}) {
    if (!der)
      continue;
    BC_MUST(der->size() <= input.size());
    auto read = pki::tpm::ek_certificate::read(*der);
    if (!read)
      continue;
    (void)read->check_profile();
    BC_MUST(read->identity().model.size() <= 64);
    auto now = from_millis(1'800'000'000'000);
    BC_MUST(read->check_chain({}, {*der}, {*der}, now).has_value());
    BC_MUST(!read->is_for({}));
  }
  BC_MUST(ERR_peek_error() == 0);
}

// A key file that is read is written again with the same DER.
void tpm_key_file(byte_view input) {
  auto text = text_of(input);
  auto key = pki::tpm::read_key_file(text);
  if (!key)
    return;
  const auto again = pki::tpm::key_file_of(key.value());
  BC_MUST(pki::tpm::is_key_file(again));
  auto read = pki::pem::decode("TSS2 PRIVATE KEY", text);
  auto written = pki::pem::decode("TSS2 PRIVATE KEY", again);
  BC_MUST(read.has_value() && written.has_value());
  BC_MUST(to_bytes(read.value().expose()) ==
          to_bytes(written.value().expose()));
}

}  // namespace bc::fuzz
