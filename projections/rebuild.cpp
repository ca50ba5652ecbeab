#include "events/sql_transaction.hpp"
#include "projections/group.hpp"
#include "projections/projector.hpp"

#include <chrono>
#include <thread>

namespace bc::projections {

namespace {

// The swap waits this long for those who read now, while those who come after
// them wait for the swap; then it lets them by and tries again.
constexpr int swap_tries = 60;
constexpr milliseconds between_tries{250};
constexpr std::string_view lock_in_time = "set local lock_timeout = '1s'";

// Whatever patience the connection has: what the swap holds, all readers and
// the tailer wait for. A program that is stopped meanwhile (Ctrl-Z, a machine
// that is frozen) is ended by the server, and nothing was changed.
std::string hold_in_time(milliseconds most_idle) {
  return "set local idle_in_transaction_session_timeout = " +
         std::to_string(most_idle.count()) +
         "; set local statement_timeout = '8s'";
}

/// On Postgres one rebuild at a time, until the connection ends at the latest.
class turn {
 public:
  explicit turn(sql::connection& db) : db_(db) {}
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() {
    if (taken_)
      static_cast<void>(
          call("select pg_advisory_unlock(8210, "
               "hashtext(current_schema()))"));
  }

  [[nodiscard]] result<void> take() {
    if (db_.kind() == sql::dialect::sqlite)
      return ok();
    BC_TRY(taken, call("select pg_try_advisory_lock(8210, "
                       "hashtext(current_schema()))::int::bigint"));
    if (!taken)
      return fail(errc::invalid_state,
                  "the read models are being rebuilt by another command");
    taken_ = true;
    return ok();
  }

 private:
  result<bool> call(std::string_view query) {
    BC_TRY(s, db_.prepare(query));
    BC_TRYV(s.step());
    return s.number(0) != 0;
  }

  sql::connection& db_;
  bool taken_ = false;
};

/// How far the shadows are.
struct filled {
  std::uint64_t position = 0;
  parked_streams parked;
};

// False when nothing was left behind it as it was read.
result<bool> add_group(sql::connection& db, events::journal& source,
                       filled& so_far, sending how) {
  BC_TRY(events, source.read_all(so_far.position, group_limit));
  if (events.empty())
    return false;
  BC_TRY(parked,
         apply_group(db, shadow_statements(), events, so_far.parked, how));
  so_far.parked.merge(parked);
  so_far.position = events.back().position;
  return events.size() == group_limit;
}

result<void> make_shadows(sql::connection& db) {
  sql::transaction t{db};
  BC_TRYV(t.begin());
  // What a rebuild that was cut off has left.
  BC_TRYV(db.execute(drop_script(shadow_suffix)));
  BC_TRYV(db.execute(creation_script(db.kind(), shadow_suffix)));
  return t.commit();
}

// After a fault `so_far` is what was committed.
result<void> fill(sql::connection& db, events::journal& source,
                  filled& so_far) {
  for (bool more = true; more;) {
    auto next = so_far;
    sql::transaction t{db};
    BC_TRYV(t.begin());
    BC_TRY(found, add_group(db, source, next, sending::pipelined));
    BC_TRYV(t.commit());
    so_far = std::move(next);
    more = found;
  }
  return ok();
}

result<bool> find_checkpoint(sql::connection& db) {
  auto at = read_checkpoint(db);
  if (!at && at.error().code != errc::internal)
    return std::move(at).error();
  return bool(at);
}

// With nobody else writing the read models; the journal goes on.
result<std::uint64_t> swap(sql::connection& db, events::journal& source,
                           filled so_far, bool has_checkpoint,
                           milliseconds most_idle) {
  if (db.kind() == sql::dialect::postgres) {
    BC_TRYV(db.execute(hold_in_time(most_idle)));
  }
  // Not before: at 0 beside rows that are there, it would have all events
  // applied to them again.
  if (!has_checkpoint) {
    BC_TRYV(db.execute(checkpoint_script(db.kind())));
  }
  BC_TRY(live, lock_checkpoint(db));
  BC_TRY(head, source.head());
  while (so_far.position < head.position) {
    auto before = so_far.position;
    // One by one: amid a pipeline the server's time for idling does not run.
    BC_TRYV(add_group(db, source, so_far, sending::awaited));
    if (so_far.position == before)
      return fail(errc::internal, "the journal ends before its head, at " +
                                      std::to_string(before));
  }
  if (db.kind() == sql::dialect::postgres) {
    BC_TRYV(db.execute(std::string{lock_in_time}));
  }
  BC_TRYV(db.execute(swap_script(db.kind())));
  BC_TRYV(replace_parked(db, so_far.parked));
  BC_TRYV(move_checkpoint(db, live.position, so_far.position));
  return so_far.position;
}

}  // namespace

result<std::uint64_t> rebuild(sql::connection& db, events::journal& source,
                              milliseconds most_idle) {
  turn t{db};
  BC_TRYV(t.take());
  BC_TRYV(make_shadows(db));
  filled so_far;
  BC_TRYV(fill(db, source, so_far));
  if (db.kind() == sql::dialect::postgres) {
    BC_TRYV(db.execute(analyze_script()));
  }
  BC_TRY(there, find_checkpoint(db));
  for (int tries = 1;; ++tries) {
    // A connection that was ended is in no transaction, and what became of a
    // commit may not be known.
    bool may_repeat = true;
    auto attempt = [&]() -> result<std::uint64_t> {
      // What came meanwhile, so that little is left for the swap.
      BC_TRYV(fill(db, source, so_far));
      sql::transaction tx{db};
      BC_TRYV(tx.begin());
      auto done = swap(db, source, so_far, there, most_idle);
      may_repeat = !done && db.in_transaction();
      if (done) {
        BC_TRYV(tx.commit());
      }
      return done;
    };
    auto done = attempt();
    if (done || done.error().code != errc::unavailable || !may_repeat ||
        tries == swap_tries)
      return done;
    std::this_thread::sleep_for(between_tries);
  }
}

result<void> renew(sql::connection& db, events::journal& source,
                   bool migrated) {
  BC_TRY(at, read_checkpoint(db));
  BC_TRY(head, source.head());
  if (is_older(at) || (migrated && head.position > 0)) {
    BC_TRYV(rebuild(db, source));
  }
  return ok();
}

}  // namespace bc::projections
