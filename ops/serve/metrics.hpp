#pragma once

#include "actors/measures.hpp"
#include "ops/serve/call_counts.hpp"
#include "ops/serve/health.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// What /metrics says, in Prometheus' text format; docs/metrics.md names every
/// metric.
namespace bc::serve {

/// All that an API process tells of itself.
struct server_figures {
  health look;
  const call_counts& joins;
  const call_counts& renewals;
  const actors::measures& measured;
  std::vector<actors::queue_depth> queues;
};
[[nodiscard]] std::string metrics_text(const server_figures& f);

/// And a gateway.
struct gateway_figures {
  std::size_t api_processes = 0;  // that it knows of
  std::size_t healthy_apis = 0;
  bool watched = false;  // an API process tells it whom to cut
  std::size_t sessions = 0;
  std::size_t in_flight = 0;  // requests that an API process has
};
[[nodiscard]] std::string metrics_text(const gateway_figures& f);

}  // namespace bc::serve
