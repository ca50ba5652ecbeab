// What pki/tpm says to a real TPM's bytes: reads one JSON request from standard
// input, writes one answer. Bytes are hexadecimal.
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/judge.hpp"
#include "pki/tpm/key_file.hpp"
#include "pki/tpm/key_rules.hpp"
#include "pki/tpm/verify.hpp"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>

namespace {

using namespace bc;
using namespace bc::pki::tpm;
using bc::json::reader;
using bc::json::writer;

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "tpm_driver: %s\n", what);
  std::exit(2);
}

bytes hex_of(const reader& in, std::string_view name) {
  auto text = in.optional_text(name);
  auto out =
      text ? from_hex(text.value().value_or("")) : fail(errc::internal, "");
  if (!out)
    stop("a field is not hexadecimal");
  return std::move(out).value();
}

std::vector<bytes> list_of(const reader& in, std::string_view name) {
  std::vector<bytes> out;
  auto texts = in.texts_or_none(name).value();
  for (const auto& text : texts)
    out.push_back(from_hex(text).value());
  return out;
}

std::array<std::uint8_t, 16> nonce_of(const reader& in) {
  std::array<std::uint8_t, 16> out{};
  auto given = hex_of(in, "nonce");
  if (given.size() != out.size())
    stop("a nonce is 16 bytes");
  std::copy(given.begin(), given.end(), out.begin());
  return out;
}

pki::sha256_digest claims_of(const reader& in) {
  pki::sha256_digest out{};
  auto given = hex_of(in, "claimsSha256");
  if (given.size() != out.size())
    stop("claimsSha256 is 32 bytes");
  std::copy(given.begin(), given.end(), out.begin());
  return out;
}

challenge_key key_of(const reader& in) {
  return {in.text("kid").value(), secret_bytes{hex_of(in, "challengeKey")}};
}

public_area area_of(byte_view whole) {
  auto out = parse_public(whole);
  if (!out)
    stop("not a TPMT_PUBLIC");
  return std::move(*out);
}

void put_code(writer& out, const std::optional<code>& c) {
  out.field("code", c ? text_of(*c) : std::string_view{});
}

void describe(const reader& in, writer& out) {
  auto whole = hex_of(in, "public");
  auto area = parse_public(whole);
  out.field("parsed", area.has_value());
  if (!area)
    return;
  auto name = name_of(*area, whole);
  auto ek = check_ek(*area), ak = check_ak(*area);
  out.field("name", to_hex(name))
      .field("same", encode(*area) == whole)
      .field("attributes", area->attributes)
      .field("ekHash", to_hex(ek_hash(*area)))
      .field("statement", ak_statement(name))
      .field("ek", ek ? text_of(*ek) : std::string_view{})
      .field("ak", ak ? text_of(*ak) : std::string_view{});
}

void answer(const reader& in, writer& out) {
  challenge_request asked{hex_of(in, "ekPublic"), hex_of(in, "akPublic"),
                          pki::sha256(hex_of(in, "csr")), claims_of(in)};
  auto made = answer_challenge(asked, key_of(in), nonce_of(in),
                               from_millis(in.integer("now").value()));
  if (const auto* fault = std::get_if<code>(&made))
    return put_code(out, *fault);
  const auto& a = std::get<challenge_answer>(made);
  out.field("expiresAt", to_millis(a.given.expires_at))
      .field("blob", to_hex(a.credential_blob))
      .field("encryptedSecret", to_hex(a.encrypted_secret));
}

void judge_evidence(const reader& in, writer& out) {
  evidence e;
  e.repeated = {in.text("kid").value(), nonce_of(in),
                from_millis(in.integer("expiresAt").value())};
  e.activation = hex_of(in, "activation");
  e.ek_public = hex_of(in, "ekPublic");
  e.ek_certificate = hex_of(in, "ekCertificate");
  e.ek_chain = list_of(in, "ekChain");
  e.ak_public = hex_of(in, "akPublic");
  e.node_key_public = hex_of(in, "nodeKeyPublic");
  e.certify_info = hex_of(in, "certifyInfo");
  e.certify_signature = hex_of(in, "signature");
  judge_config config;
  config.ek_roots = list_of(in, "ekRoots");
  config.ek_intermediates = list_of(in, "ekIntermediates");
  config.denied = in.texts_or_none("denied").value();
  config.require_ek_certificate = in.boolean_or("requireEkCert", false).value();
  std::vector<challenge_key> keys;
  keys.push_back(key_of(in));
  auto csr = hex_of(in, "csr");
  auto verdict = judge(e, config,
                       {pki::certificate_role::node, csr, claims_of(in), keys,
                        from_millis(in.integer("now").value())});
  if (const auto* fault = std::get_if<code>(&verdict))
    return put_code(out, *fault);
  const auto& a = std::get<admitted>(verdict);
  put_code(out, std::nullopt);
  out.field("ekHash", a.ek_hash)
      .field("ekCert", text_of(a.ek_certificate))
      .field("ekCertFault", a.ek_certificate_fault
                                ? text_of(*a.ek_certificate_fault)
                                : std::string_view{})
      .field("manufacturer", a.identity.manufacturer)
      .field("model", a.identity.model)
      .field("statement", a.statement);
}

key_attestation attestation_of(const reader& in) {
  return {hex_of(in, "akPublic"), hex_of(in, "nodeKeyPublic"),
          hex_of(in, "certifyInfo"), hex_of(in, "signature")};
}

void verify(const reader& in, writer& out) {
  put_code(out, verify_key_attestation(attestation_of(in), hex_of(in, "csr")));
}

void renew(const reader& in, writer& out) {
  put_code(out, check_renewal(in.texts_or_none("statements").value(),
                              attestation_of(in), hex_of(in, "csr")));
}

void check_signature(const reader& in, writer& out) {
  auto s = parse_signature(hex_of(in, "signature"));
  if (!s)
    stop("not a TPMT_SIGNATURE");
  out.field("good", verifies(area_of(hex_of(in, "akPublic")), *s,
                             hex_of(in, "message")));
}

void write_key(const reader& in, writer& out) {
  out.field("pem", key_file_of({hex_of(in, "private"), hex_of(in, "public")}));
}

void trim(const reader& in, writer& out) {
  auto cut = trim_certificate(hex_of(in, "index"));
  out.field("certificate", cut ? to_hex(*cut) : std::string{});
}

}  // namespace

int main() {
  std::string text{std::istreambuf_iterator<char>{std::cin}, {}};
  auto parsed = bc::json::parse_object(text);
  if (!parsed)
    stop("not a JSON object");
  reader in{parsed.value()};
  const std::map<std::string, void (*)(const reader&, writer&)> operations{
      {"describe", describe},
      {"challenge", answer},
      {"judge", judge_evidence},
      {"verify", verify},
      {"renew", renew},
      {"signature", check_signature},
      {"trim", trim},
      {"keyFile", write_key}};
  auto found = operations.find(in.text("op").value());
  if (found == operations.end())
    stop("no such operation");
  writer out;
  out.begin_object();
  found->second(in, out);
  out.end_object();
  std::printf("%s\n", out.str().c_str());
  return 0;
}
