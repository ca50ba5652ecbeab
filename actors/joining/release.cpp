#include "actors/joining/join_flow.hpp"

#include <algorithm>

namespace bc::actors {

time_point release_at(time_point arrival, time_point ready) {
  constexpr std::int64_t step = 100;
  // A clock set back while the join ran must not release it at once.
  const auto worked = std::max<std::int64_t>((ready - arrival).count(), 0);
  const auto steps = std::max<std::int64_t>((worked + step - 1) / step, 1);
  return arrival + milliseconds{steps * step};
}

}  // namespace bc::actors
