#include "projections/audit.hpp"

#include "events/audit.hpp"

namespace bc::projections {

namespace {

result<void> add(sql::connection& db, const statements& sql,
                 const events::audit_entry& entry, const std::string& tenant) {
  BC_TRY(s, db.prepare(sql.add_audit));
  return s.bind(1, entry.id + " " + tenant)
      .bind(2, entry.id)
      .bind(3, sql::to_sql(entry.position))
      .bind(4, tenant)
      .bind(5, entry.tenant)
      .bind(6, to_millis(entry.at))
      .bind(7, entry.principal)
      .bind(8, entry.actor_tenant)
      .bind(9, entry.credential)
      .bind(10, entry.action)
      .bind(11, entry.resource)
      .bind(12, entry.event)
      .bind(13, entry.correlation)
      .bind(14, entry.details)
      .run();
}

}  // namespace

result<void> write_audit(sql::connection& db, const statements& sql,
                         const events::envelope& event) {
  BC_TRY(entry, events::audit_of(event));
  if (!entry)
    return ok();
  BC_TRYV(add(db, sql, *entry, entry->tenant));
  if (!entry->actor_tenant || *entry->actor_tenant == entry->tenant)
    return ok();
  return add(db, sql, *entry, *entry->actor_tenant);
}

}  // namespace bc::projections
