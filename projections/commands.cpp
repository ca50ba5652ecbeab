#include "projections/commands.hpp"

#include "projections/one_row.hpp"

#include <string>
#include <variant>

namespace bc::projections {

namespace {

namespace command = events::command;

// The digits of the largest position, so that texts sort as numbers do.
constexpr std::size_t digits = 20;

std::string sequence_of(std::uint64_t position) {
  auto text = std::to_string(position);
  return std::string(digits - text.size(), '0') + text;
}

result<void> write(sql::connection& db, const statements& sql,
                   const events::envelope& event, const command::enqueued& e) {
  BC_TRY(s, db.prepare(sql.enqueue_command));
  return s.bind(1, e.id.str())
      .bind(2, sequence_of(event.position))
      .bind(3, e.tenant.str())
      .bind(4, e.node.str())
      .bind(5, e.kind)
      .bind(6, e.payload)
      .bind(7, to_millis(e.at))
      .bind(8, to_millis(e.expires_at))
      .run();
}

result<void> write(sql::connection& db, const statements& sql,
                   const events::envelope& event, const command::completed& c) {
  BC_TRY(s, db.prepare(sql.complete_command));
  s.bind(1, to_millis(c.at))
      .bind(2, std::int64_t{c.succeeded ? 1 : 0})
      .bind(3, c.output)
      .bind(4, c.id.str());
  return change_one_row(db, s, event);
}

}  // namespace

result<void> write_command(sql::connection& db, const statements& sql,
                           const events::envelope& event,
                           const command::event& e) {
  return std::visit(
      [&](const auto& what) { return write(db, sql, event, what); }, e);
}

}  // namespace bc::projections
