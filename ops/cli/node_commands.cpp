#include "ops/cli/api_groups.hpp"

namespace bc::cli {

namespace {

constexpr const char* a_node = "node_01k5w3c9t8e4m2v6h0a7n1p5qd";
constexpr const char* a_command = "cmd_01k5w3d2m0x8r4s6t1v3b5n7pq";

argument node() {
  return required(id("NODE", "nodeId", "The node's id, node_…"));
}

std::string on_node(const std::string& before, const std::string& after = {}) {
  return "commands " + before + " " + a_node + after;
}

}  // namespace

api_group commands_group() {
  api_command enqueue{
      "enqueue",
      "Send a command to a node",
      {node(),
       required(text("KIND", "kind",
                     "ping, inventory.collect, acceptance.run, or a kind of "
                     "your own daemon's")),
       object_file("--payload", "payload",
                   "What the kind takes: a file with a JSON object, or - for "
                   "standard input"),
       lifetime("--ttl", "ttlSeconds", "How long it may wait, 1m to 24h [1h]"),
       required(text("--key", "idempotencyKey",
                     "Idempotency key: the same key gives the same command"))},
      {on_node("enqueue", " ping --key ping-1 --wait"),
       on_node("enqueue", " inventory.collect \\\n    --key inv-7 --ttl 15m"),
       on_node("enqueue",
               " acceptance.run \\\n    --key after-fix --ttl 4h --wait")}};
  enqueue.ends_later =
      pending_record{"get", {{"nodeId", "nodeId"}, {"commandId", "id"}}};
  enqueue.notes =
      "The node gets it at least once. With --wait the exit code is 1 when it "
      "failed or\nnobody answered in time.";
  return {"commands",
          "Send commands to nodes, and see what became of them",
          {enqueue,
           {"get",
            "Show a command with its payload and output",
            {node(),
             required(id("COMMAND", "commandId", "The command's id, cmd_…"))},
            {on_node("get", std::string{" "} + a_command)}},
           {"list",
            "List a node's commands, newest first",
            {node()},
            {on_node("list"), on_node("list", " --limit 20 --utc")},
            {text_column("ID", "id"), text_column("KIND", "kind"),
             state_column("STATUS", "status"),
             time_column("ENQUEUED", "enqueuedAt"),
             time_column("EXPIRES", "expiresAt"),
             when_set(time_column("COMPLETED", "completedAt"))},
            100}}};
}

}  // namespace bc::cli
