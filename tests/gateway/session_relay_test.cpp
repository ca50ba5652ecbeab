// Sessions of a gateway whose join service is behind the relay, with API
// processes that come and go: DESIGN section 7, CASES 66 and 67.
#include "fake_api.hpp"
#include "gateway/gateway_node.hpp"
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;
using actors::gateway_notice;

namespace {

/// What an API process tells, when the test says so.
class fake_notices final : public actors::notice_port {
 public:
  std::shared_ptr<void> watch(hear each) override {
    std::lock_guard lock{mutex_};
    auto id = ++last_;
    watches_[id] = std::move(each);
    return {nullptr, [this, id](void*) {
              std::lock_guard inner{mutex_};
              watches_.erase(id);
            }};
  }
  void tell(const gateway_notice& n) {
    std::lock_guard lock{mutex_};
    for (const auto& [id, each] : watches_)
      each(n);
  }
  [[nodiscard]] milliseconds age() const override { return how_old; }
  std::atomic<milliseconds> how_old{milliseconds{0}};
  [[nodiscard]] std::size_t watches() const {
    std::lock_guard lock{mutex_};
    return watches_.size();
  }

 private:
  mutable std::mutex mutex_;
  int last_ = 0;
  std::map<int, hear> watches_;
};

/// An API process in a test's hands.
struct scripted_api {
  std::atomic<bool> alive{true};     // answers pings
  std::atomic<bool> watching{true};  // answers a watch
  std::atomic<int> watches{0};
  std::atomic<int> check_status{200};
  std::atomic<int> checks{0};
  std::atomic<int> ends{0};
  std::unique_ptr<fake_api> process;

  void start(const relay_world& w) {
    process = std::make_unique<fake_api>(
        w, w.internal(pki::internal_role::api, w.now),
        [this](relay_link& link, const relay::message& m) { act(link, m); });
  }

 private:
  void act(relay_link& link, const relay::message& m) {
    if (!alive)
      return;
    if (const auto* ping = std::get_if<relay::ping>(&m)) {
      link.send(relay::encode(relay::pong{ping->number}));
    } else if (std::holds_alternative<relay::watch>(m)) {
      ++watches;
      if (watching)
        link.send(relay::encode(relay::watching{}));
    } else if (const auto* r = std::get_if<relay::request>(&m)) {
      link.send(relay::encode(answer_to(*r)));
    }
  }

  relay::answer answer_to(const relay::request& r) {
    switch (static_cast<daemon_request>(r.kind)) {
      case daemon_request::hello:
        return {r.id, 200, fake_sessions::welcome_to(r.body)};
      case daemon_request::check_session:
        ++checks;
        return {r.id, static_cast<std::uint16_t>(check_status.load()), ""};
      case daemon_request::session_end:
        ++ends;
        return {r.id, 200, ""};
      default:
        return {r.id, 503, ""};
    }
  }
};

struct world {
  relay_world internal;
  gateway_options options;
  std::unique_ptr<gateway_node> gateway;

  world() {
    auto leaf = pki::issue_server_certificate(internal.keys->serving_ca,
                                              {"127.0.0.1"}, internal.now);
    options.address = "127.0.0.1";
    options.serving = identity_of(leaf.value());
    options.node_ca_pem =
        pki::certificate_pem(internal.keys->node_ca.certificate);
  }

  void start(const std::vector<std::uint16_t>& ports) {
    auto watch = options.relay.watch;
    options.relay = internal.options(ports);
    options.relay.watch = watch;
    auto out = start_gateway(options);
    if (!out)
      FAIL(out.error().message);
    gateway = std::move(out).value();
  }

  [[nodiscard]] node_identity node(int n = 1) const {
    return node_number(internal.keys->node_ca, internal.now, n);
  }
  /// Upgraded and welcomed, once the gateway takes sessions.
  [[nodiscard]] std::unique_ptr<ws_peer> session(
      const node_identity& who) const {
    std::unique_ptr<ws_peer> out;
    REQUIRE(comes_true([&] {
      out = std::make_unique<ws_peer>(gateway->port(), who.tls.get());
      return out->upgrade().starts_with("HTTP/1.1 101 ");
    }));
    REQUIRE(out->say(session_world::hello_text()));
    auto welcome = out->read_text();
    REQUIRE(welcome.find("\"welcome\"") != std::string::npos);
    return out;
  }
};

}  // namespace

TEST_CASE(
    "session_relay: a notice of an API process cuts (case 66) (case 67)") {
  world w;
  fake_sessions api;
  api.welcome();
  fake_notices notices;
  relay_listener_options o;
  o.keys = w.internal.keys;
  std::mutex mutex;
  std::vector<std::pair<std::string, bool>> gateways;
  o.gateways = [&](const std::string& id, bool here) {
    std::lock_guard lock{mutex};
    gateways.emplace_back(id, here);
  };
  auto listener = start_relay_listener(std::move(o), api, &notices);
  REQUIRE(listener);
  w.start({listener.value()->port()});
  auto who = w.node();
  auto peer = w.session(who);
  CHECK(notices.watches() == 1);
  auto hello =
      wire::decode_session_hello(api.all(daemon_request::hello).at(0).body);
  {
    std::lock_guard lock{mutex};
    REQUIRE(gateways.size() == 1);
    CHECK(gateways[0] == std::pair{hello.value().gateway_id, true});
  }
  api.on(daemon_request::check_session, 403);
  notices.tell({gateway_notice::kind::cut, node_of(who), "", false});
  CHECK(peer->read_close() == 4403);
  CHECK(api.end_reason() == "cut");

  w.gateway->stop(seconds{5});
  CHECK(comes_true([&] { return notices.watches() == 0; }));
  CHECK(comes_true([&] {
    std::lock_guard lock{mutex};
    return gateways.size() == 2 && !gateways[1].second;
  }));
}

TEST_CASE("session_relay: commands pass both ways") {
  world w;
  fake_sessions api;
  api.welcome();
  api.on(daemon_request::command_result, 200);
  fake_notices notices;
  relay_listener_options o;
  o.keys = w.internal.keys;
  auto listener = start_relay_listener(std::move(o), api, &notices);
  REQUIRE(listener);
  w.start({listener.value()->port()});
  auto who = w.node();
  auto peer = w.session(who);
  api.on(daemon_request::fetch_commands, 200,
         wire::encode(wire::fetched_commands{
             {{wire::encode(wire::command_body{"cmd_1", node_of(who), "ping",
                                               "{}", 1, 2}),
               bytes(64, 7)}}}));
  notices.tell({gateway_notice::kind::commands, node_of(who), "", false});
  CHECK(peer->read_text().find("\"command\"") != std::string::npos);
  peer->say(wire::encode(
      wire::from_daemon{wire::command_result{"cmd_1", true, "pong"}}));
  // The command may come twice: with the welcome's fetch, and the notice's.
  auto next = peer->read_text();
  while (next.find("\"command\"") != std::string::npos)
    next = peer->read_text();
  CHECK(next.find("\"recorded\"") != std::string::npos);
}

TEST_CASE("session_relay: a stop tells of the ends before it leaves") {
  world w;
  scripted_api api;
  api.start(w.internal);
  w.start({api.process->port()});
  std::vector<std::unique_ptr<ws_peer>> peers;
  for (int i = 0; i < 20; ++i)
    peers.push_back(w.session(w.node(i)));
  CHECK(w.gateway->sessions() == 20);
  std::thread stopper{[&] { w.gateway->stop(seconds{20}); }};
  for (auto& p : peers)
    CHECK(p->read_close() == 1001);
  peers.clear();
  stopper.join();
  CHECK(api.ends == 20);
}

TEST_CASE(
    "session_relay: the watch moves when its API process dies, and every "
    "session is asked about (case 66)") {
  world w;
  scripted_api apis[2];
  for (auto& a : apis)
    a.start(w.internal);
  w.start({apis[0].process->port(), apis[1].process->port()});
  auto peer = w.session(w.node(1));
  const int held = apis[0].watches > 0 ? 0 : 1;
  auto& other = apis[1 - held];
  CHECK(other.watches == 0);
  // While nobody listened the node was revoked.
  other.check_status = 403;
  SECTION("it is gone") {
    apis[held].process.reset();
  }
  SECTION("it says nothing any more") {
    apis[held].alive = false;
  }
  CHECK(peer->read_close() == 4403);
  CHECK(other.watches == 1);
  CHECK(apis[held].checks == 0);
}

TEST_CASE("session_relay: a session that holds goes on through a move") {
  world w;
  scripted_api apis[2];
  for (auto& a : apis)
    a.start(w.internal);
  w.start({apis[0].process->port(), apis[1].process->port()});
  auto peer = w.session(w.node(1));
  const int held = apis[0].watches > 0 ? 0 : 1;
  apis[held].process.reset();
  CHECK(comes_true([&] { return apis[1 - held].checks == 1; }));
  peer->say(session_world::heartbeat_text(3));
  CHECK(peer->read_text() == session_world::heartbeat_text(3));
}

TEST_CASE("session_relay: without any API process the sessions are dropped") {
  world w;
  w.options.relay.watch = {milliseconds{200}, milliseconds{300},
                           milliseconds{100}};
  auto api = std::make_unique<scripted_api>();
  api->start(w.internal);
  // Under load its pongs may be late for such times.
  w.start({api->process->port()});
  std::unique_ptr<ws_peer> peer;
  auto who = w.node(1);
  peer = std::make_unique<ws_peer>(w.gateway->port(), who.tls.get());
  REQUIRE(comes_true([&] {
    peer = std::make_unique<ws_peer>(w.gateway->port(), who.tls.get());
    return peer->upgrade().starts_with("HTTP/1.1 101 ");
  }));
  api->process.reset();
  CHECK(peer->read_close() == 1001);
  // And none begins.
  CHECK(comes_true([&] {
    ws_peer next{w.gateway->port(), who.tls.get()};
    return next.upgrade().starts_with("HTTP/1.1 503 ");
  }));
  CHECK(comes_true([&] { return w.gateway->sessions() == 0; }));
}

TEST_CASE("session_relay: an API process that tells nothing keeps no session") {
  world w;
  SECTION("it does not say that it will") {
    scripted_api api;
    api.watching = false;
    api.start(w.internal);
    w.start({api.process->port()});
    REQUIRE(comes_true([&] { return api.watches > 0; }));
    auto who = w.node(1);
    ws_peer peer{w.gateway->port(), who.tls.get()};
    CHECK(peer.upgrade().starts_with("HTTP/1.1 503 "));
    w.gateway.reset();
  }
  SECTION("it has nothing to tell of") {
    fake_sessions api;
    auto listener = w.internal.listen(api);
    w.start({listener->port()});
    REQUIRE(comes_true([&] { return w.gateway->has_healthy_api(); }));
    auto who = w.node(1);
    ws_peer peer{w.gateway->port(), who.tls.get()};
    CHECK(peer.upgrade().starts_with("HTTP/1.1 503 "));
    w.gateway.reset();
  }
}

TEST_CASE("session_relay: a notice nobody knows the kind of is ignored") {
  world w;
  std::atomic<relay_link*> link{nullptr};
  fake_api api{w.internal,
               w.internal.internal(pki::internal_role::api, w.internal.now),
               with_pongs([&](relay_link& l, const relay::message& m) {
                 if (std::holds_alternative<relay::watch>(m)) {
                   l.send(relay::encode(relay::watching{}));
                   l.send(relay::encode(relay::notice{77, false, "n", ""}));
                   link = &l;
                 }
               })};
  w.start({api.port()});
  REQUIRE(comes_true([&] { return link != nullptr; }));
  auto who = w.node(1);
  CHECK(comes_true([&] {
    ws_peer peer{w.gateway->port(), who.tls.get()};
    return peer.upgrade().starts_with("HTTP/1.1 101 ");
  }));
  CHECK(api.connections == 1);
}

TEST_CASE(
    "session_relay: a process that hears no news of the journal is no watch "
    "(case 66)") {
  world w;
  fake_sessions api;
  api.welcome();
  // While nobody told of it the node was revoked.
  api.on(daemon_request::check_session, 403);
  fake_notices notices[2];
  std::unique_ptr<relay_listener> listeners[2];
  std::vector<std::uint16_t> ports;
  for (int i : {0, 1}) {
    relay_listener_options o;
    o.keys = w.internal.keys;
    auto made = start_relay_listener(std::move(o), api, &notices[i]);
    REQUIRE(made);
    listeners[i] = std::move(made).value();
    ports.push_back(listeners[i]->port());
  }
  SECTION("any more: the watch moves, and every session is asked about") {
    w.start(ports);
    auto peer = w.session(w.node(1));
    const int held = notices[0].watches() > 0 ? 0 : 1;
    notices[held].how_old = seconds{3};
    CHECK(peer->read_close() == 4403);
    CHECK(notices[1 - held].watches() == 1);
    CHECK(notices[held].watches() == 0);
  }
  SECTION("yet: another is asked") {
    notices[0].how_old = std::chrono::hours{1};
    w.start(ports);
    auto peer = w.session(w.node(1));
    CHECK(notices[0].watches() == 0);
    CHECK(notices[1].watches() == 1);
  }
  w.gateway.reset();
}

TEST_CASE("session_relay: who watches names a gateway") {
  relay_world w;
  echo_joins api;
  fake_notices notices;
  relay_listener_options o;
  o.keys = w.keys;
  std::atomic<int> told{0};
  o.gateways = [&](const std::string&, bool) { ++told; };
  auto listener = start_relay_listener(std::move(o), api, &notices);
  REQUIRE(listener);
  auto id = GENERATE(std::string{}, std::string{"gw_"},
                     std::string{"gw_'; drop table gateways"},
                     std::string{"node_01k5w000000000000000000000"});
  CAPTURE(id);
  tls_peer peer{listener.value()->port(),
                {.identity = w.gateway.get(),
                 .max_version = TLS1_3_VERSION,
                 .alpn = "\x0a" + std::string{relay::protocol}}};
  peer.send(relay::encode(relay::watch{id}));
  CHECK(peer.read().empty());
  CHECK(told == 0);
  CHECK(notices.watches() == 0);
}
