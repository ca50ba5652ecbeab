// Commands to nodes: kinds and who lets them in, what is pending, what follows
// from an outcome (spec: joining#node-certificates; ATTESTATION 5, 7; DESIGN
// 8).
#include "events/command.hpp"

#include "awaiting_node.hpp"
#include "events/catalog.hpp"
#include "events/command_output.hpp"
#include "events/command_rules.hpp"
#include "events/node_inventory.hpp"
#include "events/node_sessions.hpp"
#include "events/state_codec.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::after;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

namespace cmd = events::command;

const auto now = at("2026-11-29T12:00:00Z");
const auto node_a = fixed_id<node_id>(1);
const auto node_b = fixed_id<node_id>(2);

cmd::enqueued asked() {
  return {fixed_id<command_id>(3), node_a,
          fixed_id<tenant_id>(4),  "inventory.collect",
          R"({"deep":true})",      now,
          now + seconds{3'600}};
}

cmd::state fold(const std::vector<cmd::event>& events, cmd::state s = {}) {
  for (const auto& e : events)
    s = evolve(std::move(s), e);
  return s;
}

cmd::complete outcome(bool succeeded, std::string output = "{}",
                      time_point when = now) {
  return {when, node_a, succeeded, std::move(output)};
}

node::state awaiting() {
  return bc::testing::awaiting(node_a, now);
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("command kind: words joined by single dots and dashes") {
  for (auto good : {"ping", "inventory.collect", "a", "0", "a-b.c-d", "x.y.z"})
    CHECK(is_command_kind(good));
  for (auto bad : {"", ".", "a.", ".a", "a..b", "a.-b", "-a", "a-", "A", "a_b",
                   "a b", "a.*", "*", "\xc3\xa9", "a\n"})
    CHECK_FALSE(is_command_kind(bad));
  CHECK(is_command_kind(std::string(64, 'a')));
  CHECK_FALSE(is_command_kind(std::string(65, 'a')));
  CHECK(is_kind_pattern("a.*"));
  CHECK(is_kind_pattern("a.b.*"));
  CHECK(is_kind_pattern("a"));
  for (auto bad : {"*", ".*", "a*", "a.*.b", "a.*.*"})
    CHECK_FALSE(is_kind_pattern(bad));
}

TEST_CASE("command kind: what a certificate's patterns cover") {
  struct row {
    names allowed;
    const char* kind;
    bool covered;
  };
  const std::vector<row> rows = {
      {{}, "ping", true},
      {{"ping"}, "ping", true},
      {{"ping"}, "pin", false},
      {{"ping"}, "pings", false},
      {{"ping"}, "ping.fast", false},
      {{"deploy.*"}, "deploy.image", true},
      {{"deploy.*"}, "deploy.image.fast", true},
      {{"deploy.*"}, "deploy", false},
      {{"deploy.*"}, "deploy.", false},
      {{"deploy.*"}, "deployer.image", false},
      {{"deploy.*"}, "deploy-x.image", false},
      {{"inspect.*", "deploy.*"}, "deploy.image", true},
      {{"inspect.*", "deploy.*"}, "ping", false},
  };
  for (const auto& r : rows) {
    INFO(r.kind);
    CHECK(allows_kind(r.allowed, r.kind) == r.covered);
  }
}

TEST_CASE("command: it is enqueued once, and a key says what it was") {
  auto made = decide(cmd::state{}, cmd::enqueue{asked()});
  REQUIRE(made);
  auto s = fold(made.value());
  REQUIRE(s.command);
  CHECK(*s.command == asked());
  SECTION("again, later: nothing") {
    auto again = asked();
    again.at += seconds{9};
    again.expires_at += seconds{9};
    auto decided = decide(s, cmd::enqueue{again});
    REQUIRE(decided);
    CHECK(decided.value().empty());
  }
  SECTION("something else: a conflict") {
    std::vector<cmd::enqueued> others(4, asked());
    others[0].node = node_b;
    others[1].kind = "ping";
    others[2].payload = "{}";
    others[3].expires_at += milliseconds{1};
    for (const auto& other : others) {
      auto decided = decide(s, cmd::enqueue{other});
      REQUIRE_FALSE(decided);
      CHECK(decided.error().code == errc::conflict);
    }
  }
}

TEST_CASE("command: pending, succeeded, failed, expired at the very time") {
  auto s = fold({asked()});
  CHECK(status_at(s, now) == cmd::status::pending);
  CHECK(status_at(s, asked().expires_at - milliseconds{1}) ==
        cmd::status::pending);
  CHECK(status_at(s, asked().expires_at) == cmd::status::expired);
  for (bool succeeded : {true, false}) {
    // One that comes after its time counts too.
    auto late = asked().expires_at + seconds{1};
    auto decided = decide(s, outcome(succeeded, "out", late));
    REQUIRE(decided);
    REQUIRE(decided.value().size() == 1);
    auto done = fold(decided.value(), s);
    CHECK(status_at(done, late) ==
          (succeeded ? cmd::status::succeeded : cmd::status::failed));
    CHECK(done.outcome->output == "out");
    // The first wins, whatever another says.
    for (bool other : {true, false}) {
      auto again = decide(done, outcome(other, "other", late));
      REQUIRE(again);
      CHECK(again.value().empty());
    }
  }
}

TEST_CASE("command: an outcome of no command, or by another node, is none") {
  auto nobody = decide(cmd::state{}, outcome(true));
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().code == errc::not_found);
  auto foreign = outcome(true);
  foreign.node = node_b;
  auto other = decide(fold({asked()}), foreign);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == errc::not_found);
}

TEST_CASE("command codec: events come back, payload and output stay inside") {
  sampler random{static_cast<unsigned>(Catch::rngSeed())};
  for (int i = 0; i < 200; ++i) {
    cmd::enqueued e{random.hashed_id<command_id>(),
                    random.id<node_id>(),
                    random.id<tenant_id>(),
                    "a.b-" + std::to_string(i),
                    R"({"secret":")" + random.hex() + R"("})",
                    random.time(),
                    random.time()};
    if (random.coin())
      e.node_version = static_cast<std::uint64_t>(i);
    auto write = cmd::encode(e);
    auto back = cmd::decode(stored(write, "command:1"));
    REQUIRE(back);
    CHECK(std::get<cmd::enqueued>(back.value()) == e);
    CHECK(write.data.find("secret") == std::string::npos);
    cmd::completed c{e.id, e.node, random.coin(), random.text() + random.hex(),
                     random.time()};
    auto done = cmd::encode(c);
    back = cmd::decode(stored(done, "command:1"));
    REQUIRE(back);
    CHECK(std::get<cmd::completed>(back.value()) == c);
    CHECK(done.data.find(c.output) == std::string::npos);
    CHECK(moves_of(stored(write, "command:1")).value() == moves{});
  }
}

TEST_CASE("command: what a node takes") {
  auto s = awaiting();
  CHECK(check_enqueue(s, "ping"));
  CHECK(check_enqueue(node::state{}, "ping").error().code == errc::not_found);
  SECTION("of kinds that its newest certificate lets in") {
    s.certificates.back().cert.allowed_kinds = {"inspect.*"};
    CHECK(check_enqueue(s, "inspect.disks"));
    CHECK(check_enqueue(s, "ping").error().code == errc::invalid_state);
    // A renewal and a snapshot keep them.
    sampler random{9};
    auto r = random.node_renewed(*s.node);
    r.cert.allowed_kinds = {"inspect.*"};
    auto back = node::decode(stored(node::encode(r), "node:1"));
    REQUIRE(back);
    CHECK(std::get<node::renewed>(back.value()) == r);
    auto kept = node::decode_state(node::encode_state(s));
    REQUIRE(kept);
    CHECK(kept.value().certificates == s.certificates);
  }
  SECTION("none once it is retired") {
    s.current = node::status::retired;
    CHECK(check_enqueue(s, "ping").error().code == errc::invalid_state);
  }
}

TEST_CASE("command: outputs of a hostile machine") {
  CHECK(claims_in(R"({"claims":{"productSerial":"SN-1"}})")->product_serial ==
        "SN-1");
  const names garbage = {
      "",
      "{}",
      "[]",
      "null",
      R"({"claims":[]})",
      R"({"claims":{"macs":"x"}})",
      R"({"claims":{"productUuid":")" + std::string(257, 'a') + R"("}})",
      std::string(32 * 1024, '['),
      std::string("\xff\xfe"),
      R"({"claims":{}} {})"};
  const auto payload = acceptance_payload({"burn-in", "links"});
  for (const auto& g : garbage) {
    CHECK_FALSE(claims_in(g));
    CHECK(failed_checks(payload, true, g) == names{"burn-in", "links"});
    CHECK(failed_checks(payload, false, g) == names{"burn-in", "links"});
  }
}

TEST_CASE("command: what an acceptance run says") {
  const auto payload = acceptance_payload({"burn-in", "links"});
  CHECK(payload == R"({"checks":["burn-in","links"]})");
  struct row {
    bool succeeded;
    const char* output;
    std::optional<names> failed;
  };
  const names all{"burn-in", "links"};
  const std::vector<row> rows = {
      {true, R"({"passed":true,"failed":[]})", names{}},
      {true, R"({"passed":true})", names{}},
      {true, R"({"passed":false,"failed":["links"]})", names{"links"}},
      // In the pool's order, and its names alone.
      {true, R"({"passed":false,"failed":["x","links","burn-in"]})", all},
      {true, R"({"passed":false,"failed":["x"]})", all},
      // Contradictions pass nobody.
      {true, R"({"passed":true,"failed":["links"]})", all},
      {true, R"({"passed":false,"failed":[]})", all},
      {true, R"({"passed":"true"})", all},
      {false, R"({"passed":true,"failed":[]})", all},
      {false, R"({"error":"unknown-kind"})", all},
      {false, R"({"error":"timed-out"})", all},
      // These say nothing of the machine; only where it says that it failed.
      {true, R"({"error":"expired"})", all},
      {true, R"({"error":"interrupted"})", all},
      {false, R"({"error":"interrupted"})", std::nullopt},
      {false, R"({"error":"expired"})", std::nullopt},
  };
  for (const auto& r : rows) {
    INFO(r.output);
    CHECK(failed_checks(payload, r.succeeded, r.output) == r.failed);
  }
}

TEST_CASE("command: acceptance follows from its run, and from no older one") {
  auto s = awaiting();
  auto run = asked();
  run.kind = "acceptance.run";
  run.payload = acceptance_payload({"burn-in"});
  const auto passed = outcome(true, R"({"passed":true,"failed":[]})");
  SECTION("passed: adopted") {
    auto decided = decide_outcome(s, run, passed, std::nullopt);
    REQUIRE(decided);
    REQUIRE(decided.value().size() == 1);
    CHECK(after(s, decided.value()).current == node::status::adopted);
  }
  SECTION("failed: the condition, and a later run that passes lifts it") {
    auto decided = decide_outcome(
        s, run, outcome(true, R"({"passed":false,"failed":["burn-in"]})"),
        std::nullopt);
    REQUIRE(decided);
    auto failed = after(s, decided.value());
    REQUIRE(failed.failed_acceptance);
    CHECK(failed.failed_acceptance->checks == names{"burn-in"});
    auto again = decide_outcome(failed, run, passed, std::nullopt);
    REQUIRE(again);
    CHECK(after(failed, again.value()).current == node::status::adopted);
  }
  SECTION("of a run from before it joined again: nothing") {
    run.at = now - milliseconds{1};
    CHECK(decide_outcome(s, run, passed, std::nullopt).value().empty());
  }
  SECTION("by the order of its stream, whatever the clocks say") {
    const auto began = s.acceptance_started_version;
    REQUIRE(began == s.version);
    run.at = now + seconds{3'600};
    run.node_version = began - 1;
    CHECK(decide_outcome(s, run, passed, std::nullopt).value().empty());
    run.at = now - seconds{3'600};
    run.node_version = began;
    CHECK(decide_outcome(s, run, passed, std::nullopt).value().size() == 1);
    auto kept = node::decode_state(node::encode_state(s));
    REQUIRE(kept);
    CHECK(kept.value().acceptance_started_version == began);
  }
  SECTION("of a node that does not wait for it: nothing") {
    auto adopted = node::evolve(s, node::adopted{node_a, now});
    CHECK(decide_outcome(adopted, run, passed, std::nullopt).value().empty());
    auto retired = s;
    retired.current = node::status::retired;
    CHECK(decide_outcome(retired, run, passed, std::nullopt).value().empty());
  }
  SECTION("another kind says nothing of it") {
    run.kind = "ping";
    CHECK(decide_outcome(s, run, passed, std::nullopt).value().empty());
  }
}

TEST_CASE("command: each round of acceptance has an id of its own") {
  auto s = awaiting();
  auto first = acceptance_id(s, 0);
  REQUIRE(first);
  CHECK(first == acceptance_id(s, 0));
  CHECK(first != acceptance_id(s, 1));
  auto later =
      node::evolve(s, node::acceptance_started{node_a, now + milliseconds{1}});
  CHECK(first != acceptance_id(later, 0));
  CHECK_FALSE(acceptance_id(node::evolve(s, node::adopted{node_a, now}), 0));
  CHECK_FALSE(acceptance_id(node::state{}, 0));
}
