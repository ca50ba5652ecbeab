#pragma once

#include "events/kafka/cluster.hpp"

#include <functional>
#include <vector>

namespace bc::events::kafka {

/// Reads the ends of these stretches, ever longer ones, until each is read from
/// its begin or `is_enough` for it. What was read comes again with a longer
/// look.
[[nodiscard]] result<void> read_ends(
    cluster& from, const std::vector<stretch>& all,
    const cluster::on_received& each,
    const std::function<bool(const stretch&)>& is_enough,
    const keep_going& go_on);

}  // namespace bc::events::kafka
