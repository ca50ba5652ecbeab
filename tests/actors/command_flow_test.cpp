// Commands on their way to a node and back (spec: joining#node-certificates;
// ATTESTATION 5, 7; DESIGN 7, 8).
#include "actors/api/read_models.hpp"
#include "events/admission.hpp"
#include "events/command_output.hpp"
#include "events/node_inventory.hpp"
#include "pki/hardware_key.hpp"
#include "tests/actors/commands_world.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

using names = std::vector<std::string>;

// gateway/relay_codec.hpp: max_answer_body.
constexpr std::size_t most_of_an_answer = 256 * 1024;

names ids_of(const std::vector<wire::command_body>& all) {
  names out;
  for (const auto& c : all)
    out.push_back(c.command_id);
  return out;
}

/// The output of an inventory of the nth machine.
std::string inventory(int n) {
  return R"({"claims":)" + wire::encode(test::make_machine(n).claims) + "}";
}

std::string key_of(int n) {
  return pki::derive_hardware_key(
             pki::normalise(events::hardware_of(test::make_machine(n).claims)))
      .hex;
}

/// Something else happens before the first append.
class interrupted final : public test::sync_ledger {
 public:
  using test::sync_ledger::sync_ledger;
  std::function<void()> meanwhile;
  bool fails = false;

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (fails)
      return done(fail(errc::unavailable, "no store"));
    if (auto run = std::exchange(meanwhile, nullptr))
      run();
    sync_ledger::append(std::move(b), std::move(done));
  }
};

std::shared_ptr<interrupted> interrupt(commands_world& w) {
  auto l = std::make_shared<interrupted>(*w.store, w.time, w.reader.get());
  w.use(l);
  return l;
}

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
    auto l = interrupt(w);
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

TEST_CASE("commands: an inventory fills a hardware key that is missing") {
  commands_world w;
  auto j = w.new_node();
  auto see = [&](const node::joined& who, int machine) {
    auto id = w.enqueue(who, "inventory.collect").at("/id");
    REQUIRE(w.result(who, id, true, inventory(machine)) == 200);
    return w.call(w.acme_key, "nodes.get", w.naming(who));
  };
  auto got = see(j, 1);
  CHECK(got.at("/hardwareKey") == key_of(1));
  CHECK(got.at("/hardwareKeyTrusted") == "true");
  CHECK(got.at("/conditions/0/type") == "");
  auto held = w.store->holder(node::hardware_claim(key_of(1))).value();
  REQUIRE(held);
  CHECK(held->stream == "node:" + j.id.str());
  SECTION("never over a trusted one") {
    got = see(j, 2);
    CHECK(got.at("/hardwareKey") == key_of(1));
    CHECK(got.at("/conditions/0/type") == "HardwareChanged");
    // Which of it, and nothing of what it is.
    CHECK_THAT(got.at("/conditions/0/message"),
               Catch::Contains("than it joined with (productUuid, serial)"));
    // The node's follows the command's in one append.
    auto told = w.store->read_all(w.position() - 1, 1).value().front();
    CHECK_THAT(
        told.data,
        Catch::Contains(R"("changedIdentifiers":["productUuid","serial"])"));
    CHECK_THAT(told.internal, Catch::Contains(R"("kind":"serial","sha256":")"));
    CHECK(told.internal.find("SN-") == std::string::npos);
    // From the stream as from the read model.
    CHECK(w.call(w.acme_key, "nodes.adopt", w.naming(j))
              .at("/conditions/0/message") == got.at("/conditions/0/message"));
    CHECK_FALSE(w.store->holder(node::hardware_claim(key_of(2))).value());
    // Until it is back.
    got = see(j, 1);
    CHECK_FALSE(got.has("/conditions/0"));
  }
  SECTION("nor by what another node holds") {
    auto other = w.new_node();
    got = see(other, 1);
    CHECK_FALSE(got.has("/hardwareKey"));
    CHECK(got.at("/hardwareKeyTrusted") == "false");
    CHECK(got.at("/conditions/0/type") == "HardwareTaken");
    CHECK(w.store->holder(node::hardware_claim(key_of(1))).value()->stream ==
          "node:" + j.id.str());
    // Once that one is over, it is free.
    REQUIRE(w.decide_on(j, node::cordon{w.time.now(), ""}));
    REQUIRE(w.decide_on(j, node::retire{w.time.now(), ""}));
    got = see(other, 1);
    CHECK(got.at("/hardwareKey") == key_of(1));
    CHECK_FALSE(got.has("/conditions/0"));
  }
  SECTION("nor by what another takes at the same moment") {
    auto other = w.new_node(), third = w.new_node();
    auto l = interrupt(w);
    auto id = w.enqueue(other, "inventory.collect").at("/id");
    l->meanwhile = [&] {
      w.decide_on(third,
                  node::record_inventory{w.time.now(), key_of(2), true, false});
    };
    REQUIRE(w.result(other, id, true, inventory(2)) == 200);
    CHECK(node::holds_hardware(w.node_state(third.id), key_of(2)));
    auto lost = w.node_state(other.id);
    CHECK_FALSE(lost.node->hardware_key_trusted);
    CHECK(lost.hardware_taken_at);
  }
  SECTION("one that failed says nothing") {
    auto other = w.new_node();
    auto id = w.enqueue(other, "inventory.collect").at("/id");
    REQUIRE(w.result(other, id, false, inventory(3)) == 200);
    CHECK(w.node_state(other.id).node->hardware_key.empty());
  }
}

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

TEST_CASE("commands: what moves meanwhile is decided anew, or asked again") {
  accepting_world w;
  auto j = w.waiting_node();
  REQUIRE(w.open_session(j, "sess_1"));
  auto l = interrupt(w);
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
