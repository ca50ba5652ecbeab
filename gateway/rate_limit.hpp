#pragma once

#include "base/clock.hpp"
#include "base/recent_map.hpp"
#include "gateway/http_server.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bc::gateway {

/// A token bucket for each peer.
struct peer_rate {
  double per_second = 50;           // 0: no limit
  double burst = 500;               // a whole site may be behind one address
  std::size_t max_peers = 100'000;  // the longest unseen is forgotten
};

/// Who counts as one peer: an IPv4 address, or the /64 an IPv6 address is in
/// (one machine owns that many). Text that is no address is its own peer.
[[nodiscard]] std::string peer_key(std::string_view address);

/// How many connections each peer has; its user's mutex guards it.
class peer_counts {
 public:
  /// Counts one more; false, and nothing counted, when the peer has `limit`
  /// already (0: no limit).
  [[nodiscard]] bool enter(const std::string& peer, std::size_t limit);
  /// One that entered is gone.
  void leave(const std::string& peer);

 private:
  std::unordered_map<std::string, std::size_t> counts_;
};

/// Any thread.
class peer_limiter {
 public:
  using steady = std::chrono::steady_clock;
  explicit peer_limiter(peer_rate rate)
      : rate_(rate), recent_(rate.max_peers) {}
  /// Takes one; nullopt when there was one, else when the next will be.
  [[nodiscard]] std::optional<seconds> take(std::string_view address,
                                            steady::time_point now);
  [[nodiscard]] std::size_t peers() const;

 private:
  struct bucket {
    double tokens;
    steady::time_point at;
  };
  peer_rate rate_;
  mutable std::mutex mutex_;
  recent_map<bucket> recent_;
};

/// `inner`, its POST requests limited: over the rate RATE_LIMITED (429) with
/// retry-after in seconds.
[[nodiscard]] http_handler limit_peers(http_handler inner, peer_rate rate);

}  // namespace bc::gateway
