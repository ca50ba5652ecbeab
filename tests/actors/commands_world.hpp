#pragma once

#include "actors/commands/command_flow.hpp"
#include "base/wire_session.hpp"
#include "events/command.hpp"
#include "events/node_sessions.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/join_world.hpp"

#include <string>
#include <vector>

namespace bc::api_test {

[[nodiscard]] names ids_of(const std::vector<wire::command_body>& all);
/// The output of an inventory of the nth machine.
[[nodiscard]] std::string inventory(int n);

/// Nodes of a tenant with sessions, their commands from the call of the API to
/// what a gateway is answered.
class commands_world : public api_world {
 public:
  commands_world();

  events::node::joined new_node(
      const std::function<void(events::node::joined&)>& change = {});
  [[nodiscard]] fields naming(const events::node::joined& j) const;
  /// commands.enqueue with a key of its own.
  reply enqueue(const events::node::joined& j, const std::string& kind,
                const fields& more = {});
  reply get(const events::node::joined& j, const std::string& command);

  /// What a gateway asks; `certificate` is the node's own when empty.
  actors::daemon_reply fetch_as(const std::string& node,
                                const std::string& certificate);
  actors::daemon_reply fetch(const events::node::joined& j);
  /// The bodies of what is fetched, their signatures checked.
  std::vector<wire::command_body> fetched(const events::node::joined& j);
  int result(const events::node::joined& j, const std::string& command,
             bool succeeded, const std::string& output = "{}");
  int result_as(const std::string& node, const std::string& certificate,
                const wire::command_result& what);

  [[nodiscard]] std::string certificate(const events::node::joined& j) const;

  std::shared_ptr<actors::session_environment> sessions =
      std::make_shared<actors::session_environment>();
  int keys_used = 0;
};

}  // namespace bc::api_test
