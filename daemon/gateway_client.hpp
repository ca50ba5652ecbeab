#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "daemon/config.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bc::daemon {

/// One request to the gateway and what came of it.
struct exchange {
  enum class fate {
    answered,
    unreachable,  // nothing was sent
    untrusted,    // the gateway's chain failed its checks; nothing was sent
    lost,         // sent, or partly, and no whole answer came
  };
  fate what = fate::unreachable;
  int status = 0;
  std::string body;
  std::vector<bytes> chain;  // as the gateway presented it, leaf first
  std::string why;           // in words, for the last three
};

/// Carries a join body to the gateway: the network, or a test.
using transport = std::function<exchange(std::string_view body)>;

inline constexpr seconds connect_timeout{10};
inline constexpr seconds answer_timeout{30};

/// POST /v1/join over TLS 1.3. The chain must be the pinned serving CA's and
/// name the host; validity is judged by the caller, by the signed time.
[[nodiscard]] exchange post_join(const config& c, std::string_view body);

}  // namespace bc::daemon
