#pragma once

#include "base/wire_session.hpp"

#include <string_view>

namespace bc::gateway {

/// Whether a command may go to the node that holds this certificate (DER): the
/// gateway's own look at what the API process allowed already. Node
/// certificates carry no list of allowed kinds yet; the day they do, it is read
/// here.
[[nodiscard]] bool may_dispatch(const wire::command_body& command,
                                std::string_view node_id,
                                std::string_view certificate);

}  // namespace bc::gateway
