#pragma once

#include "events/kafka/cluster.hpp"

namespace bc::events::kafka {

/// cluster::read().
[[nodiscard]] result<void> read_stretches(const properties& client,
                                          const std::vector<stretch>& what,
                                          const cluster::on_received& each,
                                          const keep_going& go_on);

}  // namespace bc::events::kafka
