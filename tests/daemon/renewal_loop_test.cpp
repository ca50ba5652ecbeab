// spec: joining#renewal; CASES 100, 105, 106, 107, 108, 111. Days of a daemon's
// life on virtual clocks.
#include "daemon/renewal_loop.hpp"

#include "base/fault_point.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace bc;
using namespace bc::daemon;
using std::chrono::hours;
using std::chrono::minutes;

namespace {

struct world {
  temporary_folder folder{quick_parent()};
  virtual_world time;
  fake_renewals server{time};
  time_point joined = time.server;
  virtual_node node{folder, time, server};

  // How much of the certificate's lifetime was over at each request.
  [[nodiscard]] std::vector<double> shares() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < server.requests.size(); ++i) {
      auto leaf =
          pki::parse_certificate(server.requests[i].certificate_chain.front())
              .value();
      out.push_back(
          std::chrono::duration<double>(server.at[i] - leaf.not_before) /
          std::chrono::duration<double>(leaf.not_after - leaf.not_before));
    }
    return out;
  }
  [[nodiscard]] int most_in_an_hour() const {
    std::ptrdiff_t most = 0;
    for (auto from : server.at)
      most = std::max(
          most,
          std::count_if(server.at.begin(), server.at.end(), [from](auto t) {
            return t >= from && t < from + hours{1};
          }));
    return static_cast<int>(most);
  }
  [[nodiscard]] int said(const std::string& what) const {
    return static_cast<int>(std::count_if(
        node.said.begin(), node.said.end(), [&](const auto& line) {
          return line.find(what) != std::string::npos;
        }));
  }
};

}  // namespace

TEST_CASE("renewal loop: a month with 55 to 65 % each time (case 106)") {
  world w;
  w.node.run(hours{24 * 30});
  auto shares = w.shares();
  CHECK(shares.size() > 40);
  for (auto share : shares) {
    CHECK(share >= 0.55);
    CHECK(share <= 0.651);
  }
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.most_in_an_hour() == 1);
}

TEST_CASE("renewal loop: a stop from 50 to 95 % of the lifetime (case 100)") {
  world w;
  w.server.lifetime = seconds{600};
  w.node.run(hours{20});  // now with certificates of 600 s
  auto leaf = lifetime{w.node.loop().status().not_after - seconds{600},
                       w.node.loop().status().not_after};
  w.server.requests.clear();
  auto asleep = GENERATE(true, false);
  auto until = leaf.not_before + seconds{570};
  if (asleep)
    w.time.pass(until - w.time.server);
  else
    w.time.paused(until - w.time.server);  // of a virtual machine
  // The first look after it renews.
  (void)w.node.loop().step();
  REQUIRE(w.server.requests.size() == 1);
  CHECK(w.node.loop().status().not_after > leaf.not_after);
}

TEST_CASE(
    "renewal loop: the machine's clock jumps, forth and back (case 100)") {
  world w;
  w.node.loop().learn(w.time.server, w.time.clocks());
  w.node.run(hours{4});
  auto jump = hours{GENERATE(-10, 10)};
  w.time.wall_off = jump;
  w.node.run(hours{48});
  auto shares = w.shares();
  for (auto share : shares)
    CHECK(share <= 0.651);
  // One renewal may come early, for the jump.
  CHECK(std::count_if(shares.begin(), shares.end(),
                      [](double s) { return s < 0.55; }) <= 2);
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.node.shortest >= milliseconds{1});
  CHECK(w.most_in_an_hour() <= 4);
  // And then it is told once that the clock is off, and set right again.
  CHECK(w.said("this machine's clock is 36000 s") == 1);
  w.time.wall_off = milliseconds{0};
  w.node.run(hours{48});
  CHECK(w.said("right again") == 1);
  for (auto share : w.shares())
    CHECK(share <= 0.651);
}

TEST_CASE("renewal loop: a clock years off at the start (cases 100, 111)") {
  world w;
  // The BIOS default, 2011, and beyond the certificate's end.
  auto off = hours{24} * GENERATE(-20'000, -5'000, -2, 2, 7'000);
  w.time.wall_off = off;
  w.node.restart(w.server);
  w.node.run(minutes{1});
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.server.requests.size() == 2);
  w.node.run(hours{72});
  auto shares = w.shares();
  for (std::size_t i = 2; i < shares.size(); ++i)
    CHECK((shares[i] >= 0.55 && shares[i] <= 0.651));
  CHECK(w.said("this machine's clock is") == 1);
}

TEST_CASE(
    "renewal loop: the session's signed time mends a clock that is "
    "behind within the lifetime (case 100)") {
  world w;
  w.time.pass(hours{14});  // 58 % are over, and the clock says 17 %
  w.time.wall_off = -hours{10};
  w.node.restart(w.server);
  w.node.run(minutes{5});
  CHECK(w.server.requests.empty());
  w.node.loop().learn(w.time.server, w.time.clocks());
  w.node.run(hours{3});
  CHECK(w.server.requests.size() >= 1);
  for (auto share : w.shares())
    CHECK(share <= 0.651);
}

TEST_CASE(
    "renewal loop: the last step on disk failed, and the new pair is in use "
    "(cases 105, 177)") {
  world w;
  auto before = w.node.loop().me().who.certificate_chain;
  arm(fault_point::daemon_before_new_key, fault_action::error);
  w.node.run(hours{16});
  disarm_all();
  // The server has issued it, and a restart would load it: not asked again.
  CHECK(w.server.requests.size() == 1);
  auto renewed = w.node.loop().me().who.certificate_chain;
  CHECK(renewed != before);
  CHECK(w.said("the new certificate is on disk") == 1);
  CHECK(w.node.loop().status().state == renewal_state::fine);
  auto look = w.node.store().look().value();
  REQUIRE(look.pair);
  CHECK(look.key_is_next);
  CHECK(look.pair->who.certificate_chain == renewed);
  SECTION("the next renewal settles it") {
    w.node.run(hours{16});
    CHECK(w.server.requests.size() == 2);
    look = w.node.store().look().value();
    CHECK_FALSE(look.key_is_next);
    REQUIRE(look.pair);
    CHECK(look.pair->who.certificate_chain ==
          w.node.loop().me().who.certificate_chain);
  }
  SECTION("and so does a restart") {
    w.node.restart(w.server);
    CHECK(w.node.loop().me().who.certificate_chain == renewed);
    CHECK_FALSE(w.node.store().look().value().key_is_next);
  }
}

TEST_CASE("renewal loop: an earlier step on disk failed: the old pair stays") {
  world w;
  auto before = w.node.loop().me().who.certificate_chain;
  arm(fault_point::daemon_before_next_key, fault_action::error);
  w.node.run(hours{16});
  disarm_all();
  CHECK(w.said("the old certificate stays in use until ") == 1);
  // Asked again, by the old one, and then it was kept.
  REQUIRE(w.server.requests.size() == 2);
  for (const auto& request : w.server.requests)
    CHECK(request.certificate_chain == before);
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.node.loop().me().who.certificate_chain != before);
  auto look = w.node.store().look().value();
  REQUIRE(look.pair);
  CHECK(look.pair->who.certificate_chain ==
        w.node.loop().me().who.certificate_chain);
}

TEST_CASE("renewal loop: refused for ever (case 107)") {
  world w;
  w.server.revoked = true;
  w.node.run(hours{23});
  CHECK(w.node.loop().status().state == renewal_state::refused);
  CHECK(w.most_in_an_hour() <= 12);
  CHECK(w.server.requests.size() > 50);
  CHECK(w.said("refuses this node's identity") == 1);
  CHECK(w.node.said.size() == 1);
  // Over: it stops and says what the seed says.
  w.node.run(hours{3});
  CHECK(w.node.loop().status().state == renewal_state::expired);
  auto count = w.server.requests.size();
  w.node.run(hours{48});
  CHECK(w.server.requests.size() == count);
  CHECK(w.said("the certificate expired at ") == 1);
  CHECK(w.said("join again as root: bcd join --reset --yes, then bcd join") ==
        1);
}

TEST_CASE("renewal loop: a gateway that hangs for 30 s each time (case 107)") {
  world w;
  for (int i = 0; i < 200; ++i)
    w.server.script.push_back([&w](auto&, const auto&) {
      w.time.pass(seconds{30});
      return exchange{exchange::fate::lost, 0, "", {}, "timed out"};
    });
  w.node.run(hours{23});
  CHECK(w.node.loop().status().state == renewal_state::retrying);
  CHECK(w.most_in_an_hour() <= 12);
  CHECK(w.said("renewal failed") == 1);
}

TEST_CASE("renewal loop: certificates that come past their 60 % (case 107)") {
  world w;
  // 300 s of the lifetime lie in the past as it is issued.
  w.server.lifetime = seconds{GENERATE(310, 400, 450)};
  w.node.run(hours{20});
  CHECK(w.server.requests.size() >= 12);
  CHECK(w.most_in_an_hour() <= 12);
  CHECK(w.said("its certificate lifetime is too short") == 1);
}

TEST_CASE("renewal loop: a trial's certificates of minutes are kept renewed") {
  world w;
  const auto lifetime = seconds{GENERATE(360, 400, 450)};
  w.server.lifetime = lifetime;
  w.node.for_trials = true;
  w.node.restart(w.server);
  // The first one lasts a day.
  w.node.run(hours{16});
  REQUIRE(w.server.requests.size() > 1);
  for (int i = 0; i < 200; ++i) {
    w.node.run(minutes{2});
    REQUIRE(w.node.loop().status().state == renewal_state::fine);
    REQUIRE(w.time.server < w.node.loop().status().not_after);
  }
  // The limit holds all the same.
  for (auto from : w.server.at)
    CHECK(std::count_if(w.server.at.begin(), w.server.at.end(), [&](auto t) {
            return t >= from && t < from + lifetime;
          }) <= attempt_pacer::most_in_an_hour);
}

TEST_CASE("renewal loop: a clock 20 h ahead is told once (case 107)") {
  world w;
  w.time.wall_off = hours{20};
  w.node.restart(w.server);
  w.node.run(hours{24 * 7});
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.server.requests.size() < 20);
  CHECK(w.said("this machine's clock is 72000 s ahead of the server's") == 1);
}

TEST_CASE(
    "renewal loop: an answer that is lost; the old pair renews again "
    "(case 105)") {
  world w;
  // The server has issued; nothing of it arrives.
  w.server.script.push_back([](auto& s, const auto& r) {
    (void)s.renewed(r);
    return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
  });
  w.node.run(hours{16});
  REQUIRE(w.server.requests.size() == 2);
  CHECK(w.server.requests[0].csr != w.server.requests[1].csr);
  CHECK(w.server.requests[0].certificate_chain ==
        w.server.requests[1].certificate_chain);
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.said("renewal failed: cable cut") == 1);
  CHECK(w.said("renewed; the certificate expires at") == 1);
}

TEST_CASE("renewal loop: the gateway is back, and so is a session") {
  world w;
  w.server.reachable = false;
  w.node.run(hours{16});
  REQUIRE(w.node.loop().status().state == renewal_state::retrying);
  w.server.reachable = true;
  w.node.loop().session_is({"connected", true, false});
  (void)w.node.loop().step();
  CHECK(w.node.loop().status().state == renewal_state::fine);
  CHECK(w.node.loop().status().session == "connected");
}

TEST_CASE(
    "renewal loop: sessions do not lift the limit on what was sent "
    "(case 107)") {
  world w;
  const bool mixed = GENERATE(false, true);
  for (int i = 0; i < 2'000; ++i) {
    auto fate = mixed && i % 2 == 1 ? exchange::fate::unreachable
                                    : exchange::fate::lost;
    w.server.script.push_back([fate](auto&, const auto&) {
      return exchange{fate, 0, "", {}, "cut off"};
    });
  }
  w.node.run(hours{14});
  std::vector<time_point> sent;
  for (auto until = w.time.server + hours{4}; w.time.server < until;
       w.time.pass(seconds{10})) {
    auto before = w.server.requests.size();
    (void)w.node.loop().step();
    if (w.server.requests.size() > before && (!mixed || before % 2 == 0))
      sent.push_back(w.time.server);
    w.node.loop().session_is({"connected", true, false});
    w.node.loop().session_is({"lost", false, false});
  }
  REQUIRE(sent.size() > 12);
  for (std::size_t i = 12; i < sent.size(); ++i)
    CHECK(sent[i] >= sent[i - 12] + hours{1});
}

TEST_CASE("renewal loop: a session does not speed up what is refused") {
  world w;
  w.server.revoked = true;
  w.node.run(hours{16});
  auto count = w.server.requests.size();
  w.node.loop().session_is({"connected", true, false});
  (void)w.node.loop().step();
  CHECK(w.server.requests.size() <= count + 1);
  CHECK(w.most_in_an_hour() <= 12);
}

// Offline and switched off for so long, then started with that clock, and what
// happened meanwhile.
TEST_CASE("renewal loop: offline, clock, meanwhile: the matrix (case 108)") {
  enum class meanwhile { nothing, revoked, rotated };
  auto offline = GENERATE(hours{1}, hours{23}, hours{144});
  auto off = hours{24} * GENERATE(0, -2, 2);
  // A reclaim looks to the old machine like a revocation.
  auto happened =
      GENERATE(meanwhile::nothing, meanwhile::revoked, meanwhile::rotated);
  world w;
  w.time.pass(offline);
  w.time.wall_off = off;
  w.server.revoked = happened == meanwhile::revoked;
  if (happened == meanwhile::rotated)
    w.server.gateway.keys.join_signing =
        pki::make_bundle(fake_gateway::domain, w.joined).value().join_signing;
  w.node.restart(w.server);
  w.node.run(minutes{2});
  CAPTURE(offline.count(), off.count(), static_cast<int>(happened));

  auto state = w.node.loop().status().state;
  bool asked = off.count() != 0 || offline > hours{1};
  if (!asked)
    CHECK(state == renewal_state::fine);
  else if (happened == meanwhile::rotated)
    CHECK(state == renewal_state::retrying);
  else if (offline > hours{24})
    CHECK(state == renewal_state::expired);
  else if (happened == meanwhile::revoked)
    CHECK(state == renewal_state::refused);
  else
    CHECK(state == renewal_state::fine);

  // Two days on: renewed, or over; nothing in between but a machine that does
  // not know the server any more.
  w.node.run(hours{48});
  state = w.node.loop().status().state;
  if (happened == meanwhile::rotated)
    CHECK(state == renewal_state::retrying);
  else if (happened == meanwhile::revoked || offline > hours{24})
    CHECK(state == renewal_state::expired);
  else
    CHECK(state == renewal_state::fine);
  CHECK(w.most_in_an_hour() <= 12);
}

TEST_CASE("renewal loop: 2,000 machines that joined together (case 106)") {
  // By the plan alone: what a loop does between two renewals is in the tests
  // above.
  const auto length = seconds{600};
  unsigned seed = 7;
  auto random = [&seed] {
    seed = seed * 1'103'515'245U + 12'345U;
    return seed / 65'536U % 1'000U;
  };
  std::map<std::int64_t, int> each_second;
  int all = 0;
  for (int n = 0; n < 2'000; ++n) {
    auto issued = from_millis(n * 5);
    while (issued < from_millis(3'600'000)) {
      lifetime leaf{issued - pki::backdating,
                    issued - pki::backdating + length};
      auto due = renewal_due(leaf, random());
      REQUIRE(due < leaf.not_before + length * 8 / 10);
      issued = due;
      ++each_second[to_millis(due) / 1'000];
      ++all;
    }
  }
  auto peak = std::max_element(
      each_second.begin(), each_second.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  CHECK(peak->second < 5 * all / 3'600);
}

TEST_CASE("renewal loop: twenty machines, a gateway away for four hours") {
  temporary_folder folder{quick_parent()};
  virtual_world time;
  fake_renewals server{time};
  std::vector<std::unique_ptr<virtual_node>> fleet;
  for (unsigned i = 0; i < 20; ++i)
    fleet.push_back(std::make_unique<virtual_node>(
        folder, time, server, i + 1, "node-" + std::to_string(i)));
  auto run = [&](milliseconds span) {
    for (auto until = time.server + span; time.server < until;
         time.pass(seconds{1}))
      for (auto& node : fleet)
        (void)node->loop().step();
  };
  time.pass(hours{13});
  server.reachable = false;
  run(hours{4});
  server.reachable = true;
  server.at.clear();
  run(hours{1});
  // Each came back by itself, once, and not all of them in one second.
  CHECK(server.at.size() == fleet.size());
  std::map<std::int64_t, int> each_second;
  for (auto t : server.at)
    ++each_second[to_millis(t) / 1'000];
  for (const auto& [second, count] : each_second)
    CHECK(count <= 5);
}
