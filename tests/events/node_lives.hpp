#pragma once

#include "events/node.hpp"
#include "stream_samples.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Nodes by what happened to them.
namespace bc::testing {

namespace node = events::node;

inline node::state fold(const std::vector<node::event>& events,
                        node::state s = {}) {
  for (const auto& e : events)
    s = node::evolve(std::move(s), e);
  return s;
}

/// A join as it comes to the decider: good for a day from `when`.
inline node::joined join_at(sampler& random, time_point when) {
  auto j = random.node_joined();
  j.hardware_key = std::string(64, 'a');
  j.hardware_key_trusted = true;
  j.at = when;
  j.cert.not_before = when - seconds{300};
  j.cert.not_after = when + seconds{86'100};
  return j;
}

/// Joined once, and again for each further time.
inline node::state joined_at(const std::vector<time_point>& times) {
  sampler random{7};
  node::state s;
  for (auto when : times)
    s = fold(node::decide(s, node::join{join_at(random, when)}).value(), s);
  return s;
}

template <class Event>
std::vector<Event> all_of(const std::vector<node::event>& events) {
  std::vector<Event> out;
  for (const auto& e : events)
    if (const auto* one = std::get_if<Event>(&e))
      out.push_back(*one);
  return out;
}

inline std::size_t live(const node::state& s, time_point when) {
  return static_cast<std::size_t>(
      std::count_if(s.certificates.begin(), s.certificates.end(),
                    [&](const auto& i) { return node::is_live(i, when); }));
}

/// A renewal as it comes to the decider: good for a day from `when`.
inline node::renewed renewal_at(sampler& random, const node::state& s,
                                time_point when) {
  auto r = random.node_renewed(*s.node);
  r.at = when;
  r.cert.not_before = when - seconds{300};
  r.cert.not_after = when + seconds{86'100};
  return r;
}

inline node::state renewed_at(sampler& random, node::state s, time_point when) {
  return fold(node::decide(s, node::renew{renewal_at(random, s, when)}).value(),
              s);
}

}  // namespace bc::testing
