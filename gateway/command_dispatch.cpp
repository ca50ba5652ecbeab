#include "gateway/command_dispatch.hpp"

namespace bc::gateway {

bool may_dispatch(const wire::command_body& command, std::string_view node_id,
                  std::string_view /*certificate*/) {
  return command.node_id == node_id;
}

}  // namespace bc::gateway
