#pragma once

#include "tests/actors/two_processes.hpp"

#include <functional>
#include <map>

namespace bc::test {

/// Two reclaims of one machine at once, one through each process, many times
/// over (case 72). `pass` moves the store's clock.
inline void race_reclaims(two_processes& t,
                          const std::function<void(seconds)>& pass,
                          int rounds) {
  auto& w = t.w;
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  const auto id = node_of(first.answer);
  t.start();
  std::map<int, std::int64_t> by_status;
  for (int round = 1; round <= rounds; ++round) {
    CAPTURE(round);
    pass(seconds{660});  // the rounds before are no clones
    const minted tokens[] = {w.mint_reclaim_token(), w.mint_reclaim_token()};
    const machine machines[] = {make_machine(1), make_machine(1)};
    process* processes[] = {&t.a, &t.b};
    collected<daemon_reply> replies;
    for (std::size_t i = 0; i < 2; ++i)
      processes[i]->server->daemons().call(
          {wire::encode(w.request(machines[i], tokens[i].text())), "req", {}},
          replies.take());
    std::int64_t admitted = 0;
    for (const auto& r : replies.wait_for(2)) {
      ++by_status[r.status];
      admitted += r.status == 200 ? 1 : 0;
    }
    CHECK(admitted >= 1);
    CHECK(w.uses_left(tokens[0]) + w.uses_left(tokens[1]) == 2 - admitted);
    const auto state = w.node(id);
    CHECK(state.generation == 1 + by_status[200]);
    std::size_t live = 0;
    for (const auto& i : state.certificates)
      if (events::node::is_live(i, w.time.now())) {
        ++live;
        CHECK(i.cert.generation == state.generation);
      }
    CHECK(live == 1);
  }
  t.stop();
  CHECK(by_status[200] + by_status[409] == 2 * rounds);
  t.check_journal();
}

}  // namespace bc::test
