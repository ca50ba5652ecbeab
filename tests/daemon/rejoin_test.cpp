// spec: ATTESTATION section 3; CASES 108. The rungs of the ladder: renew, then
// by the expired certificate, then a person. On virtual clocks.
#include "daemon/rejoin.hpp"

#include "base/fault_point.hpp"
#include "tests/daemon/fake_rejoins.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace bc;
using namespace bc::daemon;
using std::chrono::hours;
using std::chrono::minutes;
namespace fs = std::filesystem;

namespace {

struct world {
  temporary_folder folder{quick_parent()};
  virtual_world time;
  fake_renewals server{time};
  fake_rejoins back{time, server};
  virtual_node node{folder, time, server};

  explicit world(milliseconds away = hours{30}) {
    node.rejoin = [this](const auto& c, const auto& store, const auto& me) {
      return attempt_rejoin(c, store, me, back.tools());
    };
    time.pass(away);
    // The gateway's certificate is one of today.
    server.gateway.server =
        pki::issue_server_certificate(server.gateway.keys.serving_ca,
                                      {"gw.example.com"}, time.server)
            .value();
    node.restart(server);
  }
  [[nodiscard]] const node_status& status() { return node.loop().status(); }
  [[nodiscard]] int said(const std::string& what) const {
    return static_cast<int>(std::count_if(
        node.said.begin(), node.said.end(), [&](const auto& line) {
          return line.find(what) != std::string::npos;
        }));
  }
  [[nodiscard]] bool is_pending() const {
    return fs::exists(folder / "data/csr.pending") ||
           fs::exists(folder / "data/node.key.pending");
  }
  void check_back() {
    CHECK(status().state == renewal_state::fine);
    CHECK(status().not_after > time.server);
    const auto look = node.store().look().value();
    REQUIRE(look.pair);
    CHECK(look.pair->who.not_after == status().not_after);
    CHECK(look.pair->who.node_id == fake_gateway::node);
    CHECK_FALSE(is_pending());
    CHECK(back.issued == 1);
  }
};

}  // namespace

TEST_CASE("rejoin: a machine that was away comes back by itself (case 108)") {
  const auto away = GENERATE(milliseconds{hours{24}}, milliseconds{hours{30}},
                             milliseconds{hours{24 * 7}});
  const auto clock = hours{GENERATE(-48, 0, 48)};
  world w{away};
  w.time.wall_off = clock;
  w.node.restart(w.server);
  w.node.run(minutes{1});
  w.check_back();
  CHECK(w.back.joins.size() == 1);
  CHECK(w.said("joining again by it") == 1);
  CHECK(w.said("joined again by the expired certificate") == 1);
  const auto& asked = w.back.joins.front();
  CHECK(asked.attestor == "x509pop");
  CHECK(asked.node_id == fake_gateway::node);
  CHECK(asked.hardware.product_serial == "USE2200001");
  CHECK_FALSE(asked.sealed_token);
  // And renews from then on.
  w.node.run(hours{48});
  CHECK(w.status().state == renewal_state::fine);
  CHECK(w.back.joins.size() == 1);
}

TEST_CASE("rejoin: after seven days a person must act, and nothing is sent") {
  world w{hours{24 * 8} + seconds{1}};
  w.node.run(minutes{2});
  CHECK(w.status().state == renewal_state::expired);
  CHECK(w.back.challenges.empty());
  CHECK(w.said("join again as root: bcd join --reset --yes") == 1);
}

TEST_CASE("rejoin: what may come back by its certificate, and until when") {
  virtual_world time;
  fake_renewals server{time};
  auto me = server.identity();
  const auto end = me.who.not_after;
  CHECK(may_rejoin(me, end - hours{1}));
  CHECK(may_rejoin(me, end + hours{24 * 7}));
  CHECK_FALSE(may_rejoin(me, end + hours{24 * 7} + milliseconds{1}));
  auto issue = [&](pki::certificate_role role,
                   std::vector<std::string> statements) {
    auto made = pki::issue_node_certificate(server.gateway.keys.node_ca,
                                            {me.key.pub(),
                                             std::string{fake_gateway::domain},
                                             std::string{fake_gateway::site},
                                             std::string{fake_gateway::node},
                                             role,
                                             std::move(statements),
                                             time.server,
                                             seconds{3600},
                                             {}});
    me.who.certificate_chain.front() = made.der;
  };
  issue(pki::certificate_role::site, {"urn:bc:of-a-test:1"});
  CHECK(may_rejoin(me, time.server + hours{2}));
  CHECK_FALSE(may_rejoin_by_tpm(me));
  // By it with the TPM's word, and later by the TPM alone.
  issue(pki::certificate_role::node, {"urn:bc:tpm-ak:sha256:aa"});
  CHECK(may_rejoin(me, time.server + hours{2}));
  CHECK(may_rejoin_by_tpm(me));
  issue(pki::certificate_role::site, {"urn:bc:tpm-ak:sha256:aa"});
  CHECK_FALSE(may_rejoin_by_tpm(me));
  issue(pki::certificate_role::ramdisk, {});
  CHECK_FALSE(may_rejoin(me, time.server + hours{2}));
}

TEST_CASE("rejoin: refused: it says so once, goes on slowly, and gives up") {
  world w;
  w.back.allowed = false;
  const auto first = w.time.server;
  w.node.run(hours{24});
  CHECK(w.status().state == renewal_state::rejoining);
  CHECK_THAT(w.status().why, Catch::Contains("does not let this machine"));
  CHECK(w.said("does not let this machine join again by it") == 1);
  for (auto from : w.back.at)
    CHECK(std::count_if(w.back.at.begin(), w.back.at.end(), [from](auto t) {
            return t >= from && t < from + hours{1};
          }) <= attempt_pacer::most_in_an_hour);
  SECTION("until it is let in") {
    w.back.allowed = true;
    w.node.run(hours{2});
    w.check_back();
  }
  SECTION("until seven days are over") {
    w.node.run(hours{24 * 7});
    CHECK(w.status().state == renewal_state::expired);
    const auto requests = w.back.at.size();
    w.node.run(hours{24});
    CHECK(w.back.at.size() == requests);
    CHECK(w.back.at.back() - first < hours{24 * 7});
  }
}

TEST_CASE("rejoin: an answer that is lost is had again with the same CSR") {
  world w;
  const bool restarted = GENERATE(false, true);
  w.back.join_script.push_back([](auto& g, const auto& r) {
    (void)g.judged(r);  // it was admitted
    return fake_rejoins::lost();
  });
  (void)w.node.loop().step();
  CHECK(w.status().state == renewal_state::rejoining);
  CHECK(w.back.issued == 1);
  CHECK(w.is_pending());
  if (restarted)
    w.node.restart(w.server);
  w.node.run(minutes{5});
  w.check_back();
  REQUIRE(w.back.joins.size() == 2);
  CHECK(w.back.joins[0].csr == w.back.joins[1].csr);
  CHECK(w.back.joins[0].x509pop->nonce != w.back.joins[1].x509pop->nonce);
}

TEST_CASE(
    "rejoin: a crash at any step of keeping it costs nothing (case 105)") {
  for (auto point :
       {fault_point::daemon_before_next_key, fault_point::daemon_after_next_key,
        fault_point::daemon_before_new_key,
        fault_point::daemon_after_new_key}) {
    CAPTURE(static_cast<int>(point));
    world w;
    arm(point, fault_action::error);
    (void)w.node.loop().step();
    // As a new process finds it.
    w.node.restart(w.server);
    w.node.run(minutes{5});
    CHECK(w.status().state == renewal_state::fine);
    CHECK(w.back.issued == 1);
    const auto look = w.node.store().look().value();
    REQUIRE(look.pair);
    CHECK(look.pair->who.not_after > w.time.server);
  }
  disarm_all();
}

TEST_CASE("rejoin: a request that another answer used up is made anew") {
  world w;
  // Left by a crash after the pair was kept.
  auto pending = w.node.store().pending().value();
  auto me = w.server.identity();
  const auto issued = w.server.issue(pending.key.pub(), me.who.node_id);
  me.who.certificate_chain.front() = issued.der;
  REQUIRE(w.node.store().renew(pending.key, me.who));
  w.time.pass(hours{30});
  w.node.restart(w.server);
  w.node.run(minutes{1});
  w.check_back();
  CHECK(w.back.joins.front().csr != pending.csr);
}

TEST_CASE("rejoin: what a hostile gateway answers is not believed") {
  world w;
  const auto other = fake_rejoins::digest(bytes(8, 1));
  struct hostile {
    const char* what;
    std::string says;
    fake_rejoins::challenge_reply challenge;
    fake_rejoins::join_reply join;
  };
  using request = wire::challenge_request;
  using join = wire::join_request;
  const std::vector<hostile> rows = {
      {"a challenge for its own CSR", "signature",
       [&](auto& g, const request&) { return g.challenge(other); }, nullptr},
      {"one for its own CSR, under the time for ours", "csr_sha256",
       [&](auto& g, const request& r) {
         auto its = g.challenge(other);
         auto ours = g.challenge(r.csr_sha256);
         auto a = wire::decode_join_answer(200, its.body).value();
         a.time = wire::decode_join_answer(200, ours.body).value().time;
         its.body = wire::encode(a);
         return its;
       },
       nullptr},
      {"a challenge that it kept back", "validity",
       [](auto& g, const request& r) {
         return g.challenge(r.csr_sha256, seconds{0});
       },
       nullptr},
      {"a body signed for something else", "signature",
       [](auto& g, const request& r) {
         return g.challenge(r.csr_sha256, seconds{120},
                            pki::purpose::join_response);
       },
       nullptr},
      {"a certificate at once", "form",
       [](auto& g, const request& r) {
         return g.signed_as(wire::join_answer::kind::joined, "{}",
                            pki::purpose::join_challenge, r.csr_sha256);
       },
       nullptr},
      {"no answer of the protocol", "not one of the protocol",
       [](auto&, const request&) {
         auto out = exchange{exchange::fate::answered, 200, "<html>", {}, ""};
         return out;
       },
       nullptr},
      {"another node's certificate", "SPIFFE SAN", nullptr,
       [](auto& g, const join& r) {
         auto as = r;
         as.node_id = "node_01k5w000000000000000000009";
         return g.signed_as(
             wire::join_answer::kind::joined, wire::encode(g.body_for(as)),
             pki::purpose::join_response, fake_rejoins::digest(r.csr));
       }},
      {"a certificate for another key", "key", nullptr,
       [](auto& g, const join& r) {
         auto as = r;
         as.csr = pki::build_csr(pki::private_key::generate());
         auto body = g.body_for(as);
         body.csr_sha256 = fake_rejoins::digest(r.csr);
         return g.signed_as(wire::join_answer::kind::joined, wire::encode(body),
                            pki::purpose::join_response,
                            fake_rejoins::digest(r.csr));
       }},
      {"an answer to a renewal", "not to a join", nullptr,
       [](auto& g, const join& r) {
         return g.signed_as(
             wire::join_answer::kind::renewed, wire::encode(g.body_for(r)),
             pki::purpose::join_response, fake_rejoins::digest(r.csr));
       }},
  };
  const auto before = w.node.store().look().value().pair->who.certificate_chain;
  for (const auto& row : rows) {
    INFO(row.what);
    if (row.challenge)
      w.back.challenge_script.push_back(row.challenge);
    if (row.join)
      w.back.join_script.push_back(row.join);
    const auto sent = w.back.joins.size();
    const auto me = w.node.loop().me().clone();
    const auto got = attempt_rejoin(w.server.gateway.config(w.folder),
                                    w.node.store(), me, w.back.tools());
    CHECK(got.what == renewal_attempt::end::untrusted);
    CHECK_THAT(got.why, Catch::Contains(row.says));
    CHECK_FALSE(got.renewed);
    CHECK(w.back.joins.size() == sent + (row.join ? 1 : 0));
    CHECK(w.node.store().look().value().pair->who.certificate_chain == before);
  }
  w.node.run(minutes{1});
  w.check_back();
}

TEST_CASE("rejoin: what fails for a while is tried again") {
  world w;
  SECTION("a server that does not serve it yet") {
    w.back.challenge_script.push_back([](auto& g, const auto& r) {
      return g.failed(errc::not_found, "no such path", r.csr_sha256);
    });
  }
  SECTION("too many at once") {
    w.back.challenge_script.push_back([](auto& g, const auto& r) {
      return g.failed(errc::rate_limited, "retry", r.csr_sha256);
    });
  }
  SECTION("UNAVAILABLE at the second leg") {
    w.back.join_script.push_back([](auto& g, const auto& r) {
      return g.failed(errc::unavailable, "retry", fake_rejoins::digest(r.csr));
    });
  }
  SECTION("hardware that cannot be read") {
    int reads = 0;
    w.node.rejoin = [&w, reads](const auto& c, const auto& store,
                                const auto& me) mutable {
      auto tools = w.back.tools();
      if (reads++ == 0)
        tools.hardware = [] {
          fake_machine broken;
          broken.readable = false;
          return broken.read();
        };
      return attempt_rejoin(c, store, me, tools);
    };
    w.node.restart(w.server);
  }
  (void)w.node.loop().step();
  CHECK(w.status().state == renewal_state::rejoining);
  CHECK(w.said("joining again failed") == 1);
  w.node.run(minutes{10});
  w.check_back();
}

TEST_CASE("rejoin: bcd join --attestor x509pop, for a person") {
  temporary_folder folder{quick_parent()};
  virtual_world time;
  fake_renewals server{time};
  fake_rejoins back{time, server};
  auto config = server.gateway.config(folder);
  join_options options;
  std::vector<milliseconds> waits;
  options.wait = [&](milliseconds t) { waits.push_back(t); };
  SECTION("never joined") {
    auto out = run_rejoin(config, back.tools(), options);
    CHECK(out.exit_code == join_exit::local);
    CHECK_THAT(out.message, Catch::Contains("has not joined"));
    return;
  }
  const auto me = server.identity();
  REQUIRE(identity_store::open(config.data_dir).value().keep(me.key, me.who));
  SECTION("by a certificate that is not over, after a lost answer") {
    back.join_script.push_back([](auto& g, const auto& r) {
      (void)g.judged(r);
      return fake_rejoins::lost();
    });
    auto out = run_rejoin(config, back.tools(), options);
    CHECK(out.exit_code == join_exit::joined);
    CHECK_THAT(out.message, Catch::StartsWith("joined again as node_"));
    CHECK(waits.size() == 1);
    const auto look = look_at_identity(config.data_dir).value();
    REQUIRE(look.pair);
    CHECK(look.pair->who.certificate_chain != me.who.certificate_chain);
    CHECK_FALSE(fs::exists(config.data_dir / "csr.pending"));
  }
  SECTION("refused: the identity stays as it is") {
    back.allowed = false;
    auto out = run_rejoin(config, back.tools(), options);
    CHECK(out.exit_code == join_exit::refused);
    CHECK_THAT(out.message, Catch::StartsWith("Join refused"));
    const auto look = look_at_identity(config.data_dir).value();
    REQUIRE(look.pair);
    CHECK(look.pair->who.certificate_chain == me.who.certificate_chain);
  }
  SECTION("UNAVAILABLE for too long") {
    for (int i = 0; i < 4; ++i)
      back.challenge_script.push_back([](auto& g, const auto& r) {
        return g.failed(errc::unavailable, "later", r.csr_sha256);
      });
    auto out = run_rejoin(config, back.tools(), options);
    CHECK(out.exit_code == join_exit::unavailable);
    CHECK(waits.size() == 3);
  }
}

TEST_CASE("rejoin: bcd join leaves a request alone that waits for its answer") {
  world w;
  const auto waits = w.node.store().pending().value();
  const auto known = w.node.store().load().value();
  REQUIRE(known);
  w.node.store().forget_pending_of(*known);
  CHECK(w.is_pending());
  CHECK(w.node.store().pending().value().csr == waits.csr);
}
