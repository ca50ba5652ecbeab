// bcd's side of a session, against this server with whatever behind it.
#include "daemon/session_client.hpp"
#include "gateway/web_socket.hpp"
#include "pki/signature.hpp"
#include "session_support.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

using namespace bc;
using namespace bc::gateway::testing;
using bc::test::eventually;
using daemon::session_outcome;
using gateway::socket_end;
using gateway::web_socket;

namespace {

/// A gateway that says what the test wants.
class scripted_door final : public gateway::web_socket_door {
 public:
  std::function<void(web_socket&, std::string_view)> on_text = [](auto&&...) {};
  std::optional<fault> refusal;
  std::atomic<int> closed{0};

  result<std::shared_ptr<gateway::web_socket_user>> admit(
      const gateway::web_socket_request&) override {
    if (refusal)
      return *refusal;
    auto out = std::make_shared<user>();
    out->door = this;
    return std::shared_ptr<gateway::web_socket_user>{out};
  }

 private:
  struct user final : gateway::web_socket_user {
    scripted_door* door = nullptr;
    std::weak_ptr<web_socket> socket;
    void on_open(const std::shared_ptr<web_socket>& s) override { socket = s; }
    void on_text(std::string_view text) override {
      if (auto s = socket.lock())
        door->on_text(*s, text);
    }
    void on_control() override {}
    void on_deadline() override {}
    void on_closed(socket_end) override { ++door->closed; }
  };
};

struct world {
  time_point now = system_clock{}.now();
  pki::key_bundle keys = pki::make_bundle("compute.example.com", now).value();
  std::shared_ptr<scripted_door> door = std::make_shared<scripted_door>();
  std::unique_ptr<gateway::http_server> server;
  daemon::config config;
  std::optional<daemon::node_identity> me;
  std::vector<time_point> times;
  std::atomic<int> welcomes{0};
  daemon::session_hooks hooks;
  std::stop_source stop;

  explicit world(seconds node_age = seconds{0}) {
    auto leaf =
        pki::issue_server_certificate(keys.serving_ca, {"127.0.0.1"}, now)
            .value();
    auto identity = std::make_shared<gateway::tls_identity>();
    identity->chain_pem = pki::certificate_pem(leaf.certificate) +
                          pki::certificate_pem(keys.serving_ca.certificate);
    identity->key_pem = leaf.key.pkcs8_pem();
    gateway::server_options o;
    o.tls = identity;
    o.clients.ca_pem = pki::certificate_pem(keys.node_ca.certificate);
    auto sockets = std::make_shared<gateway::web_socket_options>();
    sockets->path = "/v1/session";
    sockets->protocol = wire::session_protocol;
    sockets->door = door;
    o.web_socket = sockets;
    server = serve(std::move(o));

    auto pins = pki::pins_of(keys);
    config.gateway_url = "https://127.0.0.1:" + std::to_string(server->port());
    config.serving_ca_spki_pin = pins.serving_ca;
    config.join_signing_key_pin = pins.join_signing;
    auto key = pki::private_key::generate();
    daemon::identity who;
    who.node_id = "node_01k5w000000000000000000000";
    who.certificate_chain = {
        pki::issue_node_certificate(keys.node_ca,
                                    {.subject_key = key.pub(),
                                     .trust_domain = "compute.example.com",
                                     .site = "site_01k5w000000000000000000000",
                                     .node = who.node_id,
                                     .statements = {},
                                     .now = now - node_age,
                                     .serial_random = {1}})
            .der};
    who.command_signing_keys = {keys.command_signing.pub().spki()};
    me.emplace(daemon::node_identity{std::move(who), std::move(key)});
    hooks.server_time = [this](time_point t) { times.push_back(t); };
    hooks.welcomed = [this](const wire::welcome&) { ++welcomes; };
    hooks.now = [] { return system_clock{}.now(); };
  }

  [[nodiscard]] session_outcome run() {
    return daemon::run_session(config, *me, "0.1.0", hooks, stop.get_token());
  }

  [[nodiscard]] wire::welcome welcome(const bytes& nonce,
                                      int heartbeat_seconds = 1) const {
    auto ms = to_millis(now);
    auto text = std::to_string(ms);
    auto sig = pki::sign(keys.join_signing.key, pki::purpose::server_time,
                         {as_bytes(text), nonce});
    return {"sess_01k5w000000000000000000000",
            heartbeat_seconds,
            keys.join_signing.key.pub().spki(),
            {ms, {sig.begin(), sig.end()}}};
  }
  static std::string text(const wire::to_daemon& m) { return wire::encode(m); }
  static std::optional<wire::hello> hello_in(std::string_view frame) {
    auto read = wire::decode_from_daemon(frame);
    if (!read || !read.value())
      return std::nullopt;
    const auto* hello = std::get_if<wire::hello>(&*read.value());
    return hello ? std::optional{*hello} : std::nullopt;
  }
  /// Welcomes, then does `then` with each frame after that.
  void welcoming(std::function<void(web_socket&, std::string_view)> then,
                 int heartbeat_seconds = 1) {
    door->on_text = [this, then, heartbeat_seconds](web_socket& s,
                                                    std::string_view frame) {
      if (auto hello = hello_in(frame))
        s.send(text(welcome(hello->nonce, heartbeat_seconds)));
      else
        then(s, frame);
    };
  }

  [[nodiscard]] wire::command command(std::string id = "cmd_1",
                                      std::string node = {},
                                      std::int64_t life_ms = 3'600'000) const {
    auto body = wire::encode(wire::command_body{
        std::move(id), node.empty() ? me->who.node_id : std::move(node), "ping",
        "{}", to_millis(now), to_millis(now) + life_ms});
    auto sig = pki::sign(keys.command_signing, pki::purpose::command,
                         {as_bytes(body)});
    return {body, {sig.begin(), sig.end()}};
  }
};

using end = session_outcome::end;

}  // namespace

TEST_CASE("bcd session: hello, welcome, heartbeats, until it is stopped") {
  world w;
  std::atomic<int> beats{0};
  std::optional<wire::hello> said;
  w.welcoming([&](web_socket& s, std::string_view frame) {
    s.send(std::string{frame});
    if (++beats == 2)
      w.stop.request_stop();
  });
  auto answer = w.door->on_text;
  w.door->on_text = [&](web_socket& s, std::string_view frame) {
    if (auto hello = world::hello_in(frame))
      said = hello;
    answer(s, frame);
  };
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == end::stopped);
  CHECK(out.welcomed);
  CHECK(w.welcomes == 1);
  REQUIRE(w.times.size() == 1);
  CHECK(to_millis(w.times[0]) == to_millis(w.now));
  CHECK(said->version == "0.1.0");
  CHECK(said->nonce.size() == 32);
  CHECK(comes_true([&] { return w.door->closed == 1; }));
}

TEST_CASE("bcd session: a welcome that crosses the stop changes nothing") {
  world w;
  w.door->on_text = [&](web_socket& s, std::string_view frame) {
    auto hello = world::hello_in(frame);
    if (!hello)
      return;
    w.stop.request_stop();
    s.send(world::text(w.welcome(hello->nonce)));
  };
  auto out = w.run();
  CHECK(out.what == end::stopped);
  CHECK_FALSE(out.welcomed);
  CHECK(w.welcomes == 0);
  CHECK(w.times.empty());
}

TEST_CASE("bcd session: a welcome that is not genuine is not believed") {
  world w;
  auto other = pki::private_key::generate();
  std::function<void(wire::welcome&, const bytes&)> spoil;
  SECTION("by another key") {
    spoil = [&](wire::welcome& m, const bytes& nonce) {
      auto text = std::to_string(m.time.time_ms);
      auto sig =
          pki::sign(other, pki::purpose::server_time, {as_bytes(text), nonce});
      m.signing_key = other.pub().spki();
      m.time.signature = {sig.begin(), sig.end()};
    };
  }
  SECTION("another time") {
    spoil = [](wire::welcome& m, const bytes&) { ++m.time.time_ms; };
  }
  SECTION("another session's nonce") {
    spoil = [&](wire::welcome& m, const bytes&) {
      m = w.welcome(bytes(32, 1));
    };
  }
  SECTION("no key at all") {
    spoil = [](wire::welcome& m, const bytes&) { m.signing_key = {1, 2, 3}; };
  }
  SECTION("a time at which the gateway's certificate is not valid") {
    spoil = [&](wire::welcome& m, const bytes& nonce) {
      world late;
      m.time.time_ms = to_millis(w.now) + 400LL * 86'400'000;
      auto text = std::to_string(m.time.time_ms);
      auto sig = pki::sign(w.keys.join_signing.key, pki::purpose::server_time,
                           {as_bytes(text), nonce});
      m.time.signature = {sig.begin(), sig.end()};
    };
  }
  w.door->on_text = [&](web_socket& s, std::string_view frame) {
    auto hello = world::hello_in(frame);
    if (!hello)
      return;
    auto m = w.welcome(hello->nonce);
    spoil(m, hello->nonce);
    s.send(world::text(m));
  };
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == end::untrusted);
  CHECK_FALSE(out.welcomed);
  CHECK(w.times.empty());
  CHECK(w.welcomes == 0);
}

TEST_CASE("bcd session: what each close code means") {
  struct row {
    std::uint16_t code;
    end what;
  };
  auto r = GENERATE(row{1001, end::going_away}, row{1008, end::protocol},
                    row{1013, end::overloaded}, row{4403, end::refused},
                    row{4409, end::superseded}, row{1007, end::protocol},
                    row{1000, end::lost});
  CAPTURE(r.code);
  world w;
  w.door->on_text = [&](web_socket& s, std::string_view) {
    s.close(r.code, "because \x1b[31m");
  };
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == r.what);
  CHECK(out.why.find('\x1b') == std::string::npos);
  CHECK(out.why.find("because") != std::string::npos);
}

TEST_CASE("bcd session: a refused upgrade") {
  struct row {
    errc code;
    end what;
  };
  auto r = GENERATE(row{errc::unauthenticated, end::refused},
                    row{errc::access_denied, end::refused},
                    row{errc::rate_limited, end::overloaded},
                    row{errc::unavailable, end::overloaded},
                    row{errc::not_found, end::protocol});
  world w;
  w.door->refusal = fail(r.code, "no");
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == r.what);
  CHECK_FALSE(out.welcomed);
}

TEST_CASE("bcd session: a certificate that the gateway does not take") {
  world w{seconds{2 * 86'400}};
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == end::refused);
}

TEST_CASE("bcd session: a gateway with another pin hears nothing") {
  world w;
  std::atomic<bool> heard{false};
  w.door->on_text = [&](auto&&...) { heard = true; };
  w.config.serving_ca_spki_pin = pki::pins_of(w.keys).join_signing;
  auto out = w.run();
  CHECK(out.what == end::untrusted);
  CHECK_FALSE(heard);
}

TEST_CASE("bcd session: nobody listens") {
  world w;
  w.server->stop(seconds{0});
  CHECK(w.run().what == end::unreachable);
  w.config.gateway_url = "no URL";
  CHECK(w.run().what == end::unreachable);
}

TEST_CASE("bcd session: a gateway that goes silent is left") {
  world w;
  w.welcoming([](web_socket&, std::string_view) {});
  auto out = w.run();
  CHECK(out.what == end::lost);
  CHECK(out.welcomed);
}

TEST_CASE("bcd session: what is no frame of the protocol ends it") {
  world w;
  std::string frame =
      GENERATE("no JSON", R"({"type":"welcome"})", R"({"type":"recorded"})");
  w.welcoming([&](web_socket& s, std::string_view) { s.send(frame); });
  auto out = w.run();
  CHECK(out.what == end::protocol);
}

TEST_CASE("bcd session: a second welcome, or anything before the first") {
  world w;
  const bool first = GENERATE(true, false);
  w.door->on_text = [&](web_socket& s, std::string_view frame) {
    if (auto hello = world::hello_in(frame)) {
      auto text = world::text(w.welcome(hello->nonce));
      s.send(first ? world::text(wire::heartbeat{1}) : text);
      s.send(text);
    }
  };
  CHECK(w.run().what == end::protocol);
}

TEST_CASE(
    "bcd session: a genuine command is carried out, its result sent until "
    "it is recorded") {
  world w;
  std::vector<std::string> done;
  std::vector<wire::command_result> kept;
  std::function<void()> poke;
  w.hooks.ask_for_results = [&](std::function<void()> p) { poke = p; };
  w.hooks.command = [&](const wire::command_body& c) {
    done.push_back(c.command_id);
    if (c.command_id != "cmd_1")
      return;
    kept.push_back({c.command_id, true, "pong"});
    poke();
  };
  w.hooks.results = [&] { return kept; };
  w.hooks.recorded = [&](const std::string& id) {
    CHECK(id == "cmd_1");
    kept.clear();
  };
  std::atomic<int> results{0};
  bool sent = false;
  w.welcoming([&](web_socket& s, std::string_view frame) {
    auto read = wire::decode_from_daemon(frame).value();
    if (!sent) {
      sent = true;
      auto forged = w.command("cmd_forged");
      forged.signature[5] ^= 1;
      s.send(world::text(forged));
      s.send(world::text(w.command("cmd_other", "node_other")));
      s.send(world::text(w.command("cmd_1")));
      // Expired, and genuine: whoever sent it waits for word of it.
      s.send(world::text(w.command("cmd_late", {}, -1)));
    }
    s.send(world::text(wire::heartbeat{1}));
    const auto* result = std::get_if<wire::command_result>(&*read);
    if (result == nullptr) {
      if (results == 3)  // a heartbeat without the result after it was recorded
        w.stop.request_stop();
      return;
    }
    CHECK(result->command_id == "cmd_1");
    CHECK(result->output == "pong");
    if (++results == 3)
      s.send(world::text(wire::recorded{"cmd_1"}));
  });
  auto out = w.run();
  INFO(out.why);
  CHECK(out.what == end::stopped);
  CHECK(done == std::vector<std::string>{"cmd_1", "cmd_late"});
  CHECK(results == 3);
  CHECK_FALSE(poke);
}

TEST_CASE("bcd session: waiting results go out no faster than they are taken") {
  world w;
  std::vector<wire::command_result> kept;
  for (int i = 0; i < 30; ++i)
    kept.push_back({"cmd_" + std::to_string(i), true, "pong"});
  w.hooks.results = [&] { return kept; };
  w.hooks.recorded = [&](const std::string& id) {
    std::erase_if(kept, [&](const auto& r) { return r.command_id == id; });
    if (kept.empty())
      w.stop.request_stop();
  };
  std::vector<std::string> came;
  std::size_t most = 0;
  // One is recorded when all that may be on their way are here.
  w.welcoming(
      [&](web_socket& s, std::string_view frame) {
        auto read = wire::decode_from_daemon(frame).value();
        const auto* result = std::get_if<wire::command_result>(&*read);
        if (result == nullptr)
          return;
        came.push_back(result->command_id);
        most = std::max(most, came.size());
        if (came.size() < 8 && came.back() != "cmd_29")
          return;
        for (const auto& id : came)
          s.send(world::text(wire::recorded{id}));
        came.clear();
      },
      60);
  CHECK(w.run().what == end::stopped);
  CHECK(kept.empty());
  CHECK(most == 8);
}

TEST_CASE("bcd session: a stop ends it wherever it is") {
  world w;
  std::optional<raw_socket> silent;
  SECTION("before it begins") {
    w.stop.request_stop();
    CHECK(w.run().what == end::stopped);
    return;
  }
  SECTION("while it waits for the welcome") {
    w.door->on_text = [&](web_socket&, std::string_view) {
      w.stop.request_stop();
    };
  }
  SECTION("while the handshake goes nowhere") {
    // A listener that takes connections and says nothing: its backlog does.
    silent.emplace();
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(silent->fd(), reinterpret_cast<sockaddr*>(&at), sizeof at) ==
            0);
    REQUIRE(::listen(silent->fd(), 1) == 0);
    socklen_t size = sizeof at;
    ::getsockname(silent->fd(), reinterpret_cast<sockaddr*>(&at), &size);
    w.config.gateway_url =
        "https://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    std::thread stopper{[&] {
      std::this_thread::sleep_for(milliseconds{100});
      w.stop.request_stop();
    }};
    CHECK(w.run().what == end::stopped);
    stopper.join();
    return;
  }
  CHECK(w.run().what == end::stopped);
}

TEST_CASE("bcd session pool: many on one thread, each told of its end once") {
  world w;
  w.welcoming([](web_socket&, std::string_view) {}, 60);
  constexpr int many = 20;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<session_outcome> ended;
  auto note = [&] {
    std::lock_guard lock{mutex};
    threads.insert(std::this_thread::get_id());
  };
  w.hooks.server_time = [&](time_point) { note(); };
  auto count = [&](end what) {
    std::lock_guard lock{mutex};
    return std::ranges::count(ended, what, &session_outcome::what);
  };
  auto begin = [&](daemon::session_pool& pool, const daemon::config& c,
                   const std::stop_token& stop) {
    pool.begin(c, w.me->clone(), "0.1.0", w.hooks, stop,
               [&](session_outcome how) {
                 note();
                 std::lock_guard lock{mutex};
                 ended.push_back(std::move(how));
               });
  };
  {
    daemon::session_pool pool;
    for (int i = 0; i < many; ++i)
      begin(pool, w.config, w.stop.get_token());
    REQUIRE(eventually([&] { return w.welcomes == many; }));
    SECTION("a stop ends those it was given to") {
      std::stop_source another;
      begin(pool, w.config, another.get_token());
      REQUIRE(eventually([&] { return w.welcomes == many + 1; }));
      w.stop.request_stop();
      CHECK(eventually([&] { return count(end::stopped) == many; }));
      begin(pool, w.config, w.stop.get_token());
      CHECK(eventually([&] { return count(end::stopped) == many + 1; }));
    }
    SECTION("the gateway ends them") {
      w.server->stop(seconds{0});
      CHECK(eventually([&] {
        std::lock_guard lock{mutex};
        return ended.size() == many;
      }));
      begin(pool, w.config, w.stop.get_token());
      CHECK(eventually([&] { return count(end::unreachable) == 1; }));
      auto nowhere = w.config;
      nowhere.gateway_url = "no URL";
      begin(pool, nowhere, w.stop.get_token());
      CHECK(eventually([&] { return count(end::unreachable) == 2; }));
    }
    SECTION("the pool's own end") {}
  }
  std::lock_guard lock{mutex};
  CHECK(threads.size() == 1);
  CHECK(ended.size() >= many);
  CHECK(ended.size() <= many + 2);
}
