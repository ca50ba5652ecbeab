// What the relay adds to a join: CPU time of both its ends beside that of the
// cryptography no join can do without, in one run. Not part of the suite:
// gateway_tests "[bench]".
#include "pki/digest.hpp"
#include "relay_support.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <sys/resource.h>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;

namespace {

constexpr int times = 5'000;
constexpr std::size_t in_flight = 64;
// About as long as a join's.
constexpr std::size_t body_size = 2'000;
constexpr std::size_t answer_size = 3'000;

double cpu_microseconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

class fixed_joins final : public actors::join_port {
 public:
  void join(actors::join_call,
            std::function<void(actors::join_reply)> done) override {
    done({200, std::string(answer_size, 'a')});
  }
};

double cost_through(actors::join_port& port) {
  auto before = cpu_microseconds();
  std::deque<pending_reply> open;
  int good = 0;
  auto settle = [&] {
    good += get(open.front()).status == 200 ? 1 : 0;
    open.pop_front();
  };
  for (int i = 0; i < times; ++i) {
    if (open.size() == in_flight)
      settle();
    open.push_back(send(port, {std::string(body_size, 'b'), "req_1", ""}));
  }
  while (!open.empty())
    settle();
  CHECK(good == times);
  return (cpu_microseconds() - before) / times;
}

// One ECDH, one verification, two signatures.
double crypto_floor(const pki::key_bundle& keys) {
  auto peer = pki::private_key::generate();
  auto digest = pki::sha256(as_bytes("bench"));
  auto signature = peer.sign(digest);
  auto before = cpu_microseconds();
  for (int i = 0; i < times / 5; ++i) {
    (void)keys.join_encryption.ecdh(peer.pub());
    (void)peer.pub().verify(digest, signature);
    (void)keys.node_ca.key.sign(digest);
    (void)keys.join_signing.key.sign(digest);
  }
  return (cpu_microseconds() - before) / (times / 5);
}

}  // namespace

TEST_CASE("relay_cost: what it adds beside a join's cryptography",
          "[.][bench]") {
  relay_world w;
  fixed_joins joins;
  auto api = w.listen(joins);
  auto relay = w.connect(w.options({api->port()}));
  for (int round = 0; round < 3; ++round) {
    auto floor = crypto_floor(*w.keys);
    auto direct = cost_through(joins);
    auto relayed = cost_through(*relay);
    std::printf(
        "cryptography %.0f us, a call %.1f us, relayed %.1f us: "
        "the relay adds %.2f of the cryptography\n",
        floor, direct, relayed, (relayed - direct) / floor);
  }
}
