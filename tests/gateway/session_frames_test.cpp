// A session's frames, and a daemon that sends others: base/wire_session.hpp,
// RFC 6455, CASES 139.
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;

TEST_CASE("session: hello, welcome, heartbeats, goodbye") {
  session_world w;
  w.api.welcome();
  w.start();
  auto who = w.node();
  auto peer = w.session(who);
  auto hello = w.api.all(daemon_request::hello).front();
  CHECK(hello.certificate == as_text(who.certificate));
  auto asked = wire::decode_session_hello(hello.body).value();
  CHECK(asked.session_id.starts_with("sess_"));
  CHECK(asked.gateway_id == w.registry->gateway_id());
  CHECK(asked.address == "127.0.0.1");
  CHECK(asked.message.nonce == bytes(32, 3));
  for (std::uint64_t n : {1U, 2U, 7U}) {
    REQUIRE(peer->say(session_world::heartbeat_text(n)));
    CHECK(peer->read_text() == session_world::heartbeat_text(n));
  }
  // A frame in pieces, with a ping between them.
  auto text = session_world::heartbeat_text(9);
  peer->send({.payload = text.substr(0, 5), .fin = false});
  peer->send({.opcode = 9, .payload = "are you there"});
  peer->send({.opcode = 0, .payload = text.substr(5)});
  auto pong = peer->read();
  REQUIRE(pong);
  CHECK(pong->opcode == 10);
  CHECK(pong->payload == "are you there");
  CHECK(peer->read_text() == text);
  // What a newer daemon may say.
  peer->say(R"({"type":"weather","sun":true})");
  peer->say(session_world::heartbeat_text(10));
  CHECK(peer->read_text() == session_world::heartbeat_text(10));
  peer->send({.opcode = 8, .payload = std::string("\x03\xe8", 2)});
  CHECK(peer->read_close() == 1000);
  CHECK(w.api.end_reason() == "closed");
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
}

TEST_CASE("session: what is no frame of the protocol ends it") {
  session_world w;
  w.api.welcome();
  w.options.limits.frames = 100;
  w.start();
  auto peer = w.session(w.node());
  int code = 1008;
  SECTION("one that is too large") {
    peer->say(std::string(wire::max_session_frame + 1, ' '));
    code = 1009;
  }
  SECTION("one that grows too large piece by piece") {
    std::string piece(10'000, ' ');
    peer->send({.payload = piece, .fin = false});
    for (int i = 0; i < 6; ++i)
      peer->send({.opcode = 0, .payload = piece, .fin = false});
    code = 1009;
  }
  SECTION("a binary one") {
    peer->send({.opcode = 2, .payload = session_world::heartbeat_text()});
  }
  SECTION("bad UTF-8") {
    peer->say("{\"type\":\"\xff\xfe\"}");
    code = 1007;  // RFC 6455 section 8.1
  }
  SECTION("not masked") {
    peer->send({.payload = session_world::heartbeat_text(), .masked = false});
    code = 1002;
  }
  SECTION("reserved bits") {
    peer->send({.payload = session_world::heartbeat_text(), .reserved = 4});
    code = 1002;
  }
  SECTION("an opcode there is not") {
    peer->send({.opcode = 3, .payload = "x"});
    code = 1002;
  }
  SECTION("a control frame in pieces") {
    peer->send({.opcode = 9, .payload = "x", .fin = false});
    code = 1002;
  }
  SECTION("a control frame that is too long") {
    peer->send({.opcode = 9, .payload = std::string(126, 'x')});
    code = 1002;
  }
  SECTION("a continuation of nothing") {
    peer->send({.opcode = 0, .payload = "x"});
    code = 1002;
  }
  SECTION("no JSON") {
    peer->say("hello");
  }
  SECTION("no type") {
    peer->say("{}");
  }
  SECTION("a second hello") {
    peer->say(session_world::hello_text());
  }
  SECTION("a result without a command") {
    peer->say(R"({"type":"result"})");
  }
  SECTION("a flood of pings") {
    for (int i = 0; i < 200; ++i)
      peer->send({.opcode = 9, .payload = "x"});
  }
  SECTION("a flood of heartbeats") {
    for (int i = 0; i < 200; ++i)
      peer->say(session_world::heartbeat_text());
  }
  CHECK(peer->read_close() == code);
  CHECK(w.api.end_reason() == "closed");
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
  // Once.
  CHECK(w.api.count(daemon_request::session_end) == 1);
}

TEST_CASE("session: nothing but a hello begins it") {
  session_world w;
  w.api.welcome();
  w.start();
  auto peer = w.open(w.node());
  SECTION("a heartbeat") {
    peer->say(session_world::heartbeat_text());
  }
  SECTION("a result") {
    peer->say(wire::encode(
        wire::from_daemon{wire::command_result{"cmd_1", true, ""}}));
  }
  CHECK(peer->read_close() == 1008);
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
  CHECK(w.api.count(daemon_request::hello) == 0);
  CHECK(w.api.count(daemon_request::session_end) == 0);
}

TEST_CASE("session: who is slow on purpose is cut (case 139)") {
  session_world w;
  w.api.welcome(1);
  SECTION("no hello") {
    w.options.limits.hello = milliseconds{50};
    w.start();
    auto peer = w.open(w.node());
    CHECK(peer->read_close() == 1008);
  }
  SECTION("a hello byte by byte gets no longer") {
    w.options.limits.hello = milliseconds{300};
    w.start();
    auto peer = w.open(w.node());
    auto text = session_world::hello_text();
    peer->send({.payload = text.substr(0, 1), .fin = false});
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (!peer->send(
              {.opcode = 0, .payload = text.substr(i, 1), .fin = false}))
        break;
      std::this_thread::sleep_for(milliseconds{20});
    }
    CHECK(w.api.count(daemon_request::hello) == 0);
  }
  SECTION("an upgrade that never ends") {
    w.server_limits.read_timeout = milliseconds{50};
    w.start();
    auto who = w.node();
    ws_peer peer{w.server->port(), who.tls.get()};
    auto text = upgrade_text();
    CHECK(peer.upgrade(text.substr(0, text.size() - 2)).empty());
  }
  SECTION("no heartbeat, though there are pings") {
    w.options.limits.missed_heartbeats = 1;
    w.start();
    auto peer = w.session(w.node());
    for (int i = 0; i < 40 && peer->send({.opcode = 9, .payload = "x"}); ++i)
      std::this_thread::sleep_for(milliseconds{50});
    CHECK(peer->read_close() == 1001);
    CHECK(w.api.end_reason() == "lost");
  }
  SECTION("it takes nothing of what it is sent") {
    w.start();
    auto who = w.node();
    auto peer = w.session(who);
    CHECK(w.flood(
        who, [&] { return w.api.count(daemon_request::session_end) > 0; }));
    CHECK(w.api.end_reason() == "lost");
  }
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
}

TEST_CASE("session: what the join service says to a hello") {
  struct row {
    int status;
    const char* body;
    int code;
  };
  auto r = GENERATE(row{403, "", 4403}, row{409, "", 4409}, row{503, "", 1013},
                    row{500, "", 1013}, row{200, "no welcome", 1013},
                    row{200, R"({"type":"heartbeat","number":1})", 1013});
  CAPTURE(r.status, r.body);
  session_world w;
  w.api.on(daemon_request::hello, r.status, r.body);
  w.start();
  auto peer = w.open(w.node());
  peer->say(session_world::hello_text());
  CHECK(peer->read_close() == r.code);
  CHECK(comes_true([&] { return w.registry->size() == 0; }));
  // Noted there as a session, or perhaps, it is ended there.
  CHECK(w.api.count(daemon_request::session_end) ==
        (r.status == 403 || r.status == 409 ? 0U : 1U));
}

TEST_CASE("session: a welcome to another session is none") {
  session_world w;
  w.api.on(daemon_request::hello, [](const auto& c, const auto& done) {
    auto text = fake_sessions::welcome_to(c.body);
    auto at = text.find("sess_") + 5;
    text[at] = text[at] == 'x' ? 'y' : 'x';
    done({200, text});
  });
  w.start();
  auto peer = w.open(w.node());
  peer->say(session_world::hello_text());
  CHECK(peer->read_close() == 1013);
}

TEST_CASE("session: a hello that nobody answers ends with come back") {
  session_world w;
  w.api.on(daemon_request::hello, [](const auto&, const auto&) {});
  w.options.limits.answer = milliseconds{50};
  w.start();
  auto peer = w.open(w.node());
  peer->say(session_world::hello_text());
  CHECK(peer->read_close() == 1013);
}

TEST_CASE("session: a daemon that goes while it is asked is ended once known") {
  session_world w;
  std::promise<std::function<void()>> asked;
  w.api.on(daemon_request::hello, [&](const auto& c, const auto& done) {
    asked.set_value([body = fake_sessions::welcome_to(c.body), done] {
      done({200, body});
    });
  });
  w.start();
  auto peer = w.open(w.node());
  peer->say(session_world::hello_text());
  auto answer = asked.get_future().get();
  peer.reset();
  REQUIRE(comes_true([&] { return w.registry->size() == 0; }));
  CHECK(w.api.count(daemon_request::session_end) == 0);
  answer();
  CHECK(w.api.end_reason() == "lost");
}

TEST_CASE("session: it does not outlive its certificate") {
  session_world w;
  w.api.welcome();
  w.options.limits.frames = 1'000'000;
  w.start();
  // Issued 2 s before it ends, backdating counted.
  auto who = node_number(w.node_ca, w.now, 1, pki::backdating + seconds{2});
  auto peer = w.session(who);
  CHECK(comes_true([&] {
    if (system_clock{}.now() >= w.now + seconds{3})
      return true;
    return !peer->say(session_world::heartbeat_text());
  }));
  peer->say(session_world::heartbeat_text());
  CHECK(peer->read_close() == 1001);
}

TEST_CASE("session: nor does it when no heartbeat comes any more") {
  session_world w;
  w.api.welcome();
  w.api.on(daemon_request::command_result, 200);
  w.options.limits.frames = 1'000'000;
  w.start();
  auto who = node_number(w.node_ca, w.now, 1, pki::backdating + seconds{2});
  auto peer = w.session(who);
  SECTION("nothing comes") {}
  SECTION("results come") {
    CHECK(comes_true([&] {
      return system_clock{}.now() >= w.now + seconds{3} ||
             !peer->say(wire::encode(wire::from_daemon{
                 wire::command_result{"cmd_1", true, "pong"}}));
    }));
  }
  // Not as one that is lost: that takes three heartbeats' time.
  CHECK(w.api.end_reason() == "closed");
}
