#include "actors/api/command_records.hpp"

#include <optional>
#include <string>

namespace bc::actors::api {

projections::command_row row_of(const events::command::state& s) {
  const auto& c = *s.command;
  projections::command_row row;
  row.id = c.id.str();
  row.tenant = c.tenant.str();
  row.node = c.node.str();
  row.kind = c.kind;
  row.payload = c.payload;
  row.enqueued_at = c.at;
  row.expires_at = c.expires_at;
  if (const auto& o = s.outcome) {
    row.completed_at = o->at;
    row.succeeded = o->succeeded;
    row.output = o->output;
  }
  return row;
}

void put(json::writer& out, const command_record& command) {
  const auto& row = command.row;
  const auto status =
      events::command::status_of(row.succeeded, row.expires_at, command.now);
  out.field("id", row.id)
      .field("tenantId", row.tenant)
      .field("nodeId", row.node)
      .field("kind", row.kind)
      .field("status", events::command::status_text(status));
  if (!row.payload.empty())
    out.key("payload").raw(row.payload);
  out.field("enqueuedAt", to_rfc3339(row.enqueued_at))
      .field("expiresAt", to_rfc3339(row.expires_at));
  if (row.completed_at)
    out.field("completedAt", to_rfc3339(*row.completed_at));
  out.field("output", row.output);
}

}  // namespace bc::actors::api
