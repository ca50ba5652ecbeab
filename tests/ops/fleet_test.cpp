// Issue 5: simulated machines keep sessions and renew; hundreds of them come
// back at once.
#include "ops/dev/fleet.hpp"

#include "base/json.hpp"
#include "daemon/identity_store.hpp"
#include "gateway/routes.hpp"
#include "ops/cli/files.hpp"
#include "ops/dev/deployment.hpp"
#include "ops/dev/local_gateway.hpp"
#include "ops/dev/simulate.hpp"
#include "ops/serve/control_plane.hpp"
#include "ops/serve/process.hpp"
#include "pki/jwe.hpp"
#include "pki/pem.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <mutex>

using namespace bc;
using bc::test::eventually;
namespace fs = std::filesystem;

namespace {

// Of these 300 lie in the past: whoever starts with such a certificate finds it
// due for renewal, and has 160 s for it.
constexpr seconds due_at_once{460};

struct joined_machine {
  daemon::config config;
  std::function<result<pki::hardware_claims>()> hardware;
  daemon::key_places keys;
};

// `dev` without its process: a control plane and a gateway that may go away.
struct world {
  explicit world(seconds lifetime) {
    auto d = dev::open_deployment(files, time);
    REQUIRE(d);
    keys = d.value().keys;
    root = d.value().root_tenant;
    pool = d.value().pool;
    site = d.value().site;
    serve::control_plane_options p;
    p.store = std::move(d.value().store);
    p.keys = keys;
    p.root_tenant = root;
    p.source = "better-compute/dev";
    p.certificate_lifetime = lifetime;
    p.tpm.emplace().enrollment.emplace();
    p.discovery.emplace();
    p.on_event = [this](const events::envelope& e) {
      std::lock_guard lock{mutex};
      ++events[e.type];
      if (e.type == "node.joined")
        ++events["by " + json::reader{json::parse_object(e.data).value()}
                             .text("attestor")
                             .value()];
    };
    auto started = serve::control_plane::start(std::move(p));
    REQUIRE(started);
    plane = std::move(started).value();
    auto listener = serve::start_api_listener({}, *plane, {"0", keys, "", ""});
    REQUIRE(listener);
    api = std::move(listener).value();
    open_gateway(0);
  }
  ~world() {
    if (gateway)
      gateway->stop(seconds{3});
    api->stop(seconds{3});
    plane->stop(seconds{3});
  }

  void open_gateway(std::uint16_t at) {
    auto server = pki::issue_server_certificate(
        keys->serving_ca, {"localhost", "127.0.0.1"}, time.now());
    auto identity = std::make_shared<gateway::tls_identity>();
    identity->chain_pem = pki::certificate_pem(server.value().certificate) +
                          pki::certificate_pem(keys->serving_ca.certificate);
    identity->key_pem = server.value().key.pkcs8_pem();
    gateway::server_options s;
    s.port = at;
    s.tls = std::move(identity);
    auto opened = dev::local_gateway::start(std::move(s), *plane, *keys);
    REQUIRE(opened);
    gateway = std::move(opened).value();
    port = gateway->port();
  }
  void close_gateway() {
    gateway->stop(seconds{10});
    gateway.reset();
  }

  [[nodiscard]] daemon::config installed() const {
    auto pins = pki::pins_of(*keys);
    write_text(home / "join-encryption.jwk",
               pki::to_jwk(keys->join_encryption.pub()));
    return {"https://localhost:" + std::to_string(port),
            site.str(),
            pins.serving_ca,
            pins.join_signing,
            pins.join_encryption,
            home / "unused",
            home / "join-encryption.jwk"};
  }

  /// That many machines join; they do not live yet.
  std::map<std::string, joined_machine> join(
      int machines, std::string_view attestors = "join-token") {
    std::map<std::string, joined_machine> out;
    dev::simulation s;
    s.machines = machines;
    s.attestors = dev::parse_sim_attestors(attestors);
    s.pool = pool.str();
    s.site = site.str();
    s.folder = files.machines();
    s.machine = installed();
    s.caller.url = "http://127.0.0.1:" + std::to_string(api->port());
    s.caller.credential_file = files.credential();
    s.caller.tenant = root.str();
    s.say = [](const std::string&) {};
    s.stopping = std::make_shared<std::atomic<bool>>(false);
    std::mutex among;
    s.joined = [&](const auto& name, const auto& where, auto hardware,
                   const auto& places) {
      std::lock_guard lock{among};
      out[name] = {where, std::move(hardware), places};
    };
    std::unique_ptr<dev::simulated_site> agent;
    if (attestors != "join-token") {
      auto started = dev::start_site(s);
      INFO((started ? "" : started.error().message));
      REQUIRE(started);
      agent = std::move(started).value();
    }
    CHECK(dev::run_simulation(s, agent.get()) == 0);
    return out;
  }
  int count(const std::string& type) {
    std::lock_guard lock{mutex};
    return events[type];
  }

  temporary_folder home{quick_parent()};
  dev::paths files{(home / "data").string()};
  bc::system_clock time;
  std::shared_ptr<const pki::key_bundle> keys;
  tenant_id root;
  site_id site;
  pool_id pool;
  std::mutex mutex;
  std::map<std::string, int> events;
  std::unique_ptr<serve::control_plane> plane;
  std::unique_ptr<gateway::http_server> api;
  std::unique_ptr<dev::local_gateway> gateway;
  std::uint16_t port = 0;
};

void come_back_at_once(int machines) {
  (void)serve::raise_connection_limit(2);
  world w{due_at_once};
  auto joined = w.join(machines);
  REQUIRE(static_cast<int>(joined.size()) == machines);
  std::vector<std::string> said;
  std::mutex mutex;
  {
    dev::fleet living{[&](const std::string& line) {
      std::lock_guard lock{mutex};
      said.push_back(line);
    }};
    auto all = [&](int renewals) {
      auto now = living.count();
      return now.machines == machines && now.connected == machines &&
             now.renewals >= renewals;
    };
    // All are due, and none has a session.
    for (const auto& [name, m] : joined)
      living.add(name, m.config, m.hardware);
    bool well = eventually([&] { return all(machines); }, seconds{90});
    INFO(living.count().connected << " connected, " << living.count().renewals
                                  << " renewals");
    CHECK(well);
    CHECK(w.count("node.certificate-renewed") >= machines);
    CHECK(w.count("node.connected") >= machines);
    CHECK(w.count("security.renew.refused") == 0);

    // The gateway goes away and comes back: so do all of them.
    const auto connected_before = w.count("node.connected");
    w.close_gateway();
    CHECK(eventually([&] { return living.count().connected == 0; }));
    w.open_gateway(w.port);
    CHECK(eventually([&] { return all(machines); }, seconds{90}));
    CHECK(w.count("node.connected") >= connected_before + machines);
  }
  // Every folder is free again, with an identity that loads.
  for (const auto& [name, m] : joined) {
    auto store = daemon::identity_store::open(m.config.data_dir);
    REQUIRE(store);
    auto look = store.value().look();
    REQUIRE(look);
    CHECK(look.value().pair);
  }
  for (const auto& line : said)
    CHECK_THAT(line, !Catch::Contains("expired"));
}

}  // namespace

TEST_CASE("fleet: a hundred machines come back at once") {
  come_back_at_once(100);
}

TEST_CASE("fleet: five hundred machines come back at once", "[.long]") {
  come_back_at_once(500);
}

// Issue 6: the TPM's machine renews by its TPM, the ramdisk as a ramdisk.
TEST_CASE("fleet: machines of every attestor join, renew and live") {
  world w{due_at_once};
  auto joined = w.join(4, "mixed");
  REQUIRE(joined.size() == 4);
  // The agent of the site is a node by a token too.
  CHECK(w.count("by join-token") == 3);
  CHECK(w.count("by tpm") == 1);
  CHECK(w.count("by discovery") == 1);
  CHECK(w.count("security.join-request.approved") == 2);
  CHECK(w.count("site.boot-lease-acquired") == 1);
  dev::fleet living{[](const std::string&) {}};
  for (const auto& [name, m] : joined)
    living.add(name, m.config, m.hardware, m.keys);
  CHECK(eventually(
      [&] {
        const auto now = living.count();
        return now.connected == 4 && now.renewals >= 4;
      },
      seconds{90}));
  living.stop();
  CHECK(w.count("security.renew.refused") == 0);
  CHECK(w.count("security.join.refused") == 0);
}

TEST_CASE("fleet: a machine without an identity is left out, others live") {
  world w{pki::max_node_lifetime};
  auto joined = w.join(1);
  REQUIRE(joined.size() == 1);
  std::mutex mutex;
  std::vector<std::string> said;
  dev::fleet living{[&](const std::string& line) {
                      std::lock_guard lock{mutex};
                      said.push_back(line);
                    },
                    1};
  auto heard = [&](const std::string& start) {
    std::lock_guard lock{mutex};
    return std::ranges::any_of(
        said, [&](const auto& line) { return line.starts_with(start); });
  };
  auto none = w.installed();
  none.data_dir = w.home / "none";
  living.add("none", none, joined.begin()->second.hardware);
  CHECK(heard("none: no identity"));
  living.add("one", joined.begin()->second.config,
             joined.begin()->second.hardware);
  CHECK(eventually([&] { return living.count().connected == 1; }));
  // A second one on its folder is turned away.
  living.add("two", joined.begin()->second.config,
             joined.begin()->second.hardware);
  CHECK(heard("two: another bcd runs"));
  living.stop();
  CHECK(eventually([&] { return w.count("node.disconnected") == 1; }));
  living.stop();
  living.add("late", joined.begin()->second.config,
             joined.begin()->second.hardware);
}
