#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What the batches of joins, renewals, sessions and of the server itself have
/// in common.
namespace bc::actors {

/// A batch of a machine's call, empty yet.
[[nodiscard]] events::batch machine_batch(std::string correlation,
                                          time_point now);

/// A precondition on a stream, without events.
[[nodiscard]] events::stream_write pin(events::stream_id stream,
                                       std::uint64_t version);

/// What was decided for a node, to be written.
[[nodiscard]] std::vector<events::event_write> encoded(
    const std::vector<events::node::event>& decided);

/// What the server itself decided for a node, at the version it was decided on.
[[nodiscard]] events::batch system_batch(
    const events::node::state& node,
    const std::vector<events::node::event>& decided, time_point now);

/// Preconditions alone: what was decided still stands while the node is as it
/// was read.
[[nodiscard]] events::batch confirm_node(const node_id& node,
                                         std::uint64_t version,
                                         std::string correlation,
                                         time_point now);

}  // namespace bc::actors
