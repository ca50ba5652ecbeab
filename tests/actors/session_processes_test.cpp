// Sessions over two server processes on one store (DESIGN 7; CASES 66, 67, 68).
#include "events/node_sessions.hpp"
#include "tests/actors/member_processes.hpp"
#include "tests/support/eventually.hpp"

namespace bc::test {
namespace {

using actors::gateway_notice;

/// A gateway's watch at one process.
class heard {
 public:
  explicit heard(process& p)
      : watch_(p.server->notices().watch([this](const gateway_notice& n) {
          std::lock_guard lock{mutex_};
          all_.push_back(n);
        })) {}
  [[nodiscard]] std::vector<gateway_notice> all() const {
    std::lock_guard lock{mutex_};
    return all_;
  }
  [[nodiscard]] std::size_t size() const { return all().size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<gateway_notice> all_;
  std::shared_ptr<void> watch_;
};

class two_gateways : public member_processes {
 public:
  static int ask(process& p, actors::daemon_call call) {
    return p.ask(std::move(call)).status;
  }
  static int hello(process& p, const session_member& m,
                   const std::string& session) {
    return ask(p, hello_call(m, hello_of(session)));
  }
};

}  // namespace

TEST_CASE_METHOD(two_gateways,
                 "two processes: what ends an identity at one is told at both, "
                 "and no session passes (cases 66, 67)",
                 "[actors]") {
  start(milliseconds{20});
  auto m = new_member(1);
  REQUIRE(hello(a, m, "sess_1") == 200);
  heard at_a{a}, at_b{b};
  SECTION("revoked at the other") {
    REQUIRE(on(b, "nodes.revokeIdentity", m).status == 200);
  }
  SECTION("revoked at the one it is asked at") {
    REQUIRE(on(a, "nodes.revokeIdentity", m).status == 200);
  }
  SECTION("deleted") {
    REQUIRE(on(b, "nodes.cordon", m).status == 200);
    REQUIRE(on(b, "nodes.delete", m).status == 200);
  }
  SECTION("reclaimed") {
    auto again = b.join(w, make_machine(1), w.mint_reclaim_token().text());
    REQUIRE(again.status == 200);
  }
  // At once, whatever a process has heard.
  CHECK(hello(a, m, "sess_2") == 403);
  CHECK(hello(b, m, "sess_3") == 403);
  CHECK(ask(a, check_call(m, "sess_1")) == 403);
  CHECK(ask(b, check_call(m, "sess_1")) == 403);
  for (auto* one : {&at_a, &at_b}) {
    // Not the one that the session's own beginning gave.
    auto ended = [&] {
      return std::ranges::any_of(one->all(),
                                 [](const auto& n) { return !n.superseded; });
    };
    REQUIRE(eventually(ended));
    for (const auto& n : one->all()) {
      CHECK(n.what == gateway_notice::kind::cut);
      CHECK(n.node_id == m.id.str());
      CHECK(n.keep == (n.superseded ? "sess_1" : ""));
    }
  }
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_gateways,
                 "two processes: with one of them gone the other tells (case "
                 "66)",
                 "[actors]") {
  start(milliseconds{20});
  auto m = new_member(1);
  REQUIRE(hello(a, m, "sess_1") == 200);
  a.server.reset();
  heard at_b{b};
  REQUIRE(on(b, "nodes.revokeIdentity", m).status == 200);
  CHECK(eventually([&] { return at_b.size() > 0; }));
  CHECK(ask(b, check_call(m, "sess_1")) == 403);
  CHECK(ask(b, end_call(m, "sess_1", "cut")) == 200);
  b.server->stop(seconds{30});
  check_journal();
}

TEST_CASE_METHOD(two_gateways,
                 "two processes: the newest session wins, wherever it began",
                 "[actors]") {
  start(milliseconds{20});
  auto m = new_member(1);
  heard at_a{a}, at_b{b};
  REQUIRE(hello(a, m, "sess_1") == 200);
  REQUIRE(hello(b, m, "sess_2") == 200);
  for (auto* one : {&at_a, &at_b}) {
    REQUIRE(eventually([&] { return one->size() == 2; }));
    auto all = one->all();
    for (const auto& n : all)
      CHECK(n.superseded);
    CHECK(all[0].keep == "sess_1");
    CHECK(all[1].keep == "sess_2");
  }
  // Each answers right, also of what it did not do itself.
  CHECK(ask(a, check_call(m, "sess_1")) == 409);
  CHECK(ask(b, check_call(m, "sess_1")) == 409);
  CHECK(ask(a, check_call(m, "sess_2")) == 200);
  CHECK(ask(b, end_call(m, "sess_1", "superseded")) == 200);
  CHECK(w.count("node.disconnected") == 0);
  CHECK(ask(a, end_call(m, "sess_2", "closed")) == 200);
  CHECK(w.count("node.disconnected") == 1);
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_gateways,
                 "two processes: sessions that race for a node leave one",
                 "[actors]") {
  start(no_tail);
  auto m = new_member(1);
  collected<daemon_reply> replies;
  constexpr std::size_t each = 4;
  for (std::size_t i = 0; i < 2 * each; ++i)
    (i % 2 == 0 ? a : b)
        .server->daemons()
        .call(hello_call(m, hello_of("sess_" + std::to_string(i))),
              replies.take());
  std::size_t welcomed = 0;
  for (const auto& r : replies.wait_for(2 * each)) {
    CHECK((r.status == 200 || r.status == 503));
    welcomed += r.status == 200 ? 1 : 0;
  }
  CHECK(welcomed > 0);
  CHECK(w.count("node.connected") == welcomed);
  std::size_t good = 0;
  for (std::size_t i = 0; i < 2 * each; ++i)
    good += ask(a, check_call(m, "sess_" + std::to_string(i))) == 200 ? 1 : 0;
  CHECK(good == 1);
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_gateways, "two processes: a stopped server says so",
                 "[actors]") {
  start();
  auto m = new_member(1);
  stop();
  CHECK(hello(a, m, "sess_1") == 503);
  CHECK(ask(b, check_call(m, "sess_1")) == 503);
}

}  // namespace bc::test
