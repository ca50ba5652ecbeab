// What a node must pass before it is adopted, run by a command (ATTESTATION 7;
// DESIGN 8).
#include "tests/actors/commands_world.hpp"
#include "tests/actors/disturbed_ledgers.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

class accepting_world : public commands_world {
 public:
  accepting_world() {
    events::pool::policy rules;
    rules.acceptance_checks = {"burn-in", "links"};
    change_pool(
        pool, acme,
        events::pool::update{std::nullopt, std::nullopt, rules, time.now()});
  }
  node::joined waiting_node() {
    return new_node([](auto& j) { j.acceptance = true; });
  }
  node::status status(const node::joined& j) {
    return node_state(j.id).current;
  }
};

}  // namespace

TEST_CASE(
    "commands: a run is of this acceptance by the node's stream, not by "
    "clocks") {
  accepting_world w;
  auto j = w.waiting_node();
  const auto heard = w.time.now();
  const std::string passed = R"({"passed":true,"failed":[]})";
  SECTION("enqueued after it began, by a clock that is behind") {
    REQUIRE(w.open_session(j, "sess_1"));
    w.time.set(heard - seconds{60});
    std::string id;
    SECTION("by an operator") {
      id = w.enqueue(j, "acceptance.run").at("/id");
    }
    SECTION("by the server") {
      id = w.fetched(j).at(0).command_id;
    }
    REQUIRE(w.result(j, id, true, passed) == 200);
    CHECK(w.status(j) == node::status::adopted);
  }
  SECTION("enqueued before it began, by a clock that is ahead") {
    w.time.set(heard + seconds{60});
    const auto id = w.enqueue(j, "acceptance.run").at("/id");
    w.time.set(heard);
    REQUIRE(w.open_session(j, "sess_1"));
    REQUIRE(w.result(j, id, true, passed) == 200);
    CHECK(w.status(j) == node::status::adopting);
  }
}

TEST_CASE("commands: acceptance begins with the first session, by a command") {
  accepting_world w;
  auto j = w.waiting_node();
  // Nobody has said hello yet: whoever asks is ahead of what is known here.
  CHECK(w.fetch(j).status == 503);
  REQUIRE(w.open_session(j, "sess_1"));
  auto before = w.position();
  auto all = w.fetched(j);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == "acceptance.run");
  CHECK(all[0].payload == R"({"checks":["burn-in","links"]})");
  auto written = w.store->read_all(before, 9).value();
  REQUIRE(written.size() == 1);
  CHECK(written[0].actor == "system");
  // Whoever asks again, at whatever session, finds the same one.
  CHECK(ids_of(w.fetched(j)) == ids_of(all));
  CHECK(w.position() == before + 1);
  const auto id = all[0].command_id;
  SECTION("it passes: adopted, without a row of the audit") {
    REQUIRE(w.result(j, id, true, R"({"passed":true,"failed":[]})") == 200);
    CHECK(w.status(j) == node::status::adopted);
    auto audit =
        w.call(w.acme_key, "audit.list",
               {{"tenantId", json_string(w.acme.str())},
                {"resource", json_string("compute-node/" + j.id.str())}});
    CHECK(audit.text.find("nodes:adopt") == std::string::npos);
    CHECK(w.fetched(j).empty());
  }
  SECTION("it fails, and an operator's run passes after a fix") {
    REQUIRE(w.result(j, id, true,
                     R"({"passed":false,"failed":["links","x"]})") == 200);
    auto got = w.call(w.acme_key, "nodes.get", w.naming(j));
    CHECK(got.at("/conditions/0/type") == "AcceptanceFailed");
    CHECK(got.at("/status") == "adopting");
    CHECK(w.node_state(j.id).failed_acceptance->checks == names{"links"});
    CHECK(w.fetched(j).empty());
    auto again = w.enqueue(j, "acceptance.run").at("/id");
    REQUIRE(w.result(j, again, true, R"({"passed":true,"failed":[]})") == 200);
    CHECK(w.status(j) == node::status::adopted);
  }
  SECTION("a daemon that cannot run it fails") {
    REQUIRE(w.result(j, id, false, R"({"error":"unknown-kind"})") == 200);
    CHECK(w.node_state(j.id).failed_acceptance->checks ==
          names{"burn-in", "links"});
  }
  SECTION("an operator's ping passes for no acceptance") {
    auto ping = w.enqueue(j, "ping").at("/id");
    REQUIRE(w.result(j, ping, true, R"({"passed":true,"failed":[]})") == 200);
    CHECK(w.status(j) == node::status::adopting);
  }
  SECTION("its time was up: another round") {
    w.time.set(from_millis(all[0].expires_at_ms));
    auto held = w.random.node_renewed(j);
    held.at = w.time.now();
    held.cert.allowed_kinds.clear();
    held.cert.not_before = w.time.now();
    held.cert.not_after = w.time.now() + seconds{3'600};
    REQUIRE(w.decide_on(j, node::renew{held}));
    auto later = j;
    later.cert = held.cert;
    auto next = w.fetched(later);
    REQUIRE(next.size() == 1);
    CHECK(next[0].command_id != id);
    // The first one's late word is no verdict, the second one's is.
    REQUIRE(w.result(later, id, false, R"({"error":"expired"})") == 200);
    CHECK_FALSE(w.node_state(j.id).failed_acceptance);
    REQUIRE(w.result(later, next[0].command_id, true, R"({"passed":true})") ==
            200);
    CHECK(w.status(j) == node::status::adopted);
  }
  SECTION("the run of before it joined again passes nobody") {
    w.time.advance(seconds{1});
    auto back = j;
    back.at = w.time.now();
    back.cert = w.random.node_joined().cert;
    back.cert.allowed_kinds.clear();
    back.cert.not_before = w.time.now();
    back.cert.not_after = w.time.now() + seconds{86'100};
    REQUIRE(w.decide_on(j, node::join{back}));
    auto again = *w.node_state(j.id).node;
    REQUIRE(again.cert.allowed_kinds.empty());
    REQUIRE(again.cert.der != j.cert.der);
    w.time.advance(seconds{1});
    REQUIRE(w.open_session(again, "sess_2"));
    REQUIRE(w.result(again, id, true, R"({"passed":true})") == 200);
    CHECK(w.status(j) == node::status::adopting);
    CHECK_FALSE(w.node_state(j.id).failed_acceptance);
    CHECK(w.fetched(again).size() == 1);
  }
  SECTION("it says that it did not run it: another round at once") {
    auto error =
        GENERATE(R"({"error":"expired"})", R"({"error":"interrupted"})");
    REQUIRE(w.result(j, id, false, error) == 200);
    CHECK_FALSE(w.node_state(j.id).failed_acceptance);
    auto next = w.fetched(j);
    REQUIRE(next.size() == 1);
    CHECK(next[0].command_id != id);
    CHECK(next[0].kind == "acceptance.run");
    REQUIRE(w.result(j, next[0].command_id, true, R"({"passed":true})") == 200);
    CHECK(w.status(j) == node::status::adopted);
  }
}

TEST_CASE("commands: a run that is made by a clock behind the hello's counts") {
  accepting_world w;
  auto j = w.waiting_node();
  w.time.advance(seconds{5});
  REQUIRE(w.open_session(j, "sess_1"));
  // Another process answers, whose clock is two seconds behind.
  const auto heard = w.time.now();
  w.time.set(heard - seconds{2});
  auto all = w.fetched(j);
  REQUIRE(all.size() == 1);
  CHECK(all[0].issued_at_ms == to_millis(heard));
  CHECK(all[0].expires_at_ms == to_millis(heard + seconds{86'400}));
  REQUIRE(w.result(j, all[0].command_id, true, R"({"passed":true})") == 200);
  CHECK(w.status(j) == node::status::adopted);
}

TEST_CASE("commands: what moves meanwhile is decided anew, or asked again") {
  accepting_world w;
  auto j = w.waiting_node();
  REQUIRE(w.open_session(j, "sess_1"));
  auto l = test::interrupt(w);
  SECTION("the run, while the node moves: later, and once") {
    l->meanwhile = [&] { w.decide_on(j, node::cordon{w.time.now(), ""}); };
    CHECK(w.fetch(j).status == 503);
    CHECK(w.count("node.command.enqueued") == 0);
    CHECK(w.fetched(j).empty());  // a cordoned node waits for nothing
  }
  SECTION("the run, while another process makes it: one command") {
    l->meanwhile = [&] { CHECK(w.fetched(j).size() == 1); };
    CHECK(w.fetch(j).status == 503);
    CHECK(w.fetched(j).size() == 1);
    CHECK(w.count("node.command.enqueued") == 1);
  }
  SECTION("an outcome, while another is noted: the first") {
    auto id = w.fetched(j)[0].command_id;
    l->meanwhile = [&] {
      CHECK(w.result(j, id, false, R"({"error":"bad-payload"})") == 200);
    };
    CHECK(w.result(j, id, true, R"({"passed":true})") == 200);
    CHECK(w.count("node.command.completed") == 1);
    CHECK(w.node_state(j.id).failed_acceptance);
    CHECK(w.status(j) == node::status::adopting);
  }
  SECTION("the store is away: nobody is told it is done") {
    auto id = w.fetched(j)[0].command_id;
    l->fails = true;
    CHECK(w.result(j, id, true, R"({"passed":true})") == 503);
    CHECK(w.fetch(j).status == 503);
    l->fails = false;
    CHECK(w.status(j) == node::status::adopting);
    CHECK(w.result(j, id, true, R"({"passed":true})") == 200);
    CHECK(w.status(j) == node::status::adopted);
  }
}
