// Rejoins through the actors of two server processes on one journal: whatever
// one of them gave, the other can check (spec: ATTESTATION section 1.1).
#include "events/event_names.hpp"
#include "tests/actors/rejoin_world.hpp"
#include "tests/actors/two_processes.hpp"

namespace bc::test {
namespace {

class rejoining_processes : public two_processes {
 public:
  rejoining_processes() { w.x509pop = true; }

  member admit_and_expire(int n) {
    auto m = make_machine(n);
    auto got = w.join(m, w.mint_token().text());
    REQUIRE(joined(got));
    w.time.advance(w.lifetime + seconds{60});
    return member_of(got.answer, m.key);
  }
  wire::join_request rejoining(process& by, const member& m, int n,
                               const pki::private_key& next) const {
    auto r = answer_to({}, m, n, next, w.site);
    const auto reply = by.ask(call_of(challenge_for(r.csr, m.leaf())));
    REQUIRE(reply.status == 200);
    const auto given =
        wire::decode_challenge_body(answer_in(reply).body).value();
    r.x509pop->kid = given.kid;
    r.x509pop->nonce = given.nonce;
    r.x509pop->expires_ms = given.expires_ms;
    sign(r, m.key, given.payload);
    return r;
  }
};

TEST_CASE_METHOD(rejoining_processes,
                 "rejoin: a challenge of one process, answered to the other",
                 "[actors][shared]") {
  const auto m = admit_and_expire(1);
  const auto next = pki::private_key::generate();
  start(no_tail);
  const auto r = rejoining(a, m, 1, next);
  const auto first = b.ask(call_of(r));
  REQUIRE(first.status == 200);
  // The stored answer, wherever it is asked for.
  for (auto* p : {&a, &b}) {
    const auto again = p->ask(call_of(r));
    REQUIRE(again.status == 200);
    CHECK(answer_in(again).body == answer_in(first).body);
  }
  stop();
  CHECK(w.count(events::name::node_joined) == 2);
  CHECK(w.node(m.id).generation == 2);
  check_journal();
}

TEST_CASE_METHOD(rejoining_processes,
                 "rejoin: many copies of a machine through both: one wins",
                 "[actors][shared]") {
  constexpr std::size_t count = 16;
  const auto m = admit_and_expire(1);
  start(milliseconds{1});
  std::vector<wire::join_request> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back(
        rejoining(i % 2 == 0 ? a : b, m, 1, pki::private_key::generate()));
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < count; ++i)
    (i % 3 == 0 ? a : b)
        .server->daemons()
        .call(call_of(requests[i]), replies.take());
  std::size_t admitted = 0;
  for (const auto& r : replies.wait_for(count)) {
    CHECK((r.status == 200 || r.status == 403 || r.status == 503));
    admitted += r.status == 200 ? 1 : 0;
  }
  stop();
  CHECK(admitted == 1);
  CHECK(w.node(m.id).generation == 2);
  CHECK(w.count(events::name::node_joined) == 2);
  check_journal();
}

TEST_CASE_METHOD(rejoining_processes,
                 "rejoin: a refusal is an event of its owner, and explained",
                 "[actors][shared]") {
  const auto m = admit_and_expire(1);
  const auto key = credential();
  start(no_tail);
  // Other hardware than the node's.
  const auto r = rejoining(a, m, 2, pki::private_key::generate());
  CHECK(a.ask(call_of(r)).status == 403);
  stop();
  const auto stream =
      events::refusal_stream(w.owner, "x509pop", "x509pop:hardware-mismatch");
  const auto all = w.journal->read_stream(stream, 0, 10).value();
  REQUIRE(all.size() == 1);
  CHECK(all[0].type == events::name::join_refused);
  CHECK(all[0].tenant == w.owner.str());
  const auto event = std::get<events::refusal::refused>(
      events::refusal::decode(all[0]).value());
  CHECK(event.attestor == "x509pop");
  CHECK(event.role == "node");
  CHECK(event.csr_sha256 == to_hex(pki::sha256(r.csr)));
  CHECK(event.hardware_key.size() == 64);

  for (auto* p : {&a, &b})
    p->server.reset();
  start(no_tail);
  const auto told =
      a.call("joins.explain", key,
             "{\"tenantId\":\"" + w.owner.str() + "\",\"csrSha256\":\"" +
                 to_hex(pki::sha256(r.csr)) + "\"}");
  CHECK(told.status == 200);
  CHECK(told.body.find("x509pop:hardware-mismatch") != std::string::npos);
  CHECK(told.body.find("copied key") != std::string::npos);
  CHECK(at(told.body, "/refusals/0/presented") ==
        "another productUuid, serial");
  stop();
}

}  // namespace
}  // namespace bc::test
