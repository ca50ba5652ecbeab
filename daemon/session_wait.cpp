#include "daemon/session.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

constexpr milliseconds shortest{1'000};
constexpr milliseconds longest{300'000};
// Trying often changes nothing then.
constexpr milliseconds turned_away{60'000};
constexpr int doublings = 9;  // from the shortest to beyond the longest

}  // namespace

milliseconds session_wait(const session_outcome& last, int failures,
                          unsigned random) {
  using end = session_outcome::end;
  auto times = std::clamp(failures - 1, 0, doublings);
  auto wait = std::min(shortest * (1 << times), longest);
  if (last.what == end::refused || last.what == end::superseded)
    // Jitter goes on top: never less than this.
    wait = std::max(wait, 2 * turned_away);
  return wait / 2 + wait * std::min(random, 1000U) / 2000;
}

}  // namespace bc::daemon
