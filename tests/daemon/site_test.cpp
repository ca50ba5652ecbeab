// spec: ATTESTATION section 4; api-site-tokens: a site's agents contend for its
// boot lease, and the one that has it vouches. On real sockets and clocks.
#include "daemon/site.hpp"

#include "base/http_date.hpp"
#include "base/wire_boot_lease.hpp"
#include "daemon/discovery_wire.hpp"
#include "daemon/site_status.hpp"
#include "daemon/waker.hpp"
#include "pki/certificate.hpp"
#include "pki/vouch.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>
#include <set>

using namespace bc;
using namespace bc::daemon;

namespace {

constexpr const char* mac = "3c:ec:ef:00:00:01";
constexpr const char* other = "node_01k5w000000000000000000009";

time_point real_now() {
  return system_clock{}.now();
}

// Lends the boot lease to whoever asks first, as the control plane does.
class lease_server {
 public:
  explicit lease_server(const fake_gateway& gateway)
      : server_(pki::issue_server_certificate(gateway.keys.serving_ca,
                                              {"gw.example.com"}, real_now())
                    .value()),
        ca_(gateway.keys.serving_ca.certificate) {}

  exchange take(std::string_view body, const node_identity& me,
                const std::stop_token& stop) {
    std::unique_lock lock{mutex};
    auto asked = wire::decode_boot_lease_request(body).value();
    CHECK(asked.node_id == me.who.node_id);
    CHECK(asked.site_id == fake_gateway::site);
    ++requests;
    if (asked.release)
      ++releases;
    changed.notify_all();
    if (breaks > 0) {
      --breaks;
      throw std::runtime_error("no descriptors left");
    }
    if (keeps && !asked.release)
      (void)answer(asked);
    changed.wait(lock, stop,
                 [&] { return asked.release ? !hangs : !hangs && !keeps; });
    if (stop.stop_requested())
      return {exchange::fate::lost, 0, "", {}, "stopped"};
    if (down > 0) {
      --down;
      return {exchange::fate::unreachable, 0, "", {}, "cable cut"};
    }
    return answer(asked);
  }

  std::mutex mutex;
  std::condition_variable_any changed;
  int requests = 0;
  int releases = 0;
  int breaks = 0;      // so many requests are thrown out
  int down = 0;        // so many requests reach nobody
  bool hangs = false;  // until the stop
  bool keeps = false;  // likewise, but the lease is lent, and can be given back
  int status = 200;
  std::string body;  // in the place of an honest answer
  std::string holder;
  std::int64_t epoch = 0;

 private:
  exchange answer(const wire::boot_lease_request& asked) {
    exchange out{
        exchange::fate::answered, status, body, {server_.certificate, ca_}, ""};
    out.date = http_date(real_now());
    if (!body.empty())
      return out;
    if (asked.release && holder == asked.node_id)
      holder.clear();
    else if (!asked.release && holder.empty()) {
      holder = asked.node_id;
      ++epoch;
    }
    wire::boot_lease_body lease;
    lease.holder = holder;
    lease.held = holder == asked.node_id;
    lease.epoch = epoch;
    if (!holder.empty())
      lease.expires_ms = to_millis(real_now() + std::chrono::minutes{5});
    out.body = wire::encode(lease);
    return out;
  }

  pki::issuer server_;
  bytes ca_;
};

struct world {
  temporary_folder folder;
  virtual_world time;
  fake_renewals renewals{time};
  lease_server leases{renewals.gateway};
  daemon::config config = renewals.gateway.config(folder);
  std::optional<identity_store> store;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> said;
  std::uint16_t port = 0;
  bool clock_known = false;

  world() {
    config.site_agent.listen = "127.0.0.1:0";
    config.site_agent.leases_file = folder / "leases";
    lend(mac);
    store.emplace(identity_store::open(config.data_dir).value());
  }
  void lend(const std::string& to) const {
    write_text(config.site_agent.leases_file,
               "0 " + to + " 127.0.0.1 ramdisk-1 *\n");
  }
  node_identity agent(const char* id = fake_gateway::node.data()) {
    auto out = renewals.identity();
    out.who.node_id = id;
    out.who.role = "site";
    out.who.certificate_chain[0] =
        renewals.issue(out.key.pub(), id, pki::certificate_role::site).der;
    return out;
  }
  site_tools tools() {
    site_tools out;
    out.say = [this](const std::string& line) {
      std::lock_guard lock{mutex};
      said.push_back(line);
      changed.notify_all();
    };
    out.post = [this](const daemon::config&, std::string_view path,
                      std::string_view body, const node_identity& me,
                      const std::stop_token& stop) {
      CHECK(path == "/v1/boot-lease");
      return leases.take(body, me, stop);
    };
    out.clocks = read_clocks;
    out.listening = [this](std::uint16_t where) {
      std::lock_guard lock{mutex};
      port = where;
    };
    return out;
  }
  std::unique_ptr<node_side> start(const node_identity& me) {
    return start_site_agent(
        config, me,
        {store->folder(),
         [this](const clock_reading& at) -> std::optional<time_point> {
           return clock_known ? std::optional{at.wall} : std::nullopt;
         }},
        tools());
  }
  void wait_for(const std::string& text) {
    std::unique_lock lock{mutex};
    REQUIRE(changed.wait_for(lock, seconds{60}, [&] {
      return std::any_of(said.begin(), said.end(), [&](const auto& line) {
        return line.find(text) != std::string::npos;
      });
    }));
  }
  exchange ask(const std::string& of = mac) {
    vouch_request request{pki::sha256(as_bytes("csr")),
                          pki::sha256(as_bytes("claims")), of};
    return post_in_clear({"127.0.0.1", std::to_string(port)}, vouch_path,
                         encode(request));
  }
  std::string denied(const std::string& of = mac) {
    auto got = ask(of);
    auto answer = decode_vouch_answer(got.status, got.body).value();
    return std::string{denial_text(std::get<vouch_refused>(answer).why)};
  }
  pki::vouch::vouch vouched() {
    auto got = ask();
    REQUIRE(got.status == 200);
    auto answer = decode_vouch_answer(200, got.body).value();
    auto read = pki::vouch::read(std::get<std::string>(answer));
    REQUIRE(std::holds_alternative<pki::vouch::vouch>(read));
    return std::get<pki::vouch::vouch>(read);
  }
  [[nodiscard]] std::optional<site_status> status() const {
    return read_site_status(config.data_dir);
  }
};

}  // namespace

TEST_CASE("site agent: gets the lease and vouches, by its certificate's key") {
  world w;
  auto me = w.agent();
  auto agent = w.start(me);
  w.wait_for(
      "holds the boot lease of site_01k5w000000000000000000000, epoch 1");
  auto vouch = w.vouched();
  CHECK(pki::vouch::is_signed_by(vouch, me.key.pub()));
  CHECK(vouch.certificate == pki::sha256(me.who.certificate_chain[0]));
  CHECK(vouch.says.boot_lease_epoch == 1);
  CHECK(vouch.says.mac == mac);
  CHECK(vouch.says.ip == "127.0.0.1");
  CHECK(vouch.says.site.str() == fake_gateway::site);
  CHECK(pki::vouch::is_live(vouch.says, real_now()));
  w.wait_for("vouched for 3c:ec:ef:00:00:01 at 127.0.0.1");
  CHECK(w.denied("3c:ec:ef:00:00:02") == "mac");
  w.lend("3c:ec:ef:00:00:03");
  CHECK(w.denied() == "mac");
  write_text(w.config.site_agent.leases_file, "");
  CHECK(w.denied() == "dhcp-lease");
  write_text(w.config.site_agent.leases_file, "torn");
  CHECK(w.denied() == "leases");
  auto status = w.status();
  REQUIRE(status);
  CHECK(status->node_id == me.who.node_id);
  CHECK(status->lease.held);
  CHECK(status->lease.epoch == 1);
}

TEST_CASE("site agent: the time of a vouch is the server's, once it is known") {
  world w;
  w.clock_known = true;
  auto agent = w.start(w.agent());
  w.wait_for("holds the boot lease");
  CHECK(pki::vouch::is_live(w.vouched().says, real_now()));
}

TEST_CASE("site agent: one at a time; it gives the lease back as it ends") {
  world w;
  auto first = w.start(w.agent());
  w.wait_for("holds the boot lease");
  first.reset();
  CHECK(w.leases.releases == 1);
  CHECK(w.said.back() == "gave the boot lease back");
  CHECK_FALSE(w.status()->lease.held);
  auto second = w.start(w.agent(other));
  w.wait_for("epoch 2");
  CHECK(w.vouched().says.boot_lease_epoch == 2);
}

TEST_CASE("site agent: while another has the lease it does not vouch") {
  world w;
  w.leases.holder = other;
  w.leases.epoch = 5;
  auto agent = w.start(w.agent());
  w.wait_for("is held by node_01k5w000000000000000000009, epoch 5");
  CHECK(w.denied() == "boot-lease");
  auto status = w.status();
  REQUIRE(status);
  CHECK_FALSE(status->lease.held);
  CHECK(status->lease.holder == other);
  // It has nothing to give back.
  agent.reset();
  CHECK(w.leases.releases == 0);
}

TEST_CASE("site agent: a renewed certificate signs the next vouch") {
  world w;
  auto agent = w.start(w.agent());
  w.wait_for("holds the boot lease");
  auto renewed = w.agent();
  agent->use(renewed);
  auto vouch = w.vouched();
  CHECK(vouch.certificate == pki::sha256(renewed.who.certificate_chain[0]));
  CHECK(pki::vouch::is_signed_by(vouch, renewed.key.pub()));
}

TEST_CASE("site agent: a gateway that comes back is found again") {
  world w;
  w.leases.down = 2;
  auto agent = w.start(w.agent());
  w.wait_for(
      "cannot ask for the boot lease of site_01k5w000000000000000000000: "
      "cable cut");
  w.wait_for("holds the boot lease");
  CHECK(std::count_if(w.said.begin(), w.said.end(), [](const auto& line) {
          return line.find("cable cut") != std::string::npos;
        }) == 1);
}

TEST_CASE("site agent: what is no honest answer gives no lease") {
  wire::boot_lease_body others{true, 3, to_millis(real_now()) + 60'000, other};
  wire::boot_lease_body hidden{false, 3, to_millis(real_now()) + 60'000,
                               std::string{fake_gateway::node}};
  const std::tuple<int, std::string, std::string> rows[] = {
      {200, wire::encode(others), "the answer is not one of the boot lease"},
      {200, wire::encode(hidden), "the answer is not one of the boot lease"},
      {200, "<html>", "the answer is not one of the boot lease"},
      {403,
       R"({"error":{"code":"ACCESS_DENIED","message":"Boot lease refused"}})",
       "the server does not let this agent have it"},
      {503, R"({"error":{"code":"UNAVAILABLE","message":"later"}})",
       "the server does not give boot leases now (UNAVAILABLE: later)"},
      {404, "not here", "the server does not give boot leases now (HTTP 404)"},
  };
  for (const auto& [status, body, said] : rows) {
    INFO(said);
    world w;
    w.leases.status = status;
    w.leases.body = body;
    auto agent = w.start(w.agent());
    w.wait_for(said);
    CHECK(w.denied() == "boot-lease");
    REQUIRE(w.status());
    CHECK_THAT(w.status()->lease.trouble, Catch::StartsWith(said));
  }
}

TEST_CASE("site agent: ends while the gateway hangs, also at the release") {
  world w;
  auto agent = w.start(w.agent());
  w.wait_for("holds the boot lease");
  {
    std::lock_guard lock{w.leases.mutex};
    w.leases.hangs = true;
  }
  agent.reset();
  CHECK(w.leases.releases == 1);
  CHECK(w.said.back() == "could not give the boot lease back; it runs out");

  world silent;
  silent.leases.hangs = true;
  agent = silent.start(silent.agent());
  {
    std::unique_lock lock{silent.leases.mutex};
    silent.leases.changed.wait(lock,
                               [&] { return silent.leases.requests > 0; });
  }
  agent.reset();
  // What the server made of the question nobody knows.
  CHECK(silent.leases.releases == 1);
  CHECK(silent.said.back() ==
        "could not give a boot lease back that it may have; it runs out");
}

TEST_CASE("site agent: a lease that it was not told of is given back, too") {
  world w;
  w.leases.keeps = true;
  auto agent = w.start(w.agent());
  {
    std::unique_lock lock{w.leases.mutex};
    w.leases.changed.wait(lock, [&] { return w.leases.requests > 0; });
  }
  agent.reset();
  CHECK(w.leases.releases == 1);
  CHECK(w.leases.epoch == 1);
  CHECK(w.leases.holder.empty());
  CHECK(w.said.back() == "gave a boot lease back that it may have had");
}

TEST_CASE("site agent: what reached nobody leaves nothing to give back") {
  world w;
  w.leases.down = 1'000'000;
  auto agent = w.start(w.agent());
  w.wait_for("cable cut");
  agent.reset();
  CHECK(w.leases.releases == 0);
}

TEST_CASE("site agent: what the machine does not have now is tried again") {
  world w;
  w.leases.breaks = 1;
  auto agent = w.start(w.agent());
  w.wait_for(
      "the site agent does not serve: no descriptors left; trying again");
  w.wait_for("holds the boot lease");
  CHECK(w.vouched().says.boot_lease_epoch == 1);
  // Nor does it end the process when the agent is to end.
  {
    std::lock_guard lock{w.leases.mutex};
    w.leases.breaks = 1;
  }
  agent.reset();
  CHECK(w.said.back() ==
        "could not give the boot lease back; it runs out: no descriptors left");
}

TEST_CASE("site agent: a node's identity is not run as one") {
  world w;
  auto me = w.renewals.identity();
  REQUIRE(w.store->keep(me.key, me.who));
  w.store.reset();
  std::vector<std::string> said;
  node_options options;
  options.say = [&said](const std::string& line) { said.push_back(line); };
  options.notify = [](const std::string&) {};
  options.role = "site";
  bool began = false;
  options.beside = [&began](const node_identity&, const node_side_tools&) {
    began = true;
    return std::unique_ptr<node_side>{};
  };
  std::stop_source stop;
  CHECK(run_node(w.config, options, stop.get_token()) == node_exit::usage);
  CHECK(said == std::vector<std::string>{
                    "this machine's identity has the role node, and this "
                    "command is for the role site"});
  CHECK_FALSE(began);
}

namespace {

// Tells what it is told.
class recording final : public node_side {
 public:
  recording(std::vector<std::string>& log, std::function<void()> changed)
      : log_(log), changed_(std::move(changed)) {}
  ~recording() override { log_.emplace_back("ended"); }
  void use(const node_identity&) override {
    log_.emplace_back("renewed");
    changed_();
  }

 private:
  std::vector<std::string>& log_;
  std::function<void()> changed_;
};

}  // namespace

TEST_CASE("site agent: runs beside the renewals of a node, to its end") {
  world w;
  w.time.server = real_now() - std::chrono::hours{16};
  auto me = w.agent();
  REQUIRE(w.store->keep(me.key, me.who));
  w.store.reset();
  w.renewals.gateway.server =
      pki::issue_server_certificate(w.renewals.gateway.keys.serving_ca,
                                    {"gw.example.com"}, real_now())
          .value();
  std::stop_source stop;
  std::vector<std::string> log;
  node_options options;
  options.say = [](const std::string&) {};
  options.notify = [](const std::string&) {};
  options.role = "site";
  options.send = [&](std::string_view body, const node_identity* with) {
    w.time.server = real_now();
    CHECK(with != nullptr);
    auto asked = wire::decode_renew_request(body).value();
    return w.renewals.signed_with(
        asked, w.renewals.body_for(asked, pki::certificate_role::site));
  };
  options.beside = [&](const node_identity& who, const node_side_tools& tools) {
    CHECK(who.who.node_id == me.who.node_id);
    // No session has told the time yet.
    CHECK_FALSE(tools.server_time(read_clocks()));
    log.emplace_back("began");
    return std::make_unique<recording>(log, [&] { stop.request_stop(); });
  };
  CHECK(run_node(w.config, options, stop.get_token()) == node_exit::stopped);
  CHECK(log == std::vector<std::string>{"began", "renewed", "ended"});
}

TEST_CASE("site status: there and back") {
  site_status s{
      "node_1",
      {true, true, 7, "node_1", from_millis(1'764'000'000'000), "cable cut"},
      from_millis(1'764'000'000'001)};
  auto again = decode_site_status(encode(s));
  REQUIRE(again);
  CHECK(again.value().node_id == s.node_id);
  CHECK(again.value().lease == s.lease);
  CHECK(again.value().written_at == s.written_at);
  for (const auto* text : {"", "{}", "[]", R"({"nodeId":7})"})
    CHECK_FALSE(decode_site_status(text));
}
