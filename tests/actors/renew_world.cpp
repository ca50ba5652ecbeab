#include "tests/actors/renew_world.hpp"

namespace bc::test {

const bytes& member::leaf() const {
  return chain.front();
}

member member::copy() const {
  return {id, key.clone(), chain};
}

void sign(wire::renew_request& r, const pki::private_key& key) {
  const auto csr = pki::sha256(r.csr);
  const auto time = std::to_string(r.client_time_ms);
  const auto made = pki::sign(key, pki::purpose::renew_pop,
                              {csr, as_bytes(r.node_id), as_bytes(time)});
  r.pop_signature.assign(made.begin(), made.end());
}

member member_of(const wire::join_answer& answer, const pki::private_key& key) {
  auto body = wire::decode_joined_body(answer.body).value();
  return {node_id::parse(body.node_id).value(), key.clone(),
          body.certificate_chain};
}

wire::renew_request renewal_of(const member& m, const pki::private_key& next,
                               time_point client_time) {
  wire::renew_request r;
  r.node_id = m.id.str();
  r.csr = pki::build_csr(next);
  r.certificate_chain = m.chain;
  r.client_time_ms = to_millis(client_time);
  sign(r, m.key);
  return r;
}

actors::daemon_call call_of(const wire::renew_request& r, const bytes& client) {
  return {wire::encode(r),
          "req-1",
          {client.begin(), client.end()},
          actors::daemon_request::renew};
}

bool renewed(const tried& t) {
  return t.answer.what == wire::join_answer::kind::renewed;
}

member renew_world::admit(int n) {
  auto m = make_machine(n);
  auto got = join(m, mint_token().text());
  REQUIRE(joined(got));
  return member_of(got.answer, m.key);
}

member renew_world::reclaim(int n) {
  auto m = make_machine(n);
  auto got = join(m, mint_reclaim_token().text());
  REQUIRE(joined(got));
  return member_of(got.answer, m.key);
}

wire::renew_request renew_world::renewal(const member& m,
                                         const pki::private_key& next,
                                         milliseconds clock_is_off) const {
  return renewal_of(m, next, time.now() + clock_is_off);
}

std::shared_ptr<actors::renew_environment> renew_world::renewing() {
  auto env = std::make_shared<actors::renew_environment>();
  env->keys = keys;
  env->root_tenant = root;
  env->certificate_lifetime = lifetime;
  if (tpm)
    env->tpm_lifetime = tpm->max_lifetime;
  env->refused = [this](actors::refusal_report r) {
    reports.push_back(std::move(r));
  };
  return env;
}

tried renew_world::renew(const wire::renew_request& r, const bytes& client) {
  reports.clear();
  int answers = 0;
  tried out;
  actors::run_renew(renewing(), ledger, call_of(r, client),
                    [&](wire::join_answer answer) {
                      ++answers;
                      out.answer = std::move(answer);
                    });
  REQUIRE(answers == 1);
  out.reports = reports;
  return out;
}

tried renew_world::renew(const member& m) {
  return renew(renewal(m, pki::private_key::generate()), m.leaf());
}

member renew_world::renew_well(const member& m) {
  auto next = pki::private_key::generate();
  auto got = renew(renewal(m, next), m.leaf());
  REQUIRE(renewed(got));
  return member_of(got.answer, next);
}

void check_renew_refused(renew_world& w, const tried& t, std::uint64_t head,
                         events::refusal_reason reason,
                         const tenant_id& owner) {
  CHECK(t.answer.what == wire::join_answer::kind::failed);
  CHECK(t.answer.code == errc::access_denied);
  CHECK(t.answer.message == "Renew refused");
  CHECK(t.answer.path.empty());
  REQUIRE(t.reports.size() == 1);
  const auto& r = t.reports.front();
  CHECK(events::text_of(r.reason) == events::text_of(reason));
  CHECK(r.owner == owner);
  CHECK(r.attestor == "renew");
  CHECK(r.correlation == "req-1");
  CHECK(r.csr_sha256.size() == 64);
  CHECK(r.hardware_key.empty());
  // The node is named to its owner alone.
  CHECK(r.node.empty() == (owner == w.root));
  CHECK(r.serial.empty() == (owner == w.root));
  CHECK(w.head() == head);
}

}  // namespace bc::test
