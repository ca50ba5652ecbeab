// What cuts a session: CASES 66 and 67, the gateway's half.
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;
using actors::gateway_notice;

namespace {

gateway_notice revoked(const node_identity& who) {
  return {gateway_notice::kind::cut, node_of(who), "", false};
}
gateway_notice superseded(const node_identity& who, std::string keep) {
  return {gateway_notice::kind::cut, node_of(who), std::move(keep), true};
}

}  // namespace

TEST_CASE(
    "session: a revoked or deleted node's is cut at once (case 66)"
    " (case 67)") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::check_session, 403);
  w.start();
  auto who = w.node();
  auto other = w.node(2);
  auto peer = w.session(who);
  auto bystander = w.session(other);
  w.registry->hear(revoked(who));
  CHECK(peer->read_close() == 4403);
  CHECK(w.api.end_reason() == "cut");
  auto check = wire::decode_session_check(
      w.api.all(daemon_request::check_session).at(0).body);
  CHECK(check.value().session_id == w.session_id(0));
  CHECK(check.value().node_id == node_of(who));
  // Nobody else's.
  bystander->say(session_world::heartbeat_text(5));
  CHECK(bystander->read_text() == session_world::heartbeat_text(5));
  // With the old certificate it is refused again, by its hello.
  w.api.on(daemon_request::hello, 403);
  auto again = w.open(who);
  again->say(session_world::hello_text());
  CHECK(again->read_close() == 4403);
}

TEST_CASE("session: the newest of a node stays, the others are told why") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  auto first = w.session(who);
  auto second = w.session(who);
  w.api.on(daemon_request::check_session, 409);
  w.registry->hear(superseded(who, w.session_id(1)));
  CHECK(first->read_close() == 4409);
  CHECK(w.api.end_reason() == "superseded");
  second->say(session_world::heartbeat_text(5));
  CHECK(second->read_text() == session_world::heartbeat_text(5));
  CHECK(w.api.count(daemon_request::check_session) == 1);
}

TEST_CASE("session: a notice of what was before it began does not end it") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::check_session, 200);
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.registry->hear(revoked(who));
  // Asked a second time, in case the process that answered heard it late.
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::check_session) == 2; }));
  peer->say(session_world::heartbeat_text(5));
  CHECK(peer->read_text() == session_world::heartbeat_text(5));
}

TEST_CASE("session: a revocation that the first answer missed still cuts") {
  session_world w;
  w.api.welcome();
  std::atomic<int> asked{0};
  w.api.on(daemon_request::check_session, [&](const auto&, const auto& done) {
    done({++asked == 1 ? 200 : 403, ""});
  });
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.registry->hear(revoked(who));
  CHECK(peer->read_close() == 4403);
  CHECK(asked == 2);
}

TEST_CASE("session: doubted and vouched for by nobody, it ends") {
  session_world w;
  w.api.welcome();
  w.options.limits.doubt = milliseconds{300};
  w.options.limits.ask_again = milliseconds{20};
  SECTION("nobody knows") {
    w.api.on(daemon_request::check_session, 503);
  }
  SECTION("nobody answers") {
    w.api.on(daemon_request::check_session, [](const auto&, const auto&) {});
  }
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.registry->hear(revoked(who));
  CHECK(peer->read_close() == 1001);
  CHECK(w.api.end_reason() == "cut");
}

TEST_CASE("session: asked again until somebody knows") {
  session_world w;
  w.api.welcome();
  w.options.limits.ask_again = milliseconds{10};
  std::atomic<int> asked{0};
  w.api.on(daemon_request::check_session, [&](const auto&, const auto& done) {
    done({++asked < 4 ? 503 : 403, ""});
  });
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.registry->hear(revoked(who));
  CHECK(peer->read_close() == 4403);
}

TEST_CASE(
    "session: a notice while the hello is on its way is judged before the "
    "welcome") {
  session_world w;
  std::promise<std::function<void()>> asked;
  w.api.on(daemon_request::hello, [&](const auto& c, const auto& done) {
    asked.set_value([body = fake_sessions::welcome_to(c.body), done] {
      done({200, body});
    });
  });
  int status = GENERATE(200, 403, 409);
  w.api.on(daemon_request::check_session, status);
  w.start();
  auto who = w.node();
  auto peer = w.open(who);
  peer->say(session_world::hello_text());
  auto answer = asked.get_future().get();
  w.registry->hear(superseded(who, "sess_another"));
  answer();
  if (status == 200)
    CHECK(peer->read_text().find("welcome") != std::string::npos);
  else
    CHECK(peer->read_close() == (status == 403 ? 4403 : 4409));
  CHECK(w.api.count(daemon_request::check_session) == 1);
}

TEST_CASE("session: one without a hello is not asked about") {
  session_world w;
  w.start();
  auto who = w.node();
  auto peer = w.open(who);
  w.registry->hear(revoked(who));
  w.api.on(daemon_request::hello, 403);
  peer->say(session_world::hello_text());
  CHECK(peer->read_close() == 4403);
  CHECK(w.api.count(daemon_request::check_session) == 0);
}

TEST_CASE("session: it is cut also when its daemon takes nothing") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::check_session, 403);
  w.tune = [](web_socket_options& o) {
    o.max_queued = 64 * 1024 * 1024;
    o.write_timeout = seconds{60};
    o.close_timeout = milliseconds{200};
  };
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  // Every buffer on the way is full: the close frame waits behind it.
  int rounds = 0;
  CHECK(w.flood(who, [&] { return ++rounds > 150; }));
  CHECK(w.api.count(daemon_request::session_end) == 0);
  w.registry->hear(revoked(who));
  CHECK(w.api.end_reason() == "cut");
  CHECK(w.registry->size() == 0);
}

TEST_CASE("session: a daemon that does not answer the close is cut off") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::check_session, 403);
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  w.registry->hear(revoked(who));
  // The frame is not answered: read_close() only looks.
  CHECK(peer->read_close() == 4403);
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
}

TEST_CASE("session: after a watch was made anew every session is asked about") {
  session_world w;
  w.api.welcome();
  w.start();
  std::vector<std::unique_ptr<ws_peer>> peers;
  for (int i = 0; i < 5; ++i)
    peers.push_back(w.session(w.node(i)));
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::fetch_commands) == 5; }));
  auto gone = w.session_id(3);
  w.api.on(daemon_request::check_session,
           [gone](const auto& c, const auto& done) {
             auto which = wire::decode_session_check(c.body).value();
             done({which.session_id == gone ? 403 : 200, ""});
           });
  w.registry->watched(true);
  CHECK(peers[3]->read_close() == 4403);
  CHECK(comes_true([&] { return w.registry->size() == 4; }));
  CHECK(w.api.count(daemon_request::check_session) == 5);
  // And what came meanwhile is fetched: of all but the one, at the least.
  CHECK(comes_true(
      [&] { return w.api.count(daemon_request::fetch_commands) >= 9; }));
}

TEST_CASE(
    "session: without a watch all are dropped; the ends are told once a "
    "server is there") {
  session_world w;
  w.api.welcome();
  w.start();
  auto a = w.session(w.node(1));
  auto b = w.session(w.node(2));
  w.api.on(daemon_request::session_end, 503);
  w.registry->watched(false);
  CHECK(a->read_close() == 1001);
  CHECK(b->read_close() == 1001);
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
  REQUIRE(w.api.end_reason() == "lost");
  std::set<std::string> told;
  std::mutex mutex;
  w.api.on(daemon_request::session_end, [&](const auto& c, const auto& done) {
    std::lock_guard lock{mutex};
    told.insert(wire::decode_session_end(c.body).value().session_id);
    done({200, ""});
  });
  w.registry->watched(true);
  CHECK(comes_true([&] {
    std::lock_guard lock{mutex};
    return told == std::set{w.session_id(0), w.session_id(1)};
  }));
}

TEST_CASE("session: a stop says come back, and tells of every end") {
  session_world w;
  w.api.welcome();
  w.start();
  std::vector<std::unique_ptr<ws_peer>> peers;
  for (int i = 0; i < 5; ++i)
    peers.push_back(w.session(w.node(i)));
  auto waiting = w.open(w.node(9));
  std::thread stopper{[&] { w.stop(); }};
  for (auto& p : peers)
    CHECK(p->read_close() == 1001);
  CHECK(waiting->read_close() == 1001);
  peers.clear();
  waiting.reset();
  stopper.join();
  CHECK(w.registry->size() == 0);
  CHECK(w.api.count(daemon_request::session_end) == 5);
  CHECK(w.api.end_reason() == "stopping");
}
