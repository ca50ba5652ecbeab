#include "projections/projector.hpp"

#include "events/sql_transaction.hpp"
#include "projections/apply.hpp"
#include "projections/group.hpp"

#include <optional>

namespace bc::projections {

namespace {

using events::envelope;

// In a store without events: what is there is of another program.
result<void> make_tables(sql::connection& db) {
  sql::transaction t{db};
  BC_TRYV(t.begin());
  BC_TRYV(db.execute(drop_script("") + creation_script(db.kind(), "") +
                     checkpoint_script(db.kind())));
  return t.commit();
}

// Events that came while no projector was there (journal new-incarnation).
result<void> catch_up(sql::connection& db, events::journal& source,
                      std::uint64_t position) {
  for (;;) {
    BC_TRY(events, source.read_all(position, group_limit));
    if (events.empty())
      return ok();
    sql::transaction t{db};
    BC_TRYV(t.begin());
    BC_TRY(known, load_parked(db));
    BC_TRY(parked, apply_group(db, live_statements(), events, known));
    BC_TRYV(add_parked(db, parked));
    BC_TRYV(move_checkpoint(db, position, events.back().position));
    BC_TRYV(t.commit());
    position = events.back().position;
  }
}

// nullopt when the tables or their rows are not such as this program writes.
result<std::optional<std::uint64_t>> usable_position(sql::connection& db) {
  auto at = read_checkpoint(db);
  auto checked =
      at ? check_tables(db, live_statements()) : result<void>{at.error()};
  if (checked && is_ours(at.value()))
    return std::optional{at.value().position};
  if (!checked && checked.error().code != errc::internal)
    return std::move(checked).error();
  return std::nullopt;
}

class projector final : public events::inline_projector {
 public:
  result<void> prepare(sql::connection& db, events::journal& source) override {
    BC_TRY(head, source.head());
    BC_TRY(position, usable_position(db));
    if (position && *position <= head.position)
      return catch_up(db, source, *position);
    if (!position && head.position == 0)
      return make_tables(db);
    BC_TRYV(rebuild(db, source));
    return ok();
  }

  result<void> apply(sql::connection& db, const envelope& event) override {
    BC_TRY(c, read_change(event));
    return write_change(db, live_statements(), event, c);
  }

  result<void> finish(sql::connection& db, std::uint64_t position) override {
    BC_TRY(s, db.prepare("update projection_checkpoint set position = ?, "
                         "version = ? where one = 1"));
    return s.bind(1, sql::to_sql(position))
        .bind(2, sql::to_sql(written_version))
        .run();
  }
};

}  // namespace

std::unique_ptr<events::inline_projector> make_projector() {
  return std::make_unique<projector>();
}

}  // namespace bc::projections
