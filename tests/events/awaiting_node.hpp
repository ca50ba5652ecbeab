#pragma once

#include "events/node_sessions.hpp"
#include "stream_samples.hpp"

#include <string>
#include <utility>

namespace bc::testing {

namespace node = events::node;

/// Without a hardware key, of a pool with checks, its acceptance begun at
/// `when`.
inline node::state awaiting(const node_id& id, time_point when) {
  sampler random{7};
  auto j = random.node_joined();
  j.id = id;
  j.hardware_key.clear();
  j.hardware_key_trusted = false;
  j.acceptance = true;
  j.at = when - seconds{60};
  j.cert.not_after = when + seconds{3'600};
  return node::evolve(node::evolve({}, j), node::acceptance_started{id, when});
}

template <class Events>
node::state after(node::state s, const Events& all) {
  for (const auto& e : all)
    s = node::evolve(std::move(s), e);
  return s;
}

}  // namespace bc::testing
