#include "daemon/command_kinds.hpp"

#include "base/json.hpp"
#include "base/wire.hpp"
#include "daemon/command_journal.hpp"
#include "daemon/hardware.hpp"

namespace bc::daemon {

namespace {

std::string pong(const command_tools& tools) {
  json::writer out;
  out.begin_object()
      .field("pong", true)
      .field("version", tools.version)
      .end_object();
  return out.str();
}

wire::command_result collect(const std::string& id,
                             const command_tools& tools) {
  auto claims = tools.hardware();
  if (!claims)
    return not_done(id, claims.error().message);
  json::writer out;
  out.begin_object()
      .key("claims")
      .raw(wire::encode(to_wire(claims.value())))
      .end_object();
  return {id, true, out.str()};
}

result<void> check(const std::string& name, const command_tools& tools,
                   const std::stop_token& stop) {
  auto found = tools.checks.find(name);
  if (found == tools.checks.end())
    return fail(errc::not_found, "this bcd has no such check");
  return found->second(stop);
}

result<std::vector<std::string>> names_in(const std::string& payload) {
  BC_TRY(doc, json::parse_object(payload));
  return json::reader{doc}.texts("checks");
}

wire::command_result accept(const wire::command_body& command,
                            const command_tools& tools,
                            const std::stop_token& stop) {
  auto names = names_in(command.payload);
  if (!names)
    return not_done(command.command_id, "bad-payload");
  std::vector<std::string> failed;
  for (const auto& name : names.value()) {
    auto found = check(name, tools, stop);
    // Nobody waits for it any more.
    if (stop.stop_requested())
      return not_done(command.command_id, "interrupted");
    if (found)
      continue;
    tools.say("acceptance: " + name + " failed: " + found.error().message);
    failed.push_back(name);
  }
  json::writer out;
  out.begin_object()
      .field("passed", failed.empty())
      .field("failed", failed)
      .end_object();
  return {command.command_id, true, out.str()};
}

}  // namespace

wire::command_result carry_out(const wire::command_body& command,
                               const command_tools& tools,
                               const std::stop_token& stop) {
  if (command.kind == "ping")
    return {command.command_id, true, pong(tools)};
  if (command.kind == "inventory.collect")
    return collect(command.command_id, tools);
  if (command.kind == "acceptance.run")
    return accept(command, tools, stop);
  return not_done(command.command_id, "unknown-kind");
}

}  // namespace bc::daemon
