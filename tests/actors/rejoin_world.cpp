#include "tests/actors/rejoin_world.hpp"

#include "pki/claims_digest.hpp"

namespace bc::test {

wire::challenge_request challenge_for(const bytes& csr, const bytes& leaf) {
  return {std::string{wire::x509pop_attestor}, to_bytes(pki::sha256(csr)),
          leaf};
}

void sign(wire::join_request& r, const pki::private_key& key,
          const bytes& secret) {
  auto& evidence = *r.x509pop;
  const auto expires = std::to_string(evidence.expires_ms);
  const auto made = pki::sign(
      key, pki::purpose::rejoin_pop,
      {pki::sha256(r.csr), pki::sha256(evidence.chain.front()), evidence.nonce,
       as_bytes(expires), secret, pki::claims_digest(r)});
  evidence.signature.assign(made.begin(), made.end());
}

wire::join_request answer_to(const wire::challenge_body& challenge,
                             const member& m, int n,
                             const pki::private_key& next,
                             const site_id& site) {
  wire::join_request r;
  r.attestor = wire::x509pop_attestor;
  r.role = "node";
  r.site_id = site.str();
  r.node_id = m.id.str();
  r.csr = pki::build_csr(next);
  r.hardware = make_machine(n).claims;
  r.x509pop = wire::x509pop_evidence{
      m.chain, challenge.kid, challenge.nonce, challenge.expires_ms, {}};
  sign(r, m.key, challenge.payload);
  return r;
}

actors::daemon_call call_of(const wire::challenge_request& r) {
  return {wire::encode(r), "req-1", {}, actors::daemon_request::join_challenge};
}

actors::daemon_call call_of(const wire::join_request& r) {
  return {wire::encode(r), "req-1", {}, actors::daemon_request::join};
}

wire::join_answer rejoin_world::ask(const wire::challenge_request& r) {
  reports.clear();
  int answers = 0;
  wire::join_answer out;
  actors::run_challenge(environment(), actors::challenge_bucket(), ledger,
                        call_of(r), [&](wire::join_answer answer) {
                          ++answers;
                          out = std::move(answer);
                        });
  REQUIRE(answers == 1);
  return out;
}

wire::challenge_body rejoin_world::challenge(const bytes& csr,
                                             const bytes& leaf) {
  auto got = ask(challenge_for(csr, leaf));
  REQUIRE(got.what == wire::join_answer::kind::challenge);
  return wire::decode_challenge_body(got.body).value();
}

wire::join_request rejoin_world::rejoining(const member& m, int n,
                                           const pki::private_key& next) {
  // A CSR is signed at random: it is the request's that the challenge is for.
  auto r = answer_to({}, m, n, next, site);
  const auto given = challenge(r.csr, m.leaf());
  r.x509pop->kid = given.kid;
  r.x509pop->nonce = given.nonce;
  r.x509pop->expires_ms = given.expires_ms;
  sign(r, m.key, given.payload);
  return r;
}

tried rejoin_world::rejoin(const member& m, int n) {
  return join(rejoining(m, n, pki::private_key::generate()));
}

member rejoin_world::rejoin_well(const member& m, int n) {
  const auto next = pki::private_key::generate();
  auto got = join(rejoining(m, n, next));
  REQUIRE(joined(got));
  return member_of(got.answer, next);
}

void check_rejoin_refused(join_world& w, const tried& t, std::uint64_t head,
                          events::refusal_reason reason,
                          const tenant_id& owner) {
  check_refused(w, t, head, reason, owner);
  CHECK(t.reports.front().attestor == "x509pop");
  CHECK(t.reports.front().token.empty());
  CHECK(t.answer.time.has_value());
}

}  // namespace bc::test
