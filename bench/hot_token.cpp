#include "actors/runtime.hpp"
#include "bench/row_lock.hpp"
#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/postgres.hpp"
#include "events/postgres_journal.hpp"

#include <algorithm>

namespace bc::bench {

namespace {

constexpr std::size_t hot = 1, spread = 10'000;

operation through(actors::daemon_port& port,
                  const std::vector<std::string>& bodies) {
  return [&port, &bodies](std::size_t i, std::function<void(bool)> done) {
    port.call({bodies[i], "req_bench"},
              [done = std::move(done)](const actors::daemon_reply& r) {
                done(r.status == 200);
              });
  };
}

void flush_costs(const settings& s, int microseconds) {
  auto db = std::move(postgres::connection::open(s.postgres)).value();
  // With no siblings asked for, every commit waits so long before it flushes.
  must(db->execute("alter system set commit_siblings = 0"));
  must(db->execute("alter system set commit_delay = " +
                   std::to_string(microseconds)));
  must(db->execute("select pg_reload_conf()"));
}

// In turns, so that what else the machine does meets both alike; each of the
// many tokens is new to the server. Answers the hot token's rate.
double compare_tokens(const world& w, actors::runtime& server,
                      const std::vector<token>& one,
                      const std::vector<token>& many, std::size_t total,
                      report& out) {
  constexpr std::size_t turns = 4;
  auto n = total / turns;
  auto take = [&](load& sum, const std::vector<token>& tokens) {
    auto bodies = join_bodies(w, tokens, n);
    auto l = closed_loop(n, 64, through(server.daemons(), bodies));
    sum.done += l.done;
    sum.failed += l.failed;
    sum.seconds += l.seconds;
  };
  load narrow, wide;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    auto from = many.begin() + static_cast<long>(turn * n);
    take(narrow, one);
    take(wide, {from, from + static_cast<long>(n)});
  }
  out.add("hot token, 64 in flight, in turns", narrow.rate(), "joins/s");
  out.add_ratio("many tokens, 64 in flight", wide.rate(), "joins/s",
                narrow.rate(), "the hot token",
                narrow.failed + wide.failed > 0 ? "some failed" : "");
  return narrow.rate();
}

void compare(const settings& s, const world& w, events::journal& store,
             actors::runtime& server, report& out) {
  auto total = s.scaled(4'000);
  auto one = mint_tokens(w, store, hot, static_cast<std::int64_t>(20 * total));
  auto many = mint_tokens(w, store, s.scaled(spread), 10);
  for (std::size_t flight : {1, 8, 64, 256}) {
    auto n = flight == 1 ? total / 4 : total;
    auto bodies = join_bodies(w, one, n);
    auto ours = closed_loop(n, flight, through(server.daemons(), bodies));
    auto name = "hot token, " + std::to_string(flight) + " in flight";
    if (flight > 64) {
      out.add(name, ours.rate(), "joins/s");
      continue;
    }
    row_lock theirs{w, s.postgres, flight};
    theirs.add(one.front());
    bodies = join_bodies(w, one, n);
    const blocking_operation lock_and_join = [&](std::size_t t, std::size_t i) {
      return theirs.join(t, bodies[i]);
    };
    auto base = blocking_loop(n, flight, lock_and_join);
    out.add(name + ", row lock", base.rate(), "joins/s",
            base.failed > 0 ? "some failed" : "");
    out.add_ratio(name, ours.rate(), "joins/s", base.rate(), "the row lock",
                  ours.failed > 0 ? "some failed" : "");
    // Latency of both at one rate, which the slower of them bears.
    const auto rate = open_load * std::min(base.rate(), ours.rate());
    n = total / 4;
    bodies = join_bodies(w, one, n);
    base = paced_loop(n, rate, flight, lock_and_join);
    bodies = join_bodies(w, one, n);
    ours = open_loop(n, rate, through(server.daemons(), bodies));
    out.add("   open loop at", rate, "joins/s",
            base.failed + ours.failed > 0 ? "some failed" : "");
    const auto theirs_p99 = base.latency.percentile(99) / 1000;
    out.add("   row lock p99", theirs_p99, "ms");
    out.add_ratio("   p99", ours.latency.percentile(99) / 1000, "ms",
                  theirs_p99, "the row lock");
  }
  auto hot_rate = compare_tokens(w, server, one, many, many.size(), out);
  auto open = join_bodies(w, one, total);
  auto rate = open_load * hot_rate;
  auto l = open_loop(total, rate, through(server.daemons(), open));
  out.add("hot token, open loop at", rate, "joins/s");
  out.add_latency("  ", l);
}

}  // namespace

void measure_hot_token(const settings& s, report& out) {
  if (s.postgres.empty())
    return;
  bc::system_clock time;
  auto w = make_world();
  auto store = std::move(events::open_postgres_journal(s.postgres)).value();
  found(w, *store);
  actors::runtime_options o;
  o.journal = store.get();
  o.time = &time;
  o.keys = w.keys;
  o.root_tenant = w.tenant.id;
  auto server = std::move(actors::runtime::start(std::move(o))).value();
  for (int delay : {0, 2'000}) {
    out.section("Joins in process on Postgres, " +
                (delay == 0 ? std::string{"the disk's own flush"}
                            : "flush 2 ms later"));
    flush_costs(s, delay);
    compare(s, w, *store, *server, out);
  }
  flush_costs(s, 0);
  server->stop(seconds{10});
}

}  // namespace bc::bench
