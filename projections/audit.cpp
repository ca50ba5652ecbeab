#include "projections/audit.hpp"

#include "events/audit.hpp"

namespace bc::projections {

result<void> write_audit(sql::connection& db, const statements& sql,
                         const events::envelope& event) {
  BC_TRY(entry, events::audit_of(event));
  if (!entry)
    return ok();
  BC_TRY(s, db.prepare(sql.add_audit));
  return s.bind(1, entry->id)
      .bind(2, sql::to_sql(entry->position))
      .bind(3, entry->tenant)
      .bind(4, to_millis(entry->at))
      .bind(5, entry->principal)
      .bind(6, entry->action)
      .bind(7, entry->resource)
      .bind(8, entry->event)
      .bind(9, entry->correlation)
      .bind(10, entry->details)
      .run();
}

}  // namespace bc::projections
