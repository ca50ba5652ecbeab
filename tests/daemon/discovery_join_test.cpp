// spec: ATTESTATION section 4; joining#join-requests-and-approvals: a ramdisk
// joins by a site agent's word, and waits for an approval.
#include "daemon/discovery_join.hpp"

#include "base/wire_attest.hpp"
#include "daemon/identity_store.hpp"
#include "pki/claims_digest.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <map>

using namespace bc;
using namespace bc::daemon;

namespace {

constexpr const char* mac = "3c:ec:ef:00:00:01";
constexpr const char* waiting_request = "jreq_01k5w000000000000000000000";

// Two agents, of which one or none vouches; each vouch is another.
struct fake_agents {
  std::map<std::string, vouch_denial> denying;  // by host
  std::map<std::string, std::string> broken;    // host -> raw 200 body
  std::vector<std::string> asked;               // hosts, in order
  std::vector<vouch_request> requests;
  int given = 0;
  bool mac_known = true;

  discovery_tools tools() {
    return {[this](const endpoint&,
                   const pki::hardware_claims& claims) -> result<std::string> {
              if (!mac_known)
                return fail(errc::invalid_state, "no card of its own");
              return claims.macs.at(0);
            },
            [this](const endpoint& agent, std::string_view path,
                   std::string_view body) {
              CHECK(path == "/v1/vouch");
              asked.push_back(agent.host);
              requests.push_back(decode_vouch_request(body).value());
              return answer(agent.host);
            }};
  }
  exchange answer(const std::string& host) {
    if (host == "off")
      return {exchange::fate::unreachable, 0, "", {}, "cable cut"};
    vouch_answer out = "aGk.eW91." + std::to_string(given);
    if (auto found = denying.find(host); found != denying.end())
      out = vouch_refused{found->second, "\x1b[31mno"};
    else
      ++given;
    exchange got{exchange::fate::answered, status_of(out), encode(out), {}, ""};
    if (auto found = broken.find(host); found != broken.end())
      got.body = found->second;
    return got;
  }
};

struct world {
  temporary_folder folder;
  fake_gateway gateway;
  fake_machine machine;
  fake_agents agents;
  daemon::config config = gateway.config(folder);
  join_options options = gateway.options();
  std::vector<std::string> said;
  int tokens_read = 0;

  explicit world(std::vector<std::string> hosts = {"a", "b"}) {
    std::vector<endpoint> all;
    for (auto& host : hosts)
      all.push_back({host, "9480"});
    options.role = pki::certificate_role::ramdisk;
    options.evidence = discovery_evidence(all, agents.tools());
    options.without_token = true;
    options.until_decided = true;
    options.say = [this](const std::string& line) { said.push_back(line); };
  }
  join_outcome join() {
    // When nothing is scripted any more, the machine joins.
    auto send = options.send;
    options.send = [this, send](std::string_view body) {
      if (gateway.script.empty())
        gateway.script.push_back([](auto& g, const auto& r) {
          return g.answered(g.signed_answer(
              wire::join_answer::kind::joined,
              wire::encode(g.joined_body(r, pki::certificate_role::ramdisk)),
              r));
        });
      return send(body);
    };
    return run_join(
        config, machine,
        [this]() -> result<secret_bytes> {
          ++tokens_read;
          return secret_bytes{fake_gateway::token};
        },
        options);
  }
  void defer(int times = 1, std::int64_t after = 30) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([after](auto& g, const auto& r) {
        auto digest = pki::sha256(r.csr);
        wire::deferred_body body;
        body.request_id = waiting_request;
        body.retry_after_seconds = after;
        body.csr_sha256.assign(digest.begin(), digest.end());
        return g.answered(g.signed_answer(wire::join_answer::kind::deferred,
                                          wire::encode(body), r));
      });
  }
  void answer(errc code, int times = 1) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([code](auto& g, const auto& r) {
        return g.answered(g.failed(code, r));
      });
  }
  void fate(exchange::fate what, int times = 1) {
    for (int i = 0; i < times; ++i)
      gateway.script.push_back([what](auto&, const auto&) {
        return exchange{what, 0, "", {}, "cable cut"};
      });
  }
  [[nodiscard]] std::vector<std::string> vouches() const {
    std::vector<std::string> out;
    for (const auto& r : gateway.requests)
      out.push_back(r.discovery.value().vouch);
    return out;
  }
};

}  // namespace

TEST_CASE("discovery: a ramdisk joins by an agent's word alone") {
  world w;
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK(w.tokens_read == 0);
  REQUIRE(w.gateway.requests.size() == 1);
  const auto& r = w.gateway.requests[0];
  CHECK(r.attestor == "discovery");
  CHECK(r.role == "ramdisk");
  CHECK_FALSE(r.sealed_token);
  CHECK(r.discovery.value().vouch == "aGk.eW91.0");
  CHECK_FALSE(r.discovery.value().sealed_token);
  REQUIRE(w.agents.requests.size() == 1);
  CHECK(w.agents.requests[0].mac == mac);
  CHECK(w.agents.requests[0].csr_sha256 == pki::sha256(r.csr));
  CHECK(w.agents.requests[0].claims_sha256 == pki::claims_digest(r));
  auto kept = look_at_identity(w.config.data_dir).value();
  REQUIRE(kept.pair);
  CHECK(kept.pair->who.role == "ramdisk");
}

TEST_CASE("discovery: a token goes with it, sealed for CSR and claims") {
  world w;
  w.options.without_token = false;
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.tokens_read == 1);
  const auto& r = w.gateway.requests.at(0);
  CHECK_FALSE(r.sealed_token);
  auto opened = pki::open_seal(
      w.gateway.keys.join_encryption, r.discovery.value().sealed_token.value(),
      {pki::sha256(r.csr), pki::claims_digest(r)}, w.gateway.start);
  REQUIRE(opened);
  CHECK(opened.value().expose_text() == fake_gateway::token);
}

TEST_CASE("discovery: without a token no key to seal to is needed") {
  world w;
  std::filesystem::remove(w.config.join_encryption_jwk);
  CHECK(w.join().exit_code == join_exit::joined);
}

TEST_CASE("discovery: agents are asked in turn, the last that vouched first") {
  world w{{"off", "a", "b"}};
  w.agents.denying["a"] = vouch_denial::boot_lease;
  w.defer();
  w.options.wait = [&w](milliseconds) {
    // The holder fails, and the other one takes over (failover).
    w.agents.denying = {{"b", vouch_denial::boot_lease}};
  };
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.agents.asked ==
        std::vector<std::string>{"off", "a", "b", "b", "off", "a"});
  CHECK(w.vouches() == std::vector<std::string>{"aGk.eW91.0", "aGk.eW91.1"});
}

TEST_CASE("discovery: when no agent vouches it says why, and waits") {
  world w;
  w.agents.denying = {{"a", vouch_denial::boot_lease},
                      {"b", vouch_denial::dhcp_lease}};
  w.agents.broken["b"] = "<html>";
  int waits = 0;
  w.options.wait = [&](milliseconds t) {
    CHECK(t >= milliseconds{500});
    CHECK(t <= seconds{30});
    if (++waits == 20)
      w.agents.denying.clear();
    if (waits == 10)
      w.agents.broken.clear();
  };
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(waits == 20);
  CHECK(w.gateway.requests.size() == 1);
  // Once for each change; nothing of the answer steers a terminal.
  REQUIRE(w.said.size() == 2);
  CHECK(w.said[0] ==
        "no site agent vouches: http://a:9480 says boot-lease: ?[31mno; "
        "http://b:9480 answers as no site agent does (HTTP 403); trying "
        "again");
  CHECK_THAT(w.said[1], Catch::Contains("http://b:9480 says dhcp-lease: "));
}

TEST_CASE("join: other evidence that cannot be had ends the join") {
  world w{{"off"}};
  w.options.evidence->may_be_stale = false;
  CHECK(w.join().exit_code == join_exit::unreachable);
  CHECK(w.gateway.waits.size() == 3);
}

TEST_CASE("discovery: --no-wait ends when no agent vouches") {
  world w{{"off"}};
  w.options.until_decided = false;
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::unreachable);
  CHECK(outcome.message ==
        "no site agent vouches: http://off:9480 does not answer: cable cut");
  CHECK(w.gateway.requests.empty());
}

TEST_CASE("discovery: a machine without a card of its own does not go on") {
  world w;
  w.agents.mac_known = false;
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::local);
  CHECK(outcome.message == "no card of its own");
  CHECK(w.agents.asked.empty());
}

TEST_CASE("deferral: waited for with the same CSR and a fresh vouch") {
  world w;
  w.defer(3);
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::joined);
  REQUIRE(w.gateway.requests.size() == 4);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
  CHECK(w.vouches() == std::vector<std::string>{"aGk.eW91.0", "aGk.eW91.1",
                                                "aGk.eW91.2", "aGk.eW91.3"});
  REQUIRE(w.gateway.waits.size() == 3);
  for (auto wait : w.gateway.waits) {
    CHECK(wait >= seconds{30});
    CHECK(wait <= seconds{33});
  }
  REQUIRE(w.said.size() == 1);
  CHECK_THAT(w.said[0],
             Catch::StartsWith("a person must approve this machine first: "
                               "request jreq_01k5w000000000000000000000") &&
                 Catch::Contains("better-compute join-requests approve "
                                 "jreq_01k5w000000000000000000000"));
}

TEST_CASE("deferral: --no-wait ends, and the same command goes on") {
  world w;
  w.options.until_decided = false;
  w.defer();
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::refused);
  CHECK_THAT(outcome.message,
             Catch::StartsWith("a person must approve this machine first"));
  CHECK(w.gateway.waits.empty());
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests[1].csr == w.gateway.requests[0].csr);
}

TEST_CASE("deferral: how long to wait is the server's word, within reason") {
  const std::pair<std::int64_t, seconds> rows[] = {
      {1, seconds{1}}, {600, seconds{600}}, {1'000'000, seconds{3'600}}};
  for (const auto& [asked, expected] : rows) {
    world w;
    w.defer(1, asked);
    CHECK(w.join().exit_code == join_exit::joined);
    REQUIRE(w.gateway.waits.size() == 1);
    CHECK(w.gateway.waits[0] >= expected);
    CHECK(w.gateway.waits[0] <= milliseconds{expected} * 11 / 10);
  }
}

TEST_CASE("deferral: a gateway that is away for an hour does not end it") {
  world w;
  w.defer();
  w.fate(exchange::fate::unreachable, 40);
  w.fate(exchange::fate::lost, 40);
  w.answer(errc::unavailable, 40);
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests.size() == 122);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
  // Each kind of trouble once.
  CHECK(w.said.size() == 3);
}

TEST_CASE("deferral: before one, a gateway that is away ends other joins") {
  world w;
  w.options.evidence->may_be_stale = false;
  w.fate(exchange::fate::unreachable, 9);
  CHECK(w.join().exit_code == join_exit::unreachable);
  CHECK(w.gateway.requests.size() == 1);

  world no_wait;
  no_wait.options.until_decided = false;
  no_wait.fate(exchange::fate::unreachable, 9);
  CHECK(no_wait.join().exit_code == join_exit::unreachable);
  CHECK(no_wait.gateway.requests.size() == 1);
}

TEST_CASE("discovery: a gateway that is away is waited for, as an agent is") {
  world w;
  w.fate(exchange::fate::unreachable, 9);
  w.fate(exchange::fate::lost, 9);
  w.answer(errc::unavailable, 9);
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests.size() == 28);
  for (const auto& r : w.gateway.requests)
    CHECK(r.csr == w.gateway.requests[0].csr);
  // Each kind of trouble once.
  CHECK(w.said.size() == 2);
}

TEST_CASE("discovery: waits for a vouch leave the gateway all its retries") {
  world w{{"a"}};
  w.options.until_decided = false;
  w.agents.denying["a"] = vouch_denial::boot_lease;
  int waits = 0;
  w.options.wait = [&](milliseconds) {
    ++waits;
    // As often as it may fail, before each of the requests.
    if (waits % 4 == 3)
      w.agents.denying.clear();
    else
      w.agents.denying["a"] = vouch_denial::boot_lease;
  };
  w.fate(exchange::fate::lost, w.options.retries);
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests.size() == 4);
  CHECK(waits == 15);
}

TEST_CASE("discovery: a vouch may have gone stale; a refusal is tried twice") {
  world w;
  w.answer(errc::access_denied, 2);
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.vouches().size() == 3);
  CHECK(w.gateway.requests[2].csr == w.gateway.requests[0].csr);

  world refused;
  refused.answer(errc::access_denied, 9);
  CHECK(refused.join().exit_code == join_exit::refused);
  CHECK(refused.gateway.requests.size() == 3);
}

TEST_CASE("deferral: a rejection ends it, and the next join is a new one") {
  world w;
  w.defer();
  w.answer(errc::access_denied, 3);
  auto outcome = w.join();
  CHECK(outcome.exit_code == join_exit::refused);
  CHECK_THAT(outcome.message, Catch::StartsWith("Join refused\nCSR "));
  CHECK(w.join().exit_code == join_exit::joined);
  CHECK(w.gateway.requests.back().csr != w.gateway.requests.front().csr);
}

TEST_CASE("deferral: one that is not of this join is not believed") {
  world w;
  w.gateway.script.push_back([](auto& g, const auto& r) {
    auto digest = pki::sha256(as_bytes("another"));
    wire::deferred_body other;
    other.request_id = waiting_request;
    other.csr_sha256.assign(digest.begin(), digest.end());
    return g.answered(g.signed_answer(wire::join_answer::kind::deferred,
                                      wire::encode(other), r));
  });
  CHECK(w.join().exit_code == join_exit::untrusted);
  CHECK(w.said.empty());
}

TEST_CASE("site agents: the URLs of the command line") {
  auto good = parse_site_agents({"http://10.0.0.2:9480", "http://10.0.0.3",
                                 "http://[fd00::2]:81/", "http://agent.lan"});
  REQUIRE(good);
  REQUIRE(good.value().size() == 4);
  CHECK(good.value()[1].host == "10.0.0.3");
  CHECK(good.value()[1].port == "9480");
  CHECK(good.value()[2].host == "fd00::2");
  CHECK(good.value()[2].port == "81");
  const std::vector<std::string> rows[] = {
      {},
      {""},
      {"https://10.0.0.2"},
      {"10.0.0.2:9480"},
      {"http://10.0.0.2/v1/vouch"},
      {"http://user@10.0.0.2"},
      {"http://10.0.0.2:0"},
      {"http://10.0.0.2", "http://10.0.0.2:9480"},
      std::vector<std::string>(9, "http://10.0.0.2"),
  };
  for (const auto& urls : rows) {
    auto read = parse_site_agents(urls);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_input);
  }
}

TEST_CASE("MAC: the card's own, else the one in use, and a claimed one") {
  pki::hardware_claims claims;
  claims.macs = {"3C:EC:EF:00:00:01", "3c:ec:ef:00:00:02"};
  CHECK(mac_of({"eth0", "3c:ec:ef:00:00:02"}, "3c:ec:ef:00:00:01", claims)
            .value() == "3c:ec:ef:00:00:01");
  // A VLAN or a bond on it has no permanent one.
  CHECK(mac_of({"bond0", "3c:ec:ef:00:00:02"}, std::nullopt, claims).value() ==
        "3c:ec:ef:00:00:02");
  for (const auto& nic : {network_interface{"lo", ""},
                          network_interface{"br0", "52:54:00:00:00:01"}}) {
    auto none = mac_of(nic, std::nullopt, claims);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == errc::invalid_state);
    CHECK_THAT(none.error().message, Catch::Contains(nic.name));
  }
  CHECK_FALSE(
      mac_of({"usb0", "3c:ec:ef:00:00:09"}, "3c:ec:ef:00:00:09", claims));
}

TEST_CASE("MAC: by the route to the agent, without sending anything") {
  auto loopback = interface_towards({"127.0.0.1", "9480"});
  REQUIRE(loopback);
  CHECK(loopback.value().name == "lo");
  CHECK(loopback.value().current_mac.empty());
  auto nowhere = interface_towards({"no-such-host.invalid", "9480"});
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == errc::unavailable);
}
