// Commands on their way to a node and back (spec: joining#node-certificates;
// ATTESTATION 5, 7; DESIGN 7, 8).
#include "actors/api/read_models.hpp"
#include "tests/actors/commands_world.hpp"
#include "tests/actors/disturbed_ledgers.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

// gateway/relay_codec.hpp: max_answer_body.
constexpr std::size_t most_of_an_answer = 256 * 1024;

}  // namespace

TEST_CASE("commands: what waits is sent until it has an outcome") {
  commands_world w;
  auto j = w.new_node(), other = w.new_node();
  CHECK(w.fetched(j).empty());
  names made;
  for (int i = 0; i < 20; ++i)
    made.push_back(w.enqueue(j, "ping", {{"payload", R"({"n":1})"}}).at("/id"));
  w.enqueue(other, "ping");
  auto all = w.fetched(j);
  CHECK(ids_of(all) == names(made.begin(), made.begin() + 16));
  CHECK(all[0].kind == "ping");
  CHECK(all[0].payload == R"({"n":1})");
  CHECK(all[0].issued_at_ms == to_millis(w.time.now()));
  CHECK(all[0].expires_at_ms == to_millis(w.time.now() + seconds{3'600}));
  CHECK(ids_of(w.fetched(j)) == ids_of(all));
  REQUIRE(w.result(j, made[0], true) == 200);
  REQUIRE(w.result(j, made[1], false) == 200);
  CHECK(ids_of(w.fetched(j)) == names(made.begin() + 2, made.begin() + 18));
  w.time.advance(seconds{3'600} - milliseconds{1});
  CHECK(w.fetched(j).size() == 16);
  w.time.advance(milliseconds{1});
  CHECK(w.fetched(j).empty());
}

TEST_CASE("commands: only kinds that the certificate lets in are sent") {
  commands_world w;
  auto j = w.new_node();
  names wanted;
  for (int i = 0; i < 20; ++i)
    REQUIRE(w.enqueue(j, "reboot").status == 200);
  wanted.push_back(w.enqueue(j, "inspect.disks").at("/id"));
  // By the next certificate the node may do less.
  auto next = w.random.node_renewed(j);
  next.at = w.time.now();
  next.cert.allowed_kinds = {"inspect.*"};
  next.cert.not_before = w.time.now();
  next.cert.not_after = w.time.now() + seconds{3'600};
  REQUIRE(w.decide_on(j, node::renew{next}));
  auto narrow = j;
  narrow.cert = next.cert;
  CHECK(ids_of(w.fetched(narrow)) == wanted);
  auto reply = w.fetch(narrow);
  CHECK(wire::decode_fetched_commands(reply.body).value().allowed_kinds ==
        names{"inspect.*"});
  CHECK(w.fetched(j).size() == 16);
}

TEST_CASE("commands: who is not the node gets nothing and says nothing") {
  commands_world w;
  auto j = w.new_node(), other = w.new_node();
  auto id = w.enqueue(j, "ping").at("/id");
  const auto refused = [&](const std::string& who,
                           const std::string& certificate) {
    auto before = w.position();
    CHECK(w.fetch_as(who, certificate).status == 403);
    CHECK(w.result_as(who, certificate, {id, true, "{}"}) == 403);
    CHECK(w.position() == before);
  };
  refused(j.id.str(), "");
  refused(j.id.str(), w.certificate(other));
  refused(j.id.str(), w.certificate(j) + "x");
  refused("node_1", w.certificate(j));
  refused(w.random.id<node_id>().str(), w.certificate(j));
  SECTION("revoked") {
    REQUIRE(w.decide_on(j, node::revoke_identity{w.time.now(), ""}));
    refused(j.id.str(), w.certificate(j));
  }
  SECTION("retired") {
    REQUIRE(w.decide_on(j, node::cordon{w.time.now(), ""}));
    REQUIRE(w.decide_on(j, node::retire{w.time.now(), ""}));
    refused(j.id.str(), w.certificate(j));
  }
  SECTION("reclaimed: the old generation") {
    REQUIRE(w.reclaim(j));
    refused(j.id.str(), w.certificate(j));
  }
  SECTION("expired") {
    w.time.set(j.cert.not_after);
    refused(j.id.str(), w.certificate(j));
  }
  SECTION("revoked while it is answered") {
    auto l = test::interrupt(w);
    l->meanwhile = [&] {
      w.decide_on(j, node::revoke_identity{w.time.now(), ""});
    };
    SECTION("a fetch") {
      CHECK(w.fetch(j).status == 403);
    }
    SECTION("a result") {
      CHECK(w.result(j, id, true) == 403);
      CHECK(w.get(j, id).at("/status") == "pending");
    }
  }
  SECTION("what is no message") {
    actors::daemon_reply reply;
    const auto take = [&](actors::daemon_reply r) { reply = std::move(r); };
    for (const char* body : {"", "{}", "[]", R"({"sessionId":"s"})", "\xff"}) {
      actors::run_fetch(
          w.sessions, w.streams,
          {body, "", w.certificate(j), actors::daemon_request::fetch_commands},
          take);
      CHECK(reply.status == 400);
      actors::run_result(
          w.sessions, w.streams,
          {body, "", w.certificate(j), actors::daemon_request::command_result},
          take);
      CHECK(reply.status == 400);
    }
  }
}

TEST_CASE("commands: an outcome is noted once, the first one") {
  commands_world w;
  auto j = w.new_node();
  auto id = w.enqueue(j, "ping").at("/id");
  auto before = w.position();
  w.time.advance(seconds{7});
  REQUIRE(w.result(j, id, true, R"({"pong":true})") == 200);
  CHECK(w.position() == before + 1);
  auto written = w.store->read_all(before, 9).value();
  CHECK(written[0].type == "node.command.completed");
  CHECK(written[0].actor == "machine");
  CHECK(written[0].correlation == "req-1");
  CHECK(written[0].tenant == w.acme.str());
  auto read = w.get(j, id);
  CHECK(read.at("/status") == "succeeded");
  CHECK(read.at("/output") == R"({"pong":true})");
  CHECK(read.at("/completedAt") == to_rfc3339(w.time.now()));
  // The same again, and another: answered alike, nothing changes.
  CHECK(w.result(j, id, true, R"({"pong":true})") == 200);
  CHECK(w.result(j, id, false, "late") == 200);
  CHECK(w.position() == before + 1);
  // One that comes after its time counts.
  auto late = w.enqueue(j, "ping").at("/id");
  w.time.advance(seconds{9'000});
  CHECK(w.get(j, late).at("/status") == "expired");
  CHECK(w.result(j, late, false, R"({"error":"expired"})") == 200);
  CHECK(w.get(j, late).at("/status") == "failed");
}

TEST_CASE("commands: what a hostile daemon says has no effect elsewhere") {
  commands_world w;
  auto j = w.new_node(), other = w.new_node();
  auto theirs = w.enqueue(other, "inventory.collect").at("/id");
  auto before = w.position();
  for (const auto& id : names{theirs, w.random.id<command_id>().str(), "cmd_1",
                              "../..", std::string(64, 'x')})
    CHECK(w.result(j, id, true, inventory(1)) == 404);
  CHECK(w.position() == before);
  CHECK(w.get(other, theirs).at("/status") == "pending");
  CHECK(w.fetched(other).size() == 1);
  // Of its own: any text, up to what a frame may hold.
  const std::string deep(32 * 1024, '[');
  const std::string words = "\xe2\x98\xa0 \\u0000 \"<script>\" %s {}";
  for (const auto& output : names{"", deep, words, std::string(32'768, '"')}) {
    auto id = w.enqueue(j, "inventory.collect").at("/id");
    auto at = w.position();
    CHECK(w.result(j, id, true, output) == 200);
    CHECK(w.position() == at + 1);
    auto read = w.get(j, id);
    CHECK(read.at("/status") == "succeeded");
    CHECK(read.at("/output") == output);
  }
  CHECK(w.result(j, theirs, true, std::string(32'769, 'a')) == 400);
  CHECK(w.count("node.inventory-recorded") == 0);
}

TEST_CASE("commands: an answer fits through the relay, whatever waits") {
  commands_world w;
  auto j = w.new_node();
  // The second grows the most on its way: each quote is escaped twice.
  auto filler = GENERATE(std::string(16'000, 'x'), [] {
    std::string quotes;
    for (int i = 0; i < 8'000; ++i)
      quotes += "\\\"";
    return quotes;
  }());
  names made;
  for (int i = 0; i < 12; ++i)
    made.push_back(
        w.enqueue(j, "ping", {{"payload", R"({"n":")" + filler + R"("})"}})
            .at("/id"));
  names seen;
  while (seen.size() < made.size()) {
    auto reply = w.fetch(j);
    REQUIRE(reply.status == 200);
    CHECK(reply.body.size() <= most_of_an_answer);
    auto all = wire::decode_fetched_commands(reply.body);
    REQUIRE(all);
    REQUIRE_FALSE(all.value().commands.empty());
    CHECK(all.value().more ==
          (seen.size() + all.value().commands.size() < made.size()));
    for (const auto& one : all.value().commands) {
      seen.push_back(wire::decode_command_body(one.body).value().command_id);
      REQUIRE(w.result(j, seen.back(), true) == 200);
    }
  }
  CHECK(seen == made);
}

TEST_CASE("commands: a server without keys signs nothing") {
  commands_world w;
  auto j = w.new_node();
  w.enqueue(j, "ping");
  w.sessions->keys = nullptr;
  CHECK(w.fetch(j).status == 500);
}

TEST_CASE("commands: read models are waited for, up to the head") {
  commands_world w;
  auto j = w.new_node();
  w.enqueue(j, "ping");
  w.sessions->models = std::make_shared<actors::read_models>();
  CHECK(w.fetched(j).size() == 1);
  CHECK(w.sessions->models->reached() == w.position());
}

TEST_CASE("commands: at least once, and one outcome each (property)") {
  commands_world w;
  auto j = w.new_node();
  std::set<std::string> made, sent;
  std::map<std::string, bool> said;  // the first word on each
  for (int step = 0; step < 120; ++step) {
    switch (w.random.below(4)) {
      case 0:
        made.insert(w.enqueue(j, "ping").at("/id"));
        break;
      case 1:
        for (const auto& c : w.fetched(j)) {
          CHECK(made.count(c.command_id) == 1);
          CHECK(said.count(c.command_id) == 0);
          sent.insert(c.command_id);
        }
        break;
      default:
        if (!sent.empty()) {
          auto id = *std::next(sent.begin(), static_cast<std::ptrdiff_t>(
                                                 w.random.below(sent.size())));
          auto succeeded = w.random.coin();
          REQUIRE(w.result(j, id, succeeded) == 200);
          said.emplace(id, succeeded);
        }
    }
  }
  while (sent.size() < made.size()) {
    auto all = w.fetched(j);
    REQUIRE_FALSE(all.empty());
    for (const auto& c : all) {
      sent.insert(c.command_id);
      said.emplace(c.command_id, true);
      REQUIRE(w.result(j, c.command_id, true) == 200);
    }
  }
  CHECK(sent == made);
  for (const auto& [id, succeeded] : said)
    CHECK(w.get(j, id).at("/status") == (succeeded ? "succeeded" : "failed"));
  CHECK(static_cast<std::size_t>(w.count("node.command.completed")) ==
        said.size());
}
