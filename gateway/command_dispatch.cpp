#include "gateway/command_dispatch.hpp"

#include "events/command_kind.hpp"

namespace bc::gateway {

bool may_dispatch(const wire::command_body& command, std::string_view node_id,
                  const std::vector<std::string>& allowed_kinds) {
  return command.node_id == node_id &&
         events::allows_kind(allowed_kinds, command.kind);
}

}  // namespace bc::gateway
