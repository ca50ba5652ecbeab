#include "tests/actors/tpm_world.hpp"

#include "pki/claims_digest.hpp"
#include "pki/tpm/identity.hpp"

namespace bc::test {

namespace {

namespace jr = events::join_request;

}  // namespace

tpm_machine::tpm_machine(int n)
    : ek(testing::make_ek(testing::key_kind::p256, n)),
      claims(make_machine(n).claims) {
  key.ak = testing::make_ak(testing::key_kind::p256, n);
}

std::string tpm_machine::ek_hash() const {
  return to_hex(pki::tpm::ek_hash(ek.area));
}

std::string tpm_machine::statement() const {
  return pki::tpm::ak_statement(key.ak.name());
}

void tpm_machine::renew_key() {
  testing::certification fresh;
  fresh.ak = key.ak;
  key = std::move(fresh);
}

wire::join_request tpm_machine::request() const {
  wire::join_request r;
  r.attestor = wire::tpm_attestor;
  r.role = role;
  r.site_id = site;
  r.node_id = node;
  r.csr = key.csr;
  r.hardware = claims;
  return r;
}

wire::challenge_request tpm_machine::first_leg() const {
  wire::challenge_request r;
  r.attestor = wire::tpm_attestor;
  r.csr_sha256 = to_bytes(pki::sha256(key.csr));
  r.tpm = {ek.encoded(), key.ak.encoded(),
           to_bytes(pki::claims_digest(request()))};
  return r;
}

wire::tpm_evidence tpm_machine::answer(
    const wire::challenge_body& given) const {
  wire::tpm_evidence out;
  out.kid = given.kid;
  out.nonce = given.nonce;
  out.expires_ms = given.expires_ms;
  out.activation = testing::activate(ek, key.ak.name(), given.payload,
                                     given.encrypted_secret)
                       .value_or(bytes(32));
  out.ek_public = ek.encoded();
  out.ek_certificate = ek_certificate;
  out.ek_chain = ek_chain;
  const auto attested = key.make();
  out.ak_public = attested.ak_public;
  out.node_key_public = attested.node_key_public;
  out.certify_info = attested.certify_info;
  out.certify_signature = attested.signature;
  return out;
}

const testing::ek_issuer& ek_vendor() {
  static const auto one = testing::make_ek_ca("Vendor root", 1);
  return one;
}

result<std::vector<std::int64_t>> places_shown::taken_places(std::string_view,
                                                             time_point) {
  return taken;
}

tpm_world::tpm_world(const open_journal& open) : rejoin_world(open) {
  tpm.emplace();
  tpm->judge.ek_roots = {ek_vendor().certificate};
  ledger = std::make_shared<sync_ledger>(*journal, time, &places);
}

tpm_machine tpm_world::machine_of(int n) const {
  tpm_machine out{n};
  out.site = site.str();
  return out;
}

void tpm_world::allow(const tpm_machine& m) {
  allow(m, pool);
}

void tpm_world::allow(const tpm_machine& m, const pool_id& where) {
  tpm->allowed.insert_or_assign(m.ek_hash(), where);
}

void tpm_world::enroll(std::int64_t places_of_a_site) {
  tpm->enrollment.emplace();
  tpm->enrollment->pending_places = places_of_a_site;
}

wire::challenge_body tpm_world::challenge_of(const tpm_machine& m) {
  auto got = ask(m.first_leg());
  REQUIRE(got.what == wire::join_answer::kind::challenge);
  return wire::decode_challenge_body(got.body).value();
}

wire::join_request tpm_world::joining(const tpm_machine& m) {
  auto r = m.request();
  r.tpm = m.answer(challenge_of(m));
  return r;
}

node_id tpm_world::join_well(const tpm_machine& m) {
  auto got = join_by_tpm(m);
  REQUIRE(joined(got));
  return node_of(got.answer);
}

join_request_id tpm_world::deferred(const tpm_machine& m) {
  auto got = join_by_tpm(m);
  REQUIRE(got.answer.what == wire::join_answer::kind::deferred);
  CHECK(got.reports.empty());
  auto body = wire::decode_deferred_body(got.answer.body).value();
  CHECK(body.csr_sha256 == to_bytes(pki::sha256(m.key.csr)));
  CHECK(body.retry_after_seconds == 30);
  return join_request_id::parse(body.request_id).value();
}

jr::state tpm_world::request_state(const join_request_id& id) const {
  jr::state out;
  ledger->request(id, [&](auto state) { out = *state.value(); });
  REQUIRE(out.request);
  return out;
}

void tpm_world::approve(const join_request_id& id) {
  decide_request(
      id, jr::approve{{pool, site}, "ops", "", {}, seconds{3600}, time.now()});
}

void tpm_world::reject(const join_request_id& id) {
  decide_request(id, jr::reject{{pool, site}, "ops", "", time.now()});
}

void check_tpm_refused(tpm_world& w, const tried& t, std::uint64_t head,
                       events::refusal_reason reason, const tenant_id& owner) {
  check_refused(w, t, head, reason, owner);
  CHECK(t.reports.front().attestor == "tpm");
  CHECK(t.reports.front().token.empty());
  CHECK(t.answer.time.has_value());
}

}  // namespace bc::test
