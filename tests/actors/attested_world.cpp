#include "tests/actors/attested_world.hpp"

#include "pki/certificate.hpp"
#include "pki/tpm/constants.hpp"

namespace bc::test {

namespace {

using pki::tpm::attest;
using pki::tpm::code;
using testing::certification;
using attestation = wire::key_attestation;

constexpr auto keep = [](auto&) {};

// A change of what the TPM signs.
auto attesting(std::function<void(attest&)> change) {
  return [change](certification& c) { c.change_attest = change; };
}

const broken_attestation rows[] = {
    {"another AK", code::key_attestation_ak,
     [](auto& c) { c.ak = testing::make_ak(testing::key_kind::p256, 1); }},
    {"no AK", code::key_attestation_ak, keep,
     [](auto& a) { a.ak_public.clear(); }},
    {"an AK that is none", code::key_attestation_ak, keep,
     [](auto& a) { a.ak_public.push_back(0); }},
    {"no key", code::node_key_missing, keep,
     [](auto& a) { a.node_key_public.clear(); }},
    {"no attest", code::node_key_missing, keep,
     [](auto& a) { a.certify_info.clear(); }},
    {"no signature", code::node_key_missing, keep,
     [](auto& a) { a.signature.clear(); }},
    {"a byte more", code::node_key_malformed, keep,
     [](auto& a) { a.certify_info.push_back(0); }},
    {"made by no TPM", code::node_key_magic,
     attesting([](attest& a) { a.magic = 0; })},
    {"a creation", code::node_key_type,
     attesting([](attest& a) { a.type = 0x801a; })},
    {"an AK of the null hierarchy", code::node_key_signer,
     [](auto& c) { c.hierarchy = 0x40000007; }},
    {"for another request", code::node_key_binding,
     attesting([](attest& a) { a.extra_data[31] ^= 1; })},
    {"of another key", code::node_key_name,
     attesting([](attest& a) { a.name.back() ^= 1; })},
    {"not signed", code::node_key_signature, keep,
     [](auto& a) { a.signature.back() ^= 1; }},
    {"of another curve", code::node_key_algorithm,
     [](auto& c) { c.area.name_alg = pki::tpm::alg::sha1; }},
    {"a key of software", code::node_key_attributes,
     [](auto& c) { c.area.attributes &= ~pki::tpm::attribute::fixed_tpm; }},
    {"the request is for another key", code::node_key_csr,
     [](auto& c) { c.csr = pki::build_csr(pki::private_key::generate()); }},
};

}  // namespace

bool is_of_an_attestation(std::string_view reason) {
  const auto what = reason.substr(reason.find(':') + 1);
  return what.starts_with("node-key-") || what == "key-attestation-ak";
}

std::span<const broken_attestation> broken_attestations() {
  return rows;
}

member node_with(join_world& w, std::vector<std::string> statements,
                 time_point born) {
  auto key = pki::private_key::generate();
  events::node::joined j;
  j.id = pki::mint<node_id>(w.time.now());
  j.tenant = w.owner;
  j.site = w.site;
  j.pool = w.pool;
  j.attestor = "tpm";
  j.node_key = "tpm";
  j.at = born;
  j.answer_subject = "tpm:" + j.id.str();
  j.answer_signature = bytes(64);
  const auto made =
      pki::issue_node_certificate(w.keys->node_ca, {key.pub(),
                                                    w.keys->trust_domain,
                                                    w.site.str(),
                                                    j.id.str(),
                                                    j.cert.role,
                                                    statements,
                                                    born,
                                                    seconds{86'400},
                                                    {}});
  j.cert.serial = to_hex(pki::random_bytes(16));
  j.cert.spki_sha256 = to_hex(key.pub().spki_sha256());
  j.cert.not_before = made.not_before;
  j.cert.not_after = made.not_after;
  j.cert.statements = std::move(statements);
  j.cert.der = made.der;
  j.cert.csr_sha256 = std::string(64, 'e');
  w.append<events::node::event>(events::stream_of(j.id), j, w.owner);
  return {j.id, std::move(key), {made.der, w.keys->node_ca.certificate}};
}

wire::renew_request attested_renewal(const renew_world& w, const member& m,
                                     const certification& c) {
  auto r = w.renewal(m, c.node_key);
  r.csr = c.csr;
  sign(r, m.key);
  r.attestation = c.make();
  return r;
}

wire::join_request attested_rejoin(rejoin_world& w, const member& m,
                                   const certification& c) {
  auto r = answer_to({}, m, 1, c.node_key, w.site);
  r.csr = c.csr;
  const auto given = w.challenge(r.csr, m.leaf());
  r.x509pop->kid = given.kid;
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, m.key, given.payload);
  r.x509pop->attestation = c.make();
  return r;
}

}  // namespace bc::test
