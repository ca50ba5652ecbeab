// Renewals through the actors of two server processes on one journal.
#include "events/event_names.hpp"
#include "tests/actors/renew_world.hpp"
#include "tests/actors/two_processes.hpp"

#include <algorithm>

namespace bc::test {
namespace {

class renewing_processes : public two_processes {
 public:
  member admit(int n) {
    auto m = make_machine(n);
    auto got = w.join(m, w.mint_token().text());
    REQUIRE(joined(got));
    return member_of(got.answer, m.key);
  }
  [[nodiscard]] wire::renew_request renewal(
      const member& m, const pki::private_key& next) const {
    return renewal_of(m, next, w.time.now());
  }
  static daemon_reply renew(process& at, const wire::renew_request& r,
                            const bytes& client) {
    return at.ask(call_of(r, client));
  }
  void restart() {
    stop();
    for (auto* p : {&a, &b})
      p->server.reset();
    start(no_tail);
  }
  std::vector<events::refusal::renew_refused> refused(
      const tenant_id& of, std::string_view reason) const {
    std::vector<events::refusal::renew_refused> out;
    const auto stream = events::refusal_stream(of, "renew", reason);
    const auto all = w.journal->read_stream(stream, 0, 10'000).value();
    for (const auto& e : all) {
      CHECK(e.type == events::name::renew_refused);
      CHECK(e.tenant == of.str());
      out.push_back(std::get<events::refusal::renew_refused>(
          events::refusal::decode(e).value()));
    }
    return out;
  }
};

TEST_CASE_METHOD(renewing_processes,
                 "renew: one proof at two processes, and after their restart, "
                 "issues one certificate (case 101)",
                 "[actors][shared]") {
  const auto m = admit(1);
  const auto next = pki::private_key::generate();
  const auto r = renewal(m, next);
  start(no_tail);
  const auto first = renew(a, r, m.leaf());
  REQUIRE(first.status == 200);
  // As a relay sends it that lost its connection: the stored answer.
  const auto again = renew(b, r, m.leaf());
  REQUIRE(again.status == 200);
  CHECK(answer_in(again).body == answer_in(first).body);
  CHECK(answer_in(again).signature == answer_in(first).signature);
  CHECK(w.count(events::name::certificate_renewed) == 1);

  // The machine goes on; what somebody captured is a replay now.
  const auto holder = member_of(answer_in(first), next);
  const auto after = pki::private_key::generate();
  REQUIRE(renew(b, renewal(holder, after), holder.leaf()).status == 200);
  CHECK(renew(a, r, m.leaf()).status == 403);
  CHECK(renew(b, r, m.leaf()).status == 403);
  restart();
  CHECK(renew(a, r, m.leaf()).status == 403);
  CHECK(renew(b, r, m.leaf()).status == 403);
  stop();
  CHECK(w.count(events::name::certificate_renewed) == 2);
  const auto told = refused(w.owner, "renew:replayed");
  REQUIRE(told.size() == 4);
  CHECK(told[0].node == m.id.str());
  CHECK(told[0].serial == pki::parse_certificate(m.leaf()).value().serial);
  CHECK(told[0].csr_sha256 == to_hex(pki::sha256(r.csr)));
  check_journal();
}

TEST_CASE_METHOD(renewing_processes,
                 "renew: revoked through one, refused at once through the "
                 "other, and never issued meanwhile",
                 "[actors][shared]") {
  const auto m = admit(1);
  const auto key = credential();
  start(no_tail);
  // The other knows the node as it was.
  auto one = pki::private_key::generate();
  REQUIRE(renew(b, renewal(m, one), m.leaf()).status == 200);
  const auto revoked = a.call("nodes.revokeIdentity", key,
                              "{\"tenantId\":\"" + w.owner.str() +
                                  "\",\"nodeId\":\"" + m.id.str() + "\"}");
  REQUIRE(revoked.status == 200);
  auto two = pki::private_key::generate();
  CHECK(renew(b, renewal(m, two), m.leaf()).status == 403);
  stop();
  CHECK(w.count(events::name::certificate_renewed) == 1);
  CHECK(refused(w.owner, "renew:revoked").size() == 1);
}

TEST_CASE_METHOD(renewing_processes,
                 "renew: many renewals of one node through both: each is "
                 "issued or UNAVAILABLE",
                 "[actors][shared]") {
  constexpr std::size_t count = 24;
  const auto m = admit(1);
  std::vector<wire::renew_request> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back(renewal(m, pki::private_key::generate()));
  start(milliseconds{1});
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < count; ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call(call_of(requests[i], m.leaf()), replies.take());
  std::size_t issued = 0;
  for (const auto& r : replies.wait_for(count)) {
    CHECK((r.status == 200 || r.status == 503));
    issued += r.status == 200 ? 1 : 0;
  }
  stop();
  CHECK(issued > 0);
  CHECK(w.count(events::name::certificate_renewed) == issued);
  // Of more than may live at a time the oldest were superseded.
  CHECK(w.node(m.id).certificates.size() ==
        std::min(issued + 1, events::node::max_live_certificates));
  check_journal();
}

TEST_CASE_METHOD(renewing_processes,
                 "renew: a flood of refusals is 60 events, the rest counted, "
                 "and no node is named that nobody proved",
                 "[actors][shared]") {
  constexpr std::size_t count = 150;
  const auto m = admit(1);
  const auto mallory = pki::private_key::generate();
  std::vector<wire::renew_request> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(renewal(m, pki::private_key::generate()));
    sign(requests.back(), mallory);
  }
  start();
  collected<daemon_reply> replies;
  for (std::size_t i = 0; i < count; ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call(call_of(requests[i], m.leaf()), replies.take());
  for (const auto& r : replies.wait_for(count))
    CHECK(r.status == 403);
  stop();
  const auto told = refused(w.root, "renew:proof");
  CHECK(told.size() == 60);
  auto all = told.size() + w.journal
                               ->read_limiter(events::refusal_stream(
                                   w.root, "renew", "renew:proof"))
                               .value()
                               .dropped;
  for (const auto& e : told) {
    CHECK(e.node.empty());
    CHECK(e.serial.empty());
    all += e.suppressed;
  }
  CHECK(all == count);
  CHECK(w.count(events::name::join_refused) == 0);
}

TEST_CASE_METHOD(renewing_processes,
                 "renew: a request of a kind that is not served is "
                 "UNAVAILABLE",
                 "[actors]") {
  start();
  collected<daemon_reply> one;
  a.server->daemons().call(
      {"{}", "req", {}, static_cast<actors::daemon_request>(99)}, one.take());
  const auto reply = one.wait_for(1).front();
  CHECK(reply.status == 503);
  CHECK(at(reply.body, "/error/code") == "UNAVAILABLE");
  stop();
}

}  // namespace
}  // namespace bc::test
