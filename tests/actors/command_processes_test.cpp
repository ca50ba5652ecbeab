// Commands over two server processes on one store (DESIGN 3, 7).
#include "events/command.hpp"
#include "tests/actors/member_processes.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>

namespace bc::test {
namespace {

using actors::daemon_request;
using actors::gateway_notice;

class two_commanders : public member_processes {
 public:
  [[nodiscard]] std::string input(const session_member& m,
                                  const std::string& idempotency_key) const {
    return naming(
        m, R"(,"kind":"ping","idempotencyKey":")" + idempotency_key + "\"");
  }
  /// Its id; the read models of both processes name it from then on.
  std::string enqueue(process& p, const session_member& m) {
    auto reply = p.call("commands.enqueue", key, input(m, "k"));
    INFO(reply.body);
    REQUIRE(reply.status == 200);
    auto id = at(reply.body, "/id");
    for (auto* one : {&a, &b}) {
      one->models.pending = {id};
      one->models.reached = w.head();
    }
    return id;
  }
  static actors::daemon_call fetch(const session_member& m) {
    return call_of(daemon_request::fetch_commands,
                   wire::encode(wire::fetch_commands{"sess_1", m.id.str()}),
                   m.certificate);
  }
  static actors::daemon_call result(const session_member& m,
                                    const std::string& id, bool succeeded) {
    return call_of(daemon_request::command_result,
                   wire::encode(wire::relayed_result{
                       "sess_1", m.id.str(), {id, succeeded, "{}"}}),
                   m.certificate);
  }
  static std::size_t fetched(process& p, const session_member& m) {
    auto reply = p.ask(fetch(m));
    INFO(reply.body);
    REQUIRE(reply.status == 200);
    return wire::decode_fetched_commands(reply.body).value().commands.size();
  }
};

}  // namespace

TEST_CASE_METHOD(two_commanders,
                 "two processes: a command enqueued at one is told and fetched "
                 "at both",
                 "[actors]") {
  start(milliseconds{20});
  auto m = new_member(1);
  std::mutex mutex;
  std::vector<gateway_notice> heard;
  auto watch = b.server->notices().watch([&](const gateway_notice& n) {
    std::lock_guard lock{mutex};
    heard.push_back(n);
  });
  auto id = enqueue(a, m);
  CHECK(eventually([&] {
    std::lock_guard lock{mutex};
    return std::ranges::any_of(heard, [&](const auto& n) {
      return n.what == gateway_notice::kind::commands &&
             n.node_id == m.id.str();
    });
  }));
  watch.reset();
  CHECK(fetched(a, m) == 1);
  CHECK(fetched(b, m) == 1);
  REQUIRE(b.ask(result(m, id, true)).status == 200);
  // At once, whatever the other has heard, and whatever the read models say.
  for (auto* p : {&a, &b})
    p->models.reached = w.head();
  CHECK(eventually([&] { return fetched(a, m) == 0; }));
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_commanders,
                 "two processes: too many wait only by read models that show "
                 "what the journal has",
                 "[actors]") {
  start(milliseconds{20});
  auto m = new_member(1);
  auto& models = a.models;
  constexpr std::uint64_t far = 1'000'000;
  models.pending.assign(1'000, "cmd_x");
  models.reached = 0;
  CHECK(a.call("commands.enqueue", key, input(m, "k")).status == 503);
  // They come to show it while the call waits: some had ended.
  models.asked = 0;
  collected<api_reply> replies;
  a.server->api().call(
      {"commands", "enqueue", "Bearer " + key, input(m, "k"), "req", {}},
      replies.take());
  CHECK(eventually([&] { return models.asked > 0; }));
  models.pending.pop_back();
  models.reached = far;
  CHECK(replies.wait_for(1).front().status == 200);
  models.pending.push_back("cmd_x");
  auto full = a.call("commands.enqueue", key, input(m, "k2"));
  CHECK(full.status == 409);
  CHECK(full.body.find("INVALID_STATE") != std::string::npos);
  stop();
  CHECK(w.count("node.command.enqueued") == 1);
  check_journal();
}

TEST_CASE_METHOD(two_commanders,
                 "two processes: one key at both at once is one command",
                 "[actors]") {
  start(no_tail);
  auto m = new_member(1);
  race_first_appends();
  collected<api_reply> replies;
  for (auto* p : {&a, &b})
    p->server->api().call(
        {"commands", "enqueue", "Bearer " + key, input(m, "once"), "req", {}},
        replies.take());
  auto both = replies.wait_for(2);
  stop();
  for (const auto& r : both)
    CHECK(r.status == 200);
  CHECK(at(both[0].body, "/id") == at(both[1].body, "/id"));
  CHECK(w.count("node.command.enqueued") == 1);
  check_journal();
}

TEST_CASE_METHOD(two_commanders,
                 "two processes: one outcome, said at both at once",
                 "[actors]") {
  start(no_tail);
  auto m = new_member(1);
  auto id = enqueue(a, m);
  race_first_appends();
  collected<daemon_reply> replies;
  a.server->daemons().call(result(m, id, true), replies.take());
  b.server->daemons().call(result(m, id, false), replies.take());
  for (const auto& r : replies.wait_for(2))
    CHECK(r.status == 200);
  stop();
  CHECK(w.count("node.command.completed") == 1);
  check_journal();
}

TEST_CASE_METHOD(two_commanders,
                 "two processes: a node that is over at one gets nothing at "
                 "the other",
                 "[actors]") {
  start(no_tail);
  auto m = new_member(1);
  auto id = enqueue(a, m);
  REQUIRE(fetched(b, m) == 1);
  REQUIRE(on(a, "nodes.revokeIdentity", m).status == 200);
  for (auto* p : {&a, &b})
    p->models.reached = w.head();
  CHECK(b.ask(fetch(m)).status == 403);
  CHECK(b.ask(result(m, id, true)).status == 403);
  stop();
  CHECK(w.count("node.command.completed") == 0);
}

}  // namespace bc::test
