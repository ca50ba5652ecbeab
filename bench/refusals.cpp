#include "actors/runtime.hpp"
#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/memory_journal.hpp"

#include <cstdio>
#include <cstdlib>

// What a refused join and a body that is no join cost beside an admitted one,
// in CPU time of the server, in process and without a disk.
namespace bc::bench {

namespace {

constexpr std::size_t in_flight = 256;

double cost_each(actors::daemon_port& port,
                 const std::vector<std::string>& bodies, int status) {
  auto l = closed_loop(
      bodies.size(), in_flight,
      [&](std::size_t i, std::function<void(bool)> done) {
        port.call({bodies[i], "req_bench"},
                  [done = std::move(done), status](const auto& reply) {
                    done(reply.status == status);
                  });
      });
  if (l.failed > 0) {
    std::fprintf(stderr, "bench: %zu calls were not answered %d\n", l.failed,
                 status);
    std::exit(1);
  }
  return l.cpu / static_cast<double>(l.done);
}

}  // namespace

void measure_refusals(const settings& s, report& out) {
  out.section("Refusals, in process");
  bc::system_clock time;
  auto w = make_world();
  auto store = events::make_memory_journal(time);
  found(w, *store);
  auto n = s.scaled(5'000);
  auto tokens = mint_tokens(w, *store, 1, static_cast<std::int64_t>(n));
  auto good = join_bodies(w, tokens, n);
  // The same token with a secret that is wrong.
  auto& last = tokens.front().bearer.back();
  last = last == 'A' ? 'E' : 'A';
  auto bad = join_bodies(w, tokens, n);
  actors::runtime_options o;
  o.journal = store.get();
  o.time = &time;
  o.keys = w.keys;
  o.root_tenant = w.tenant.id;
  auto server = std::move(actors::runtime::start(std::move(o))).value();
  auto join = cost_each(server->daemons(), good, 200);
  auto refusal = cost_each(server->daemons(), bad, 403);
  auto garbage = cost_each(server->daemons(),
                           std::vector(n, std::string(1'200, '{')), 400);
  server->stop(seconds{10});
  out.add("an admitted join", join * 1e6, "us CPU");
  out.add_ratio("a refused one", refusal * 1e6, "us CPU", join * 1e6, "a join",
                "goal at most 1");
  out.add_ratio("garbage", garbage * 1e6, "us CPU", join * 1e6, "a join",
                "goal at most 0.2");
}

}  // namespace bc::bench
