#pragma once

#include "base/wire_session.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::gateway {

/// Whether a command may go to this node: the gateway's own look at what the
/// API process allowed already. `allowed_kinds` are those that the node's
/// certificate lets in (spec: joining#node-certificates).
[[nodiscard]] bool may_dispatch(const wire::command_body& command,
                                std::string_view node_id,
                                const std::vector<std::string>& allowed_kinds);

}  // namespace bc::gateway
