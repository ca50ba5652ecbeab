// commands.enqueue, get and list (spec: joining#node-certificates, DESIGN
// 8-10).
#include "events/actor.hpp"
#include "tests/actors/commands_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

TEST_CASE("api commands: what is asked, answered and written") {
  commands_world w;
  auto j = w.new_node();
  auto got =
      w.enqueue(j, "inventory.collect",
                {{"payload", R"({"b":[1, 2],"a":{}})"}, {"ttlSeconds", "90"}});
  INFO(got.text);
  REQUIRE(got.status == 200);
  CHECK(got.at("/status") == "pending");
  CHECK(got.at("/kind") == "inventory.collect");
  CHECK(got.at("/nodeId") == j.id.str());
  CHECK(got.at("/payload/b/1") == "2");
  CHECK(got.at("/enqueuedAt") == to_rfc3339(w.time.now()));
  CHECK(got.at("/expiresAt") == to_rfc3339(w.time.now() + seconds{90}));
  auto written = w.store->read_all(w.position() - 1, 9).value();
  REQUIRE(written.size() == 1);
  CHECK(written[0].stream == "command:" + got.at("/id"));
  CHECK(written[0].tenant == w.acme.str());
  CHECK(events::parse_actor(written[0].actor).principal == "alice");
  // The read model says the same.
  auto read = w.get(j, got.at("/id"));
  CHECK(read.at("/payload/b/1") == "2");
  CHECK(read.at("/status") == "pending");
  w.time.advance(seconds{90});
  CHECK(w.get(j, got.at("/id")).at("/status") == "expired");
  auto list = w.call(w.acme_key, "commands.list", w.naming(j));
  CHECK(list.ids() == std::vector{got.at("/id")});
  CHECK_FALSE(list.has("/items/0/payload"));
  auto audit = w.call(w.acme_key, "audit.list",
                      {{"tenantId", json_string(w.acme.str())},
                       {"action", "\"compute:commands:create\""}});
  CHECK(audit.at("/items/0/resource") == "compute-node/" + j.id.str());
  CHECK(audit.text.find("payload") == std::string::npos);
}

TEST_CASE("api commands: a key gives the same command, as it is by then") {
  commands_world w;
  auto j = w.new_node(), other = w.new_node();
  const fields key{{"idempotencyKey", "\"once\""}};
  auto first = w.enqueue(j, "ping", key);
  REQUIRE(first.status == 200);
  auto before = w.position();
  w.time.advance(seconds{5});
  auto again = w.enqueue(j, "ping", key);
  CHECK(again.at("/id") == first.at("/id"));
  CHECK(again.at("/enqueuedAt") == first.at("/enqueuedAt"));
  REQUIRE(w.result(j, first.at("/id"), true, "pong") == 200);
  CHECK(w.enqueue(j, "ping", key).at("/status") == "succeeded");
  CHECK(w.enqueue(j, "ping", key).at("/output") == "pong");
  CHECK(w.position() == before + 1);
  for (const auto& more :
       {with(key, "ttlSeconds", "61"), with(key, "payload", R"({"a":1})")})
    CHECK(w.enqueue(j, "ping", more).code() == "CONFLICT");
  CHECK(w.enqueue(j, "pong", key).code() == "CONFLICT");
  CHECK(w.enqueue(other, "ping", key).code() == "CONFLICT");
  // Another principal's key is another.
  auto theirs = w.add_credential(w.acme, "bob", {{"*", "*"}});
  auto input = w.naming(j);
  input["kind"] = "\"ping\"";
  input["idempotencyKey"] = "\"once\"";
  auto bobs = w.call(theirs, "commands.enqueue", input);
  CHECK(bobs.status == 200);
  CHECK(bobs.at("/id") != first.at("/id"));
}

TEST_CASE("api commands: which nodes take which") {
  commands_world w;
  auto free = w.new_node();
  auto narrow = w.new_node([](auto& j) {
    j.cert.allowed_kinds = {"inspect.*", "ping"};
  });
  CHECK(w.enqueue(free, "anything.at-all").status == 200);
  CHECK(w.enqueue(narrow, "ping").status == 200);
  CHECK(w.enqueue(narrow, "inspect.disks").status == 200);
  auto before = w.position();
  for (const char* kind : {"inspect", "reboot", "inspector.x", "ping.x"})
    CHECK(w.enqueue(narrow, kind).code() == "INVALID_STATE");
  auto over = w.new_node();
  REQUIRE(w.decide_on(over, node::cordon{w.time.now(), ""}));
  REQUIRE(w.decide_on(over, node::retire{w.time.now(), ""}));
  CHECK(w.enqueue(over, "ping").code() == "INVALID_STATE");
  // What another tenant owns is as what does not exist.
  auto input = w.naming(free);
  input["tenantId"] = json_string(w.other.str());
  input["kind"] = "\"ping\"";
  input["idempotencyKey"] = "\"k\"";
  CHECK(w.call(w.other_key, "commands.enqueue", input).code() == "NOT_FOUND");
  input.erase("kind");
  input.erase("idempotencyKey");
  CHECK(w.call(w.other_key, "commands.list", input).code() == "NOT_FOUND");
  CHECK(before < w.position());  // the cordon alone
  CHECK(w.count("node.command.enqueued") == 3);
}

TEST_CASE("api commands: so many may wait for one node") {
  constexpr int most = 1'000;
  commands_world w;
  auto j = w.new_node(), other = w.new_node();
  const fields first{{"idempotencyKey", "\"first\""}};
  const auto id = w.enqueue(j, "ping", first).at("/id");
  for (int i = 1; i < most; ++i)
    REQUIRE(w.enqueue(j, "ping").status == 200);
  const auto before = w.position();
  auto full = w.enqueue(j, "ping");
  CHECK(full.code() == "INVALID_STATE");
  CHECK(w.position() == before);
  // One that is there already is no more of them, nor is another node's.
  CHECK(w.enqueue(j, "ping", first).status == 200);
  CHECK(w.enqueue(other, "ping").status == 200);
  REQUIRE(w.result(j, id, true) == 200);
  CHECK(w.enqueue(j, "ping").status == 200);
  CHECK(w.enqueue(j, "ping").code() == "INVALID_STATE");
  w.time.advance(seconds{3'600});
  CHECK(w.enqueue(j, "ping").status == 200);
}

TEST_CASE("api commands: a grant is on the node") {
  commands_world w;
  auto mine = w.new_node(), other = w.new_node();
  auto key = w.add_credential(
      w.acme, "robot",
      {{"compute:commands:*", "compute-node/" + mine.id.str()}});
  auto input = w.naming(mine);
  input["kind"] = "\"ping\"";
  input["idempotencyKey"] = "\"k\"";
  auto made = w.call(key, "commands.enqueue", input);
  REQUIRE(made.status == 200);
  CHECK(w.call(key, "commands.list", w.naming(mine)).items() == 1);
  auto elsewhere = input;
  elsewhere["nodeId"] = json_string(other.id.str());
  elsewhere["idempotencyKey"] = "\"k2\"";
  CHECK(w.call(key, "commands.enqueue", elsewhere).code() == "ACCESS_DENIED");
  // By the id of one node's, through another's grant: nothing.
  CHECK(w.call(key, "commands.get",
               with(w.naming(other), "commandId", json_string(made.at("/id"))))
            .code() == "ACCESS_DENIED");
  CHECK(w.get(other, made.at("/id")).code() == "NOT_FOUND");
}

TEST_CASE("api commands: acceptance.run asks for the checks of the pool") {
  commands_world w;
  auto j = w.new_node();
  CHECK(w.enqueue(j, "acceptance.run").code() == "INVALID_STATE");
  auto agent = w.new_node([](auto& a) { a.pool.reset(); });
  CHECK(w.enqueue(agent, "acceptance.run").code() == "INVALID_STATE");
  events::pool::policy rules;
  rules.acceptance_checks = {"burn-in", "links"};
  w.change_pool(
      w.pool, w.acme,
      events::pool::update{std::nullopt, std::nullopt, rules, w.time.now()});
  const fields key{{"idempotencyKey", "\"run\""}};
  auto got = w.enqueue(j, "acceptance.run", key);
  INFO(got.text);
  REQUIRE(got.status == 200);
  CHECK(got.at("/payload/checks/1") == "links");
  // The same call after the pool changed is the same command.
  w.change_pool(w.pool, w.acme,
                events::pool::update{
                    {}, std::nullopt, events::pool::policy{}, w.time.now()});
  CHECK(w.enqueue(j, "acceptance.run", key).at("/id") == got.at("/id"));
}
