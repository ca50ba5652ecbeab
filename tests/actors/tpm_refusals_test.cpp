// spec: ATTESTATION sections 2.4 to 2.6, 7 and 8.5: each reason by its own
// machine, to whom, with one answer, and nothing consumed.
#include "actors/joining/key_fault.hpp"
#include "tests/actors/attested_world.hpp"
#include "tests/actors/tpm_world.hpp"

#include <set>

namespace bc::test {
namespace {

using events::refusal_reason;
using pki::tpm::code;
namespace at = pki::tpm::attribute;

struct row {
  refusal_reason reason;
  bool to_root;
  /// Before the first leg.
  std::function<void(tpm_world&, tpm_machine&)> before;
  /// What is sent in the second.
  std::function<void(tpm_world&, wire::join_request&)> after;
};

void nothing(tpm_world&, tpm_machine&) {}
void as_it_is(tpm_world&, wire::join_request&) {}

auto evidence(std::function<void(wire::tpm_evidence&)> change) {
  return [change](tpm_world&, wire::join_request& r) { change(*r.tpm); };
}
auto machine(std::function<void(tpm_machine&)> change) {
  return [change](tpm_world&, tpm_machine& m) { change(m); };
}
// With a certificate, where a verified one is wanted.
auto certified(std::function<void(testing::ek_options&)> change) {
  return [change](tpm_world& w, tpm_machine& m) {
    w.tpm->judge.require_ek_certificate = true;
    testing::ek_options o;
    change(o);
    m.ek_certificate = testing::make_ek_certificate(m.ek, ek_vendor(), o);
  };
}

/// Takes the claim that this challenge is used once by, as a join by it would.
void use_up(tpm_world& w, const wire::join_request& r) {
  events::node::renewed e;
  e.id = pki::mint<node_id>(w.time.now());
  e.tenant = w.owner;
  e.at = w.time.now();
  e.cert.serial = to_hex(pki::random_bytes(16));
  e.cert.spki_sha256 = to_hex(pki::random_bytes(32));
  e.cert.csr_sha256 = to_hex(pki::random_bytes(32));
  e.cert.not_before = e.cert.not_after = w.time.now();
  e.previous_serial = e.cert.serial;
  e.answer_signature = bytes(64);
  e.proof_sha256 = to_hex(pki::tpm::challenge_proof("tpm", r.tpm->nonce));
  w.append<events::node::event>(events::stream_of(e.id), e, w.owner);
}

void by_attestation(std::vector<row>& to, const broken_attestation& broken) {
  if (broken.code == code::key_attestation_ak)
    return;  // a join names its AK itself
  to.push_back({actors::reason_of("tpm", broken.code), true,
                [broken](tpm_world&, tpm_machine& m) { broken.before(m.key); },
                evidence([broken](wire::tpm_evidence& e) {
                  wire::key_attestation a{e.ak_public, e.node_key_public,
                                          e.certify_info, e.certify_signature};
                  broken.after(a);
                  e.node_key_public = a.node_key_public;
                  e.certify_info = a.certify_info;
                  e.certify_signature = a.signature;
                })});
}

std::vector<row> all_rows() {
  std::vector<row> out = {
      {refusal_reason::join_csr, true, nothing,
       [](auto&, auto& q) { q.csr.back() ^= 1; }},
      {refusal_reason::tpm_malformed, true, nothing,
       [](auto&, auto& q) { q.tpm.reset(); }},
      {refusal_reason::tpm_malformed, true, nothing,
       evidence([](auto& e) { e.ek_public.push_back(0); })},
      {refusal_reason::tpm_malformed, true, nothing,
       evidence([](auto& e) { e.ak_public.pop_back(); })},
      {refusal_reason::tpm_role, true,
       machine([](auto& m) { m.role = "ramdisk"; }), as_it_is},
      {refusal_reason::tpm_role, true,
       machine([](auto& m) { m.role = "site"; }), as_it_is},
      {refusal_reason::tpm_challenge_unknown, true, nothing,
       evidence([](auto& e) { e.kid = "sha256/of-nobody"; })},
      {refusal_reason::tpm_challenge_expired, true, nothing,
       [](auto& w, auto&) { w.time.advance(seconds{120}); }},
      {refusal_reason::tpm_ek_template, true, nothing, evidence([](auto& e) {
         auto area = *pki::tpm::parse_public(e.ek_public);
         area.attributes |= at::sign;
         e.ek_public = pki::tpm::encode(area);
       })},
      {refusal_reason::tpm_ek_cert_key, true, machine([](auto& m) {
         m.ek_certificate = testing::make_ek_certificate(
             testing::make_ek(testing::key_kind::p256, 99), ek_vendor());
       }),
       as_it_is},
      {refusal_reason::tpm_ek_denied, true,
       [](auto& w, auto& m) { w.tpm->judge.denied = {m.ek_hash()}; }, as_it_is},
      {refusal_reason::tpm_ek_cert_malformed, true,
       [](auto& w, auto& m) {
         w.tpm->judge.require_ek_certificate = true;
         m.ek_certificate = {1, 2, 3};
       },
       as_it_is},
      {refusal_reason::tpm_ek_cert_profile, true,
       certified([](auto& o) { o.extended_key_usage = "serverAuth"; }),
       as_it_is},
      {refusal_reason::tpm_ek_cert_chain, true,
       [](auto& w, auto& m) {
         certified([](auto&) {})(w, m);
         w.tpm->judge.ek_roots.clear();
       },
       as_it_is},
      {refusal_reason::tpm_ek_cert_expired, true,
       certified([](auto& o) { o.not_after = "20250101000000Z"; }), as_it_is},
      {refusal_reason::tpm_ek_cert_required, true,
       [](auto& w, auto&) { w.tpm->judge.require_ek_certificate = true; },
       as_it_is},
      {refusal_reason::tpm_ak_algorithm, true, machine([](auto& m) {
         std::get<pki::tpm::ecc_parameters>(m.key.ak.area.parameters)
             .scheme = {};
       }),
       as_it_is},
      {refusal_reason::tpm_ak_attributes, true,
       machine([](auto& m) { m.key.ak.area.attributes &= ~at::restricted; }),
       as_it_is},
      {refusal_reason::tpm_activation, true, nothing,
       evidence([](auto& e) { e.activation[0] ^= 1; })},
      // Its claims, which a gateway relays in the open.
      {refusal_reason::tpm_activation, true, nothing,
       [](auto&, auto& q) { q.hardware.product_serial = "ANOTHER"; }},
  };
  for (const auto& broken : broken_attestations())
    by_attestation(out, broken);
  const std::vector<row> admission = {
      {refusal_reason::tpm_challenge_replayed, true, nothing,
       [](auto& w, auto& q) { use_up(w, q); }},
      {refusal_reason::tpm_challenge_replayed, false,
       [](auto& w, auto& m) { w.allow(m); },
       [](auto& w, auto& q) { use_up(w, q); }},
      {refusal_reason::tpm_ek_unknown, true, nothing, as_it_is},
      {refusal_reason::tpm_ek_cert_required, true,
       [](auto& w, auto&) {
         w.tpm->admit_verified = {{w.site, w.pool}};
       },
       as_it_is},
      {refusal_reason::tpm_ek_cert_chain, true,
       [](auto& w, auto& m) {
         w.tpm->admit_verified = {{w.site, w.pool}};
         w.tpm->judge.ek_roots.clear();
         m.ek_certificate = testing::make_ek_certificate(m.ek, ek_vendor());
       },
       as_it_is},
      {refusal_reason::tpm_ek_request_rejected, true,
       [](auto& w, auto& m) {
         w.enroll();
         w.reject(w.deferred(m));
       },
       as_it_is},
      {refusal_reason::tpm_enrollment_full, true,
       [](auto& w, auto&) {
         w.enroll(1);
         w.places.taken = {0};
       },
       as_it_is},
      {refusal_reason::join_site, true,
       [](auto& w, auto& m) {
         w.enroll();
         m.site = "site_of-mine";
       },
       as_it_is},
      {refusal_reason::join_site, true,
       [](auto& w, auto& m) {
         w.enroll();
         m.site = pki::mint<site_id>(w.time.now()).str();
       },
       as_it_is},
      // Hardware of a node that another TPM is bound to.
      {refusal_reason::tpm_ek_bound, false,
       [](auto& w, auto& m) {
         auto other = w.machine_of(77);
         other.claims = m.claims;
         w.allow(other);
         w.join_well(other);
         w.allow(m);
       },
       as_it_is},
      // Hardware of a node that no TPM is bound to.
      {refusal_reason::join_reclaim, false,
       [](auto& w, auto& m) {
         const auto plain = make_machine(5);
         REQUIRE(joined(w.join(plain, w.mint_token().text())));
         m.claims = plain.claims;
         w.allow(m);
       },
       as_it_is},
      {refusal_reason::join_pool, true,
       [](auto& w, auto& m) { w.allow(m, pki::mint<pool_id>(w.time.now())); },
       as_it_is},
      {refusal_reason::join_pool, false,
       [](auto& w, auto& m) {
         const auto gone =
             w.new_pool(w.owner, w.site, events::pool::agent::bcd);
         w.archive(gone);
         w.allow(m, gone);
       },
       as_it_is},
      {refusal_reason::join_site, false,
       [](auto& w, auto& m) {
         m.site = w.new_site().str();
         w.allow(m);
       },
       as_it_is},
      {refusal_reason::join_pool_attestor, false,
       [](auto& w, auto& m) {
         w.allow(m, w.new_pool(w.owner, w.site, events::pool::agent::bcd,
                               {{"join-token"}, false, {}}));
       },
       as_it_is},
      {refusal_reason::join_csr, false,
       [](auto& w, auto& m) {
         auto other = w.machine_of(78);
         other.key.node_key = m.key.node_key.clone();
         other.key.csr = pki::build_csr(other.key.node_key);
         other.key.area = testing::node_key_area(m.key.node_key.pub());
         w.allow(other);
         w.join_well(other);
         w.allow(m);
       },
       as_it_is},
  };
  out.insert(out.end(), admission.begin(), admission.end());
  return out;
}

const std::vector<row>& rows() {
  static const auto all = all_rows();
  return all;
}

TEST_CASE("tpm: each refusal, to its tenant, with one answer") {
  std::optional<std::string> bytes_of_all;
  std::optional<std::size_t> length;
  std::set<std::string_view> of_the_key;
  for (std::size_t n = 0; n < rows().size(); ++n) {
    const auto& row = rows()[n];
    INFO(n << ": " << events::text_of(row.reason));
    tpm_world w;
    auto m = w.machine_of(1);
    row.before(w, m);
    auto r = w.joining(m);
    row.after(w, r);
    const auto head = w.head();
    auto got = w.join(r);
    check_tpm_refused(w, got, head, row.reason, row.to_root ? w.root : w.owner);
    CHECK(got.reports.front().csr_sha256 == to_hex(pki::sha256(r.csr)));

    auto text = without_time(got.answer);
    CHECK(bytes_of_all.value_or(text) == text);
    bytes_of_all = text;
    auto size = wire::encode(got.answer).size();
    CHECK(length.value_or(size) == size);
    length = size;
    if (is_of_an_attestation(events::text_of(row.reason)))
      of_the_key.insert(events::text_of(got.reports.front().reason));
  }
  CHECK(of_the_key == std::set<std::string_view>{
                          "tpm:node-key-missing", "tpm:node-key-malformed",
                          "tpm:node-key-magic", "tpm:node-key-type",
                          "tpm:node-key-signer", "tpm:node-key-binding",
                          "tpm:node-key-name", "tpm:node-key-signature",
                          "tpm:node-key-algorithm", "tpm:node-key-attributes",
                          "tpm:node-key-csr"});
}

TEST_CASE("tpm: every reason of its own stands in the table") {
#define BC_X(name, attestor, text)                                   \
  CHECK(std::any_of(rows().begin(), rows().end(), [](const row& r) { \
    return r.reason == refusal_reason::name;                         \
  }));
  BC_TPM_REFUSAL_REASONS(BC_X)
#undef BC_X
}

// What the operator needs who is to allow an EK; nothing of what was not
// proved.
TEST_CASE("tpm: what is kept of a refusal, for its owner alone") {
  tpm_world w;
  const auto m = w.machine_of(1);
  auto got = w.join_by_tpm(m);
  REQUIRE(got.reports.size() == 1);
  const auto& details = got.reports.front().details;
  CHECK(details.find(m.ek_hash()) != details.npos);
  CHECK(details.find("absent") != details.npos);

  auto r = w.joining(m);
  r.tpm->activation[0] ^= 1;
  got = w.join(r);
  REQUIRE(got.reports.size() == 1);
  CHECK(got.reports.front().details == "{}");
}

TEST_CASE("tpm: where it is not configured, both legs are of no attestor") {
  tpm_world w;
  const auto m = w.machine_of(1);
  const auto r = w.joining(m);
  w.tpm.reset();
  const auto head = w.head();
  auto got = w.join(r);
  check_refused(w, got, head, refusal_reason::join_attestor, w.root);
  CHECK(got.reports.front().attestor == "unknown");
  auto asked = w.ask(m.first_leg());
  CHECK(without_time(asked) == without_time(got.answer));
  REQUIRE(w.reports.size() == 1);
  CHECK(w.reports.front().reason == refusal_reason::join_attestor);
}

}  // namespace
}  // namespace bc::test
