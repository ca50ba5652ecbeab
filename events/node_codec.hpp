#pragma once

#include "base/json.hpp"
#include "events/node.hpp"

/// Private to the node's codec, which is in two files.
namespace bc::events::node::detail {

[[nodiscard]] event_write write(const joined& j);
[[nodiscard]] moves effect(const joined& j);
[[nodiscard]] result<event> read_joined(const json::reader& data,
                                        const json::reader& internal);

}  // namespace bc::events::node::detail
