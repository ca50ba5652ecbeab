// spec: joining#troubleshooting; CASES 69, 108, 171
#include "daemon/doctor.hpp"

#include "base/http_date.hpp"
#include "base/json.hpp"
#include "daemon/join_document.hpp"
#include "daemon/tpm_doctor.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sys/stat.h>

using namespace bc;
using namespace bc::daemon;
using std::chrono::hours;
namespace fs = std::filesystem;

namespace {

struct world {
  temporary_folder folder;
  virtual_world time;
  fake_renewals server{time};
  daemon::config config = server.gateway.config(folder);
  fs::path file = folder / "config.toml";
  daemon::node_identity me = server.identity();
  exchange answer{exchange::fate::answered, 200, "{}", server.gateway.chain(),
                  ""};
  std::optional<int> pid = 4'711;
  std::vector<std::pair<std::string, bool>> asked;
  tpm_look seen;
  std::string recorded_ek;

  world() {
    put_config(0600);
    auto store = identity_store::open(config.data_dir).value();
    REQUIRE(store.keep(me.key, me.who));
  }
  void put_config(mode_t mode) const {
    write_text(file, to_toml(config));
    REQUIRE(::chmod(file.c_str(), mode) == 0);
  }
  void put_status(const std::function<void(node_status&)>& change) const {
    node_status s;
    s.node_id = me.who.node_id;
    s.not_after = me.who.not_after;
    s.next_renewal = time.server + hours{14};
    change(s);
    auto store = identity_store::open(config.data_dir).value();
    REQUIRE(store.write_status(encode(s)));
  }
  std::vector<finding> examine() {
    doctor_tools tools;
    tools.get = [this](const daemon::config&, std::string_view path,
                       const node_identity* as) {
      asked.emplace_back(path, as != nullptr);
      auto out = answer;
      // Of the second request, without our certificate.
      if (as == nullptr && out.certificate_rejected)
        out = {exchange::fate::answered, 200, "{}", server.gateway.chain(), ""};
      return out;
    };
    tools.now = [this] { return time.clocks().wall; };
    tools.daemon = [this](const fs::path&) { return pid; };
    tools.tpm = [this](const daemon::config&, const std::string& recorded) {
      recorded_ek = recorded;
      return seen;
    };
    return daemon::examine({file, {}}, tools);
  }
  finding look(const std::string& check) {
    auto all = examine();
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const auto& f) { return f.check == check; });
    INFO(to_text(all));
    REQUIRE(found != all.end());
    if (found->how != verdict::ok)
      CHECK_FALSE(found->advice.empty());
    return *found;
  }
};

}  // namespace

TEST_CASE("doctor: a machine that is well") {
  world w;
  w.answer.date = "Mon, 24 Nov 2025 16:00:20 GMT";
  w.put_status([](auto& s) { s.session = "connected"; });
  auto all = w.examine();
  INFO(to_text(all));
  CHECK_FALSE(any_failed(all));
  std::vector<std::string> checks;
  for (const auto& f : all) {
    checks.push_back(f.check);
    CHECK(f.how == verdict::ok);
  }
  CHECK(checks == std::vector<std::string>{"configuration", "join-key", "files",
                                           "tpm", "identity", "certificate",
                                           "gateway", "clock", "daemon",
                                           "session", "renewal"});
  CHECK(w.asked ==
        std::vector<std::pair<std::string, bool>>{{"/healthz", true}});
}

TEST_CASE("doctor: the certificate expired (case 108)") {
  world w;
  w.time.pass(pki::max_node_lifetime + seconds{60});
  auto f = w.look("identity");
  CHECK(f.how == verdict::failed);
  CHECK(f.message == "the certificate expired at " +
                         to_rfc3339(w.me.who.not_after) +
                         "; join again as root: bcd join --reset --yes, then "
                         "bcd join");
  // The gateway is looked at without it.
  CHECK_FALSE(w.asked.front().second);
  CHECK(w.look("gateway").how == verdict::ok);

  // What would happen by itself, and when no more.
  f = w.look("renewal");
  CHECK(f.how == verdict::warning);
  CHECK(f.message == "bcd node joins again by its certificate, until " +
                         to_rfc3339(w.me.who.not_after + hours{24 * 7}));
  w.pid.reset();
  CHECK_THAT(w.look("renewal").message,
             Catch::Contains("with bcd node running, it would join again"));
  CHECK_THAT(w.look("renewal").advice, Catch::Contains("restart bcd"));
  w.put_status([](auto& s) {
    s.state = renewal_state::rejoining;
    s.why = "the server does not let it";
  });
  f = w.look("renewal");
  CHECK(f.how == verdict::failed);
  CHECK_THAT(f.message, Catch::Contains("the server does not let it"));
  w.time.pass(hours{24 * 7});
  f = w.look("renewal");
  CHECK(f.how == verdict::failed);
  CHECK_THAT(f.message, Catch::Contains("cannot bring the machine back"));
}

TEST_CASE("doctor: an identity that does not load (cases 68, 177)") {
  world w;
  SECTION("damaged") {
    write_text(w.config.data_dir / "identity.json", "");
    CHECK_THAT(w.look("identity").message,
               Catch::Contains("identity.json is empty"));
  }
  SECTION("the key of another machine") {
    auto key = pki::private_key::generate().pkcs8_pem();
    write_text(w.config.data_dir / "node.key", std::string{key.expose_text()});
    CHECK_THAT(w.look("identity").message,
               Catch::Contains("is not for node.key"));
  }
  CHECK(w.look("identity").how == verdict::failed);
  CHECK_THAT(w.look("identity").advice, Catch::Contains("--reset --yes"));
}

TEST_CASE("doctor: a machine that has not joined") {
  world w;
  fs::remove_all(w.config.data_dir);
  auto f = w.look("identity");
  CHECK(f.how == verdict::failed);
  CHECK_THAT(f.advice, Catch::Contains("bcd join --config"));
  CHECK_FALSE(fs::exists(w.config.data_dir));
}

TEST_CASE("doctor: why an evicted machine does not come back (case 69)") {
  world w;
  SECTION("by its session") {
    w.put_status([](auto& s) {
      s.session = "the gateway closed it (4403)";
      s.session_refused = true;
    });
    CHECK(w.look("session").how == verdict::failed);
    CHECK_THAT(w.look("session").advice,
               Catch::Contains("revoked") && Catch::Contains("--reset --yes"));
  }
  SECTION("by its renewal") {
    w.put_status([](auto& s) {
      s.state = renewal_state::refused;
      s.why = "Renew refused";
    });
    CHECK(w.look("renewal").how == verdict::failed);
    CHECK_THAT(w.look("renewal").advice, Catch::Contains("--reset --yes"));
  }
  SECTION("what another identity left is not believed") {
    w.put_status([](auto& s) {
      s.node_id = "node_01k5w000000000000000000001";
      s.state = renewal_state::refused;
    });
    CHECK(w.look("renewal").how == verdict::ok);
  }
}

TEST_CASE("doctor: the gateway") {
  world w;
  SECTION("nobody there") {
    w.answer = {exchange::fate::unreachable, 0, "", {}, "cannot connect"};
    CHECK(w.look("gateway").how == verdict::failed);
    CHECK(w.look("clock").how == verdict::warning);
  }
  SECTION("another's pin") {
    w.answer = {exchange::fate::untrusted, 0, "", {}, "pin"};
    CHECK_THAT(w.look("gateway").message, Catch::Contains("fails a check"));
  }
  SECTION("it does not take the certificate") {
    w.answer = {exchange::fate::lost, 0, "", {}, "unknown ca", true};
    auto f = w.look("gateway");
    CHECK(f.how == verdict::failed);
    CHECK_THAT(f.message, Catch::Contains("does not take the node's"));
  }
  SECTION("its certificate is over") {
    w.time.pass(hours{24 * 100});
    CHECK_THAT(w.look("gateway").message, Catch::Contains("not valid now"));
  }
}

TEST_CASE("doctor: the clock, by the gateway's or the last signed time") {
  world w;
  SECTION("the gateway's date") {
    w.answer.date = "Mon, 24 Nov 2025 16:00:00 GMT";
    w.time.wall_off = hours{2};
    auto f = w.look("clock");
    CHECK(f.how == verdict::warning);
    CHECK_THAT(f.message, Catch::Contains("7200 s ahead of the server's"));
  }
  SECTION("what the server signed for the daemon") {
    w.time.wall_off = -hours{48};
    w.put_status([&](auto& s) {
      s.clock_offset = hours{48};
      s.offset_learnt = w.time.clocks().wall;
    });
    auto f = w.look("clock");
    CHECK(f.how == verdict::warning);
    CHECK_THAT(f.message, Catch::Contains("172800 s behind"));
    // And everything else goes by the corrected time.
    CHECK(w.look("identity").how == verdict::ok);
    CHECK(w.look("certificate").how == verdict::ok);
  }
}

TEST_CASE(
    "doctor: an offset that the daemon learnt before the clock was set right "
    "(case 108)") {
  world w;
  const bool asked = GENERATE(true, false);
  auto store = [&](milliseconds offset) {
    w.put_status([&](auto& s) {
      s.clock_offset = offset;
      s.offset_learnt = w.time.clocks().wall;
    });
    if (asked)
      w.answer.date = http_date(w.time.server);
  };
  SECTION("it was behind: the certificate is good") {
    store(hours{48});
    auto f = w.look("identity");
    CHECK(f.how == (asked ? verdict::ok : verdict::warning));
    CHECK(w.look("renewal").how == (asked ? verdict::ok : verdict::warning));
  }
  SECTION("it was ahead: the certificate is over") {
    w.time.pass(hours{25});
    store(-hours{24});
    auto f = w.look("identity");
    CHECK(f.how == (asked ? verdict::failed : verdict::warning));
    f = w.look("renewal");
    CHECK(f.how == verdict::warning);
    CHECK_THAT(f.message,
               Catch::Contains(asked ? "joins again by its certificate"
                                     : "not possible if"));
  }
}

TEST_CASE("doctor: a clock ahead is not believed where the gateway tells") {
  world w;
  w.answer.date = http_date(w.time.server);
  w.time.wall_off = hours{48};
  CHECK(w.look("identity").how == verdict::ok);
  w.asked.clear();
  CHECK_THAT(w.look("gateway").message,
             Catch::Contains("takes the node's certificate"));
  // At first it looked expired, and was not shown.
  CHECK(w.asked == std::vector<std::pair<std::string, bool>>{
                       {"/healthz", false}, {"/healthz", true}});
}

TEST_CASE("doctor: modes, configuration, key file") {
  world w;
  SECTION("a key that others can read") {
    REQUIRE(::chmod((w.config.data_dir / "node.key").c_str(), 0644) == 0);
    auto f = w.look("files");
    CHECK(f.how == verdict::failed);
    CHECK_THAT(f.message, Catch::Contains("node.key has mode 0644"));
  }
  SECTION("a folder that others can enter") {
    REQUIRE(::chmod(w.config.data_dir.c_str(), 0755) == 0);
    CHECK(w.look("files").how == verdict::failed);
  }
  SECTION("a configuration that others can change") {
    w.put_config(0666);
    CHECK(w.look("configuration").how == verdict::warning);
  }
  SECTION("a configuration that does not load ends the examination") {
    write_text(w.file, "site = 7\n");
    auto all = w.examine();
    REQUIRE(all.size() == 1);
    CHECK(all[0].how == verdict::failed);
  }
  SECTION("a rotated join key: a joined machine can do without") {
    write_text(w.config.join_encryption_jwk,
               pki::to_jwk(pki::private_key::generate().pub()));
    CHECK(w.look("join-key").how == verdict::warning);
    fs::remove(w.config.data_dir / "identity.json");
    fs::remove(w.config.data_dir / "node.key");
    CHECK(w.look("join-key").how == verdict::failed);
  }
  SECTION("no join key") {
    fs::remove(w.config.join_encryption_jwk);
    CHECK(w.look("join-key").how == verdict::warning);
  }
  SECTION("another site") {
    w.config.site = "site_01k5w000000000000000000001";
    w.put_config(0600);
    CHECK_THAT(w.look("identity").message, Catch::Contains("another site"));
  }
}

TEST_CASE("doctor: what happens at the next renewal") {
  world w;
  SECTION("nobody would do it") {
    w.pid.reset();
    CHECK(w.look("daemon").how == verdict::warning);
    CHECK_THAT(w.look("renewal").message,
               Catch::Contains("with bcd node running"));
  }
  SECTION("it is failing") {
    w.put_status([](auto& s) {
      s.state = renewal_state::retrying;
      s.why = "cable cut";
    });
    auto f = w.look("renewal");
    CHECK(f.how == verdict::warning);
    CHECK_THAT(f.message, Catch::Contains("cable cut"));
  }
  SECTION("it is late") {
    w.time.pass(hours{21});
    CHECK(w.look("certificate").how == verdict::warning);
  }
}

TEST_CASE("doctor: as JSON and as text") {
  world w;
  w.pid.reset();
  auto all = w.examine();
  auto doc = json::parse_object(to_json(all));
  REQUIRE(doc);
  json::reader read{doc.value()};
  CHECK(read.boolean("ok").value() == !any_failed(all));
  CHECK(doc.value()["checks"].Size() == all.size());
  CHECK_THAT(to_json(all), Catch::Contains("\"status\":\"warning\"") &&
                               Catch::Contains("\"advice\":"));
  CHECK_THAT(to_text(all), Catch::Contains("warning  daemon         bcd node"));
}

TEST_CASE("doctor: status.json round trip, and what is none") {
  node_status s;
  s.node_id = "node_1";
  s.state = renewal_state::retrying;
  s.why = "because";
  s.not_after = from_millis(1'764'000'000'000);
  s.next_renewal = from_millis(1'763'000'000'000);
  s.clock_offset = milliseconds{-5};
  s.offset_learnt = from_millis(1);
  s.session = "connected";
  auto read = decode_node_status(encode(s));
  REQUIRE(read);
  CHECK(encode(read.value()) == encode(s));
  for (const auto* bad : {"", "{}", "{\"nodeId\":\"n\",\"state\":\"odd\"}"})
    CHECK_FALSE(decode_node_status(bad));
}
