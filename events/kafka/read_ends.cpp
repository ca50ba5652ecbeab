#include "events/kafka/read_ends.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::kafka {

namespace {

// What is looked for stands near the end; a topic may be long before it is
// compacted.
constexpr std::int64_t first_look = 200;

}  // namespace

result<void> read_ends(cluster& from, const std::vector<stretch>& all,
                       const cluster::on_received& each,
                       const std::function<bool(const stretch&)>& is_enough,
                       const keep_going& go_on) {
  auto left = all;
  for (auto look = first_look; !left.empty(); look *= 10) {
    auto ends = left;
    for (auto& one : ends)
      one.from = std::max(one.from, one.until - look);
    BC_TRYV(from.read(ends, each, go_on));
    std::erase_if(left, [&](const stretch& one) {
      return one.until - look <= one.from || is_enough(one);
    });
  }
  return ok();
}

}  // namespace bc::events::kafka
