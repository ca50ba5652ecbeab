#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "gateway/relay_client.hpp"
#include "gateway/relay_server.hpp"
#include "pki/internal.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

// What relaying adds to a join: CPU time of both ends of the link.
namespace bc::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t in_flight = 64;
// About as long as a join's.
constexpr std::size_t body_size = 2'000, answer_size = 3'000;

class fixed_joins final : public actors::daemon_port {
 public:
  void call(actors::daemon_call,
            std::function<void(actors::daemon_reply)> done) override {
    done({200, std::string(answer_size, 'a')});
  }
};

operation through(actors::daemon_port& port) {
  return [&port](std::size_t, std::function<void(bool)> done) {
    port.call({std::string(body_size, 'b'), "req_bench"},
              [done = std::move(done)](const actors::daemon_reply& r) {
                done(r.status == 200 && r.body.size() == answer_size);
              });
  };
}

std::shared_ptr<const gateway::tls_identity> gateway_identity(const world& w) {
  auto own = std::move(pki::issue_internal_certificate(
                           w.keys->internal_ca, pki::internal_role::gateway, {},
                           bc::system_clock{}.now()))
                 .value();
  auto out = std::make_shared<gateway::tls_identity>();
  out->chain_pem = pki::certificate_pem(own.certificate);
  out->key_pem = own.key.pkcs8_pem();
  return out;
}

double cost_each(const load& l) {
  if (l.failed > 0) {
    std::fprintf(stderr, "bench: %zu relayed calls failed\n", l.failed);
    std::exit(1);
  }
  return l.cpu / static_cast<double>(l.done);
}

}  // namespace

void measure_relay(const settings& s, const bound& b, report& out) {
  out.section("Relay from gateway to API process");
  auto w = make_world();
  fixed_joins joins;
  gateway::relay_listener_options listening;
  listening.keys = w.keys;
  auto api =
      std::move(gateway::start_relay_listener(std::move(listening), joins))
          .value();
  gateway::relay_client_options o;
  o.addresses = {{"127.0.0.1", api->port()}};
  o.identity = gateway_identity(w);
  o.internal_ca_pem = pki::certificate_pem(w.keys->internal_ca.certificate);
  auto relay = std::move(gateway::relay_client::start(std::move(o))).value();
  while (!relay->has_healthy_api())
    std::this_thread::sleep_for(1ms);
  auto n = s.scaled(20'000);
  auto direct = cost_each(closed_loop(n, in_flight, through(joins)));
  auto relayed = cost_each(closed_loop(n, in_flight, through(*relay)));
  relay->stop(seconds{5});
  api->stop(seconds{5});
  out.add_ratio("added to a join, both ends", (relayed - direct) * 1e6,
                "us CPU", b.join * 1e6, "the bound");
}

}  // namespace bc::bench
