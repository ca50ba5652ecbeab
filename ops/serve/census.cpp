#include "ops/serve/census.hpp"

namespace bc::serve {

namespace {

constexpr std::chrono::hours soon{1};
constexpr std::chrono::hours later{6};
// One name for each is a series of its own for who collects them.
constexpr std::size_t most_gateways = 1000;

}  // namespace

result<census> take_census(projections::queries& from, time_point now) {
  census out;
  for (std::string at; out.sessions.size() < most_gateways;) {
    BC_TRY(next, from.next_gateway(at));
    if (!next)
      break;
    at = *next;
    BC_TRY(sessions, from.sessions_at(at));
    out.sessions.emplace_back(at, sessions);
  }
  BC_TRY(first, from.nodes_ending(now, now + soon, now));
  BC_TRY(rest, from.nodes_ending(now + soon, now + later, now));
  out.ending_in_1h = first;
  out.ending_in_6h = first + rest;
  BC_TRY(commands, from.commands_waiting(now));
  out.commands = commands;
  return out;
}

}  // namespace bc::serve
