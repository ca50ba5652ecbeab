#pragma once

#include "base/clock.hpp"
#include "gateway/routes.hpp"
#include "ops/serve/census.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

/// What a server says of itself: /healthz, /readyz and /metrics.
namespace bc::serve {

/// How the publisher to Kafka does.
struct publisher_health {
  std::string state;            // as the publisher names it
  bool published_here = false;  // by this process: it holds the lease
  std::uint64_t position = 0;   // everything up to here is in Kafka
  std::uint64_t lag_events = 0;
  std::uint64_t lag_seconds = 0;
  std::uint64_t parked = 0;  // too large for Kafka
};

/// One look at a server, at most some seconds old.
struct health {
  bool fresh = false;  // false: the last look is too old, or there was none
  std::string store_problem;  // empty: it answers
  std::string store_detail;   // more of it, for the log alone
  bool actors_answer = false;
  bool keys_current = true;  // false: rotated since this process started
  std::uint64_t head = 0;
  std::uint64_t projected = 0;  // what the read models have
  std::uint64_t parked_streams = 0;
  std::optional<std::uint64_t> epoch;  // while this process holds the lease
  std::optional<publisher_health> publisher;
  std::optional<census> counted;  // at most some seconds older
};

/// Events that are not in the read models.
[[nodiscard]] std::uint64_t events_behind(const health& h);

/// Why the server must get no requests now, or nothing. Kafka is no reason:
/// joins go on without it, and its lag is a metric (case 151).
[[nodiscard]] std::string not_ready_because(const health& h);

/// What /readyz answers.
[[nodiscard]] gateway::readiness readiness_of(const std::string& why_not);

/// A listener of its own: GET /healthz, /readyz, /metrics; else NOT_FOUND. The
/// functions run on an I/O thread and must not block.
[[nodiscard]] gateway::http_handler make_probe_handler(
    std::function<gateway::readiness()> readyz,
    std::function<std::string()> metrics);

}  // namespace bc::serve
