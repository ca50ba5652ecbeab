#include "ops/cli/api_groups.hpp"
#include "ops/cli/cells.hpp"

namespace bc::cli {

namespace {

constexpr const char* an_id = "node_01k5w3c9t8e4m2v6h0a7n1p5qd";

argument node_id() {
  return required(id("ID", "nodeId", "The node's id, node_…"));
}

argument reason() {
  return text("--reason", "reason", "Why; kept in the event and the audit");
}

cell conditions_cell(const json::value& row, const presentation&) {
  std::string out;
  const auto& all = member_of(row, "conditions");
  if (all.IsArray())
    for (const auto& c : all.GetArray())
      out += (out.empty() ? "" : ", ") + cell_of(member_of(c, "type")).text;
  return out.empty() ? cell{"-"} : cell{out, tone::attention};
}

std::string on_node(const std::string& before, const std::string& after = {}) {
  return "nodes " + before + " " + an_id + after;
}

}  // namespace

api_group nodes_group() {
  return {"nodes",
          "List, show, adopt, cordon and delete nodes",
          {{"list",
            "List the tenant's nodes",
            {id("--pool", "poolId", "Those of one pool"),
             id("--site", "siteId", "Those of one site"),
             one_of({"adopting", "adopted", "cordoned", "retired"},
                    text("--status", "status", "Those of one status")),
             flag("--all", "includeRetired", "Also retired nodes")},
            {"nodes list", "nodes list --status cordoned --output json"},
            {text_column("ID", "id"),
             state_column("STATUS", "status"),
             text_column("POOL", "poolId"),
             free_column("HOSTNAME", "hostname"),
             state_column("TRUST", "trust"),
             time_column("JOINED", "joinedAt"),
             {"CONDITIONS", conditions_cell, true}}},
           {"get",
            "Show a node with its conditions and certificates",
            {node_id()},
            {on_node("get"), on_node("get", " --utc")}},
           {"adopt",
            "Adopt a node that waits or was cordoned",
            {node_id()},
            {on_node("adopt")}},
           {"cordon",
            "Take a node out of use; it keeps its identity",
            {node_id(), reason()},
            {on_node("cordon", " --reason 'disk replaced'")}},
           {"revoke-identity",
            "Revoke a node's certificates at once; it has to join again",
            {node_id(), reason()},
            {on_node("revoke-identity", " --yes")},
            {},
            0,
            {},
            "Revoke every certificate of the node"},
           {"delete",
            "Retire a cordoned node and free its hardware to join anew",
            {node_id(), reason()},
            {on_node("delete", " --yes")},
            {},
            0,
            {},
            "Delete the node"}}};
}

api_group audit_group() {
  return {
      "audit",
      "Read who did what",
      {{"list",
        "List decisions of operators and machines, newest first",
        {moment("--since", "from", "From this time on, or this long ago: 2h"),
         moment("--until", "until", "Before this time, or this long ago"),
         text("--action", "action", "One action, e.g. node.joined"),
         text("--resource", "resource", "One resource, e.g. compute-node/ID"),
         text("--principal", "principal", "What one caller did"),
         text("--correlation", "correlation", "What one request did"),
         one_of({"newest", "oldest"},
                text("--order", "order", "Which comes first [newest]"))},
        {"audit list --since 2h", "audit list --action node.reclaimed --utc",
         "audit list --since 24h --limit 0 --output json"},
        {time_column("TIME", "time"), free_column("PRINCIPAL", "principal"),
         text_column("ACTION", "action"), text_column("RESOURCE", "resource"),
         text_column("CORRELATION", "correlation")},
        100}}};
}

}  // namespace bc::cli
