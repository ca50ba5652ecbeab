// spec: DESIGN sections 7 and 8, joining#join-flow step 6. As
// hostile_gateway_test.cpp: a session, with a gateway of the deployment that
// says what the test wants; it has a certificate of the internal CA, and the
// machine's certificate by the handshake. What such a gateway is believed, and
// by whom it is refused (docs/rotate-keys.md, "The keys of a gateway were
// stolen").
#include "daemon/command_runner.hpp"
#include "daemon/session_client.hpp"
#include "events/command.hpp"
#include "events/node_sessions.hpp"
#include "gateway/web_socket.hpp"
#include "hostile_deployment.hpp"

using namespace bc;
using namespace bc::gateway::testing;

namespace {

using end = daemon::session_outcome::end;
using texts = std::vector<std::string>;
using gateway::web_socket;

class hostile_door final : public gateway::web_socket_door {
 public:
  std::function<void(web_socket&, std::string_view)> on_text = [](auto&&...) {};
  std::string certificate;  // of the last who came

  result<std::shared_ptr<gateway::web_socket_user>> admit(
      const gateway::web_socket_request& r) override {
    certificate = r.client_certificate;
    auto out = std::make_shared<user>();
    out->door = this;
    return std::shared_ptr<gateway::web_socket_user>{out};
  }

 private:
  struct user final : gateway::web_socket_user {
    hostile_door* door = nullptr;
    std::weak_ptr<web_socket> socket;
    void on_open(const std::shared_ptr<web_socket>& s) override { socket = s; }
    void on_text(std::string_view text) override {
      if (auto s = socket.lock())
        door->on_text(*s, text);
    }
    void on_control() override {}
    void on_deadline() override {}
    void on_closed(gateway::socket_end) override {}
  };
};

template <class Message>
std::optional<Message> said(std::string_view frame) {
  auto read = wire::decode_from_daemon(frame);
  if (!read || !read.value())
    return std::nullopt;
  const auto* out = std::get_if<Message>(&*read.value());
  return out ? std::optional{*out} : std::nullopt;
}

struct world : deployment {
  daemon::node_identity me = joined();
  std::unique_ptr<gateway::relay_client> relay =
      relay_world::connect(internal.options({api->port()}));
  std::shared_ptr<hostile_door> door = std::make_shared<hostile_door>();
  std::unique_ptr<gateway::http_server> hostile;
  daemon::config dialled = config;
  int sessions = 0;
  std::stop_source stop;

  // The machine's side.
  texts ran;
  temporary_folder home{quick_parent()};
  daemon::private_dir data = daemon::private_dir::open(home / "data").value();
  std::optional<daemon::command_runner> runner;
  daemon::session_hooks hooks;

  world() {
    gateway::server_options o;
    o.tls = serving();
    o.clients.ca_pem = pki::certificate_pem(internal.keys->node_ca.certificate);
    auto sockets = std::make_shared<gateway::web_socket_options>();
    sockets->path = "/v1/session";
    sockets->protocol = wire::session_protocol;
    sockets->door = door;
    o.web_socket = sockets;
    hostile = serve(std::move(o));
    dialled.gateway_url =
        "https://127.0.0.1:" + std::to_string(hostile->port());
    restart();
  }

  /// bcd starts anew on what it kept.
  void restart() {
    daemon::runner_tools tools;
    tools.run = [this](const wire::command_body& c, const std::stop_token&) {
      ran.push_back(c.command_id);
      return std::optional{wire::command_result{"", true, "done"}};
    };
    tools.now = [this] { return w.time.now(); };
    tools.say = [](const std::string&) {};
    tools.wake = [this] {
      while (runner->step({})) {
      }
    };
    runner.reset();
    runner.emplace(daemon::command_journal::open(data).value(),
                   std::move(tools));
    hooks = {};
    runner->serve(hooks);
    hooks.server_time = [](time_point) {};
    hooks.welcomed = [](const wire::welcome&) {};
    hooks.now = [this] { return w.time.now(); };
  }

  [[nodiscard]] daemon::session_outcome run() {
    stop = {};
    return daemon::run_session(dialled, me, "0.1.0", hooks, stop.get_token());
  }

  /// What the gateway asks of the service about the node that came.
  actors::daemon_reply asked(actors::daemon_request what, std::string body,
                             std::string certificate = {}) {
    if (certificate.empty())
      certificate = door->certificate;
    return gateway::testing::ask(
        *relay, {std::move(body), "req-1", std::move(certificate), what});
  }
  wire::welcome welcome(const wire::hello& hello) {
    const auto id = "sess_" + std::to_string(++sessions);
    auto reply = asked(
        actors::daemon_request::hello,
        wire::encode(wire::session_hello{id, "gw_1", "192.0.2.1", hello}));
    REQUIRE(reply.status == 200);
    auto read = wire::decode_to_daemon(reply.body);
    return std::get<wire::welcome>(*read.value());
  }
  int say_result(const std::string& node, wire::command_result what,
                 std::string certificate = {}) {
    return asked(actors::daemon_request::command_result,
                 wire::encode(
                     wire::relayed_result{"sess_1", node, std::move(what)}),
                 std::move(certificate))
        .status;
  }

  /// Welcomes as the service does, then says these; the machine's results go to
  /// the service. Over once so many came, or by the `heartbeats`th heartbeat.
  void saying(std::vector<wire::command> commands, std::size_t results,
              int heartbeats = 3) {
    auto came = std::make_shared<std::size_t>(0);
    auto beats = std::make_shared<int>(0);
    door->on_text = [this, commands, results, heartbeats, came, beats](
                        web_socket& s, std::string_view frame) {
      if (auto hello = said<wire::hello>(frame)) {
        auto m = welcome(*hello);
        m.heartbeat_seconds = 1;
        s.send(wire::encode(wire::to_daemon{m}));
        for (const auto& one : commands)
          s.send(wire::encode(wire::to_daemon{one}));
      } else if (auto result = said<wire::command_result>(frame)) {
        CHECK(say_result(me.who.node_id, *result) == 200);
        s.send(
            wire::encode(wire::to_daemon{wire::recorded{result->command_id}}));
        ++*came;
      } else if (auto beat = said<wire::heartbeat>(frame)) {
        s.send(wire::encode(wire::to_daemon{*beat}));
        if (++*beats == heartbeats)
          stop.request_stop();
      }
      if (results > 0 && *came == results && *beats > 0)
        stop.request_stop();
    };
  }

  /// As commands.enqueue makes it and the service signs it.
  std::pair<command_id, wire::command> command(const std::string& node) {
    events::command::enqueued c;
    c.id = pki::mint<command_id>(w.time.now());
    c.node = node_id::parse(node).value();
    c.tenant = w.owner;
    c.kind = "ping";
    c.payload = "{}";
    c.at = w.time.now();
    c.expires_at = c.at + seconds{3'600};
    w.append<events::command::event>(events::stream_of(c.id), c, w.owner);
    auto body = wire::encode(wire::command_body{c.id.str(), node, c.kind,
                                                c.payload, to_millis(c.at),
                                                to_millis(c.expires_at)});
    auto sig = pki::sign(internal.keys->command_signing, pki::purpose::command,
                         {as_bytes(body)});
    return {c.id, {body, {sig.begin(), sig.end()}}};
  }
  /// The outcomes that the journal has.
  [[nodiscard]] std::size_t outcomes() const {
    return w.count("node.command.completed");
  }
};

}  // namespace

TEST_CASE(
    "hostile_gateway: an altered welcome begins no session, and the identity "
    "stays good") {
  world d;
  auto mallory = pki::private_key::generate();
  auto signed_by = [](const pki::private_key& key, wire::welcome& m,
                      const bytes& nonce) {
    auto text = std::to_string(m.time.time_ms);
    auto sig =
        pki::sign(key, pki::purpose::server_time, {as_bytes(text), nonce});
    m.time.signature = {sig.begin(), sig.end()};
  };
  std::optional<wire::welcome> older;
  std::vector<std::function<void(wire::welcome&, const bytes&)>> all{
      [](auto& m, const auto&) { m.time.time_ms += 1; },
      [&](auto& m, const auto& nonce) {
        m.signing_key = mallory.pub().spki();
        signed_by(mallory, m, nonce);
      },
      [&](auto& m, const auto& nonce) { signed_by(mallory, m, nonce); },
      [&](auto& m, const auto&) { m = older.value(); },
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    d.door->on_text = [&](web_socket& s, std::string_view frame) {
      auto hello = said<wire::hello>(frame);
      if (!hello)
        return;
      auto m = d.welcome(*hello);
      auto honest = m;
      all[i](m, hello->nonce);
      older = honest;
      s.send(wire::encode(wire::to_daemon{m}));
    };
    auto out = d.run();
    CHECK(out.what == end::untrusted);
    CHECK_FALSE(out.welcomed);
  }
  d.saying({}, 0, 1);
  CHECK(d.run().welcomed);
}

TEST_CASE(
    "hostile_gateway: a command that was altered or is another node's is not "
    "done, the machine's own once") {
  world d;
  const auto& node = d.me.who.node_id;
  auto [id, mine] = d.command(node);
  auto [other_id, other] = d.command("node_01k5w000000000000000000009");
  auto altered = mine;
  auto at = altered.body.find("ping");
  REQUIRE(at != std::string::npos);
  altered.body.replace(at, 4, "pong");
  auto renamed = other;
  renamed.body.replace(renamed.body.find("node_01k5w0"), node.size(), node);
  auto own = mine;
  auto mallory = pki::private_key::generate();
  auto sig = pki::sign(mallory, pki::purpose::command, {as_bytes(own.body)});
  own.signature = {sig.begin(), sig.end()};

  d.saying({altered, other, renamed, own, mine, mine, mine}, 1);
  auto out = d.run();
  INFO(out.why);
  CHECK(out.what == end::stopped);
  CHECK(d.ran == texts{id.str()});
  CHECK(d.outcomes() == 1);
  // In the next session, and to a daemon that started anew.
  for (int i = 0; i < 2; ++i) {
    d.saying({mine, other}, 0, 1);
    CHECK(d.run().what == end::stopped);
    d.restart();
  }
  CHECK(d.ran == texts{id.str()});
  CHECK(d.outcomes() == 1);
}

TEST_CASE(
    "hostile_gateway: a result that it keeps back is not given by another "
    "node, and the command is not done again") {
  world d;
  auto [id, mine] = d.command(d.me.who.node_id);
  // It says that the result is in the journal, and tells nobody.
  d.door->on_text = [&](web_socket& s, std::string_view frame) {
    if (auto hello = said<wire::hello>(frame)) {
      auto m = d.welcome(*hello);
      m.heartbeat_seconds = 1;
      s.send(wire::encode(wire::to_daemon{m}));
      s.send(wire::encode(wire::to_daemon{mine}));
    } else if (auto result = said<wire::command_result>(frame)) {
      s.send(wire::encode(wire::to_daemon{wire::recorded{result->command_id}}));
    } else if (auto beat = said<wire::heartbeat>(frame)) {
      s.send(wire::encode(wire::to_daemon{*beat}));
      d.stop.request_stop();
    }
  };
  CHECK(d.run().what == end::stopped);
  CHECK(d.ran == texts{id.str()});
  CHECK(d.outcomes() == 0);
  // The command waits in the service, and a good gateway brings it again.
  d.saying({mine}, 0, 1);
  CHECK(d.run().what == end::stopped);
  CHECK(d.ran == texts{id.str()});
}

TEST_CASE(
    "hostile_gateway: it speaks for the nodes whose certificates it has, and "
    "for no other") {
  world d;
  d.saying({}, 0, 1);
  REQUIRE(d.run().welcomed);
  const auto& node = d.me.who.node_id;
  auto [id, mine] = d.command(node);
  auto second = d.w.admit(7);
  auto [other_id, other] = d.command(second.id.str());
  const auto head = d.w.head();
  const wire::command_result lie{other_id.str(), true, "{}"};
  // Its name alone, or another's certificate, does not make a node.
  CHECK(d.say_result(second.id.str(), lie) == 403);
  CHECK(d.say_result(second.id.str(), lie, "no certificate") == 403);
  CHECK(d.say_result(node, lie) == 404);
  CHECK(d.w.head() == head);
  // A node does not sign its results: of one whose certificate it was shown
  // this is believed.
  CHECK(d.say_result(node, {id.str(), true, "{}"}) == 200);
  CHECK(d.outcomes() == 1);
  // Until that certificate is no node's any more.
  auto [later_id, later] = d.command(node);
  d.w.retire(node_id::parse(node).value());
  const auto retired = d.w.head();
  CHECK(d.say_result(node, {later_id.str(), true, "{}"}) == 403);
  CHECK(d.w.head() == retired);
}
