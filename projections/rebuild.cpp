#include "projections/apply.hpp"
#include "projections/projector.hpp"

#include <map>

namespace bc::projections {

namespace {

using events::envelope;

constexpr std::size_t events_at_once = 1000;

// Rolled back unless told to commit.
class transaction {
 public:
  explicit transaction(sqlite::connection& db) : db_(db) {}
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (open_)
      (void)db_.execute("rollback");
  }
  [[nodiscard]] result<void> begin() {
    BC_TRYV(db_.execute("begin immediate"));
    open_ = true;
    return ok();
  }
  [[nodiscard]] result<void> commit() {
    BC_TRYV(db_.execute("commit"));
    open_ = false;
    return ok();
  }

 private:
  sqlite::connection& db_;
  bool open_ = false;
};

// Fills the shadows the way the store fills the live tables: a stream whose
// event cannot be applied is left where it is, the others go on.
class filler {
 public:
  explicit filler(sqlite::connection& db) : db_(db) {}

  result<void> add(const envelope& event) {
    position_ = event.position;
    if (parked.contains(event.stream))
      return ok();
    BC_TRYV(db_.execute("savepoint one_event"));
    auto applied = apply(db_, shadow_statements(), event);
    if (!applied) {
      if (applied.error().code == errc::unavailable)
        return applied;
      parked.emplace(event.stream,
                     parked_stream{event.position, applied.error().message});
      BC_TRYV(db_.execute("rollback to one_event"));
    }
    return db_.execute("release one_event");
  }

  [[nodiscard]] std::uint64_t position() const { return position_; }

  struct parked_stream {
    std::uint64_t position;
    std::string reason;
  };
  std::map<std::string, parked_stream> parked;

 private:
  sqlite::connection& db_;
  std::uint64_t position_ = 0;
};

result<void> make_shadows(sqlite::connection& db) {
  transaction tx{db};
  BC_TRYV(tx.begin());
  // What a rebuild that was cut off has left.
  BC_TRYV(db.execute(drop_script(shadow_suffix)));
  BC_TRYV(db.execute(creation_script(shadow_suffix)));
  return tx.commit();
}

result<bool> has_parked_table(sqlite::connection& db) {
  BC_TRY(s, db.prepare("select 1 from sqlite_master where type = 'table'"
                       " and name = 'parked_streams'"));
  return s.step();
}

// The store skips the streams it has on record: from now on those that do not
// apply now, and no others.
result<void> record_parked(sqlite::connection& db, const filler& fill) {
  BC_TRY(there, has_parked_table(db));
  if (!there)
    return ok();
  BC_TRYV(db.execute("delete from parked_streams"));
  for (const auto& [stream, why] : fill.parked) {
    BC_TRY(s, db.prepare("insert into parked_streams (stream, position, reason)"
                         " values (?, ?, ?)"));
    BC_TRYV(s.bind(1, std::string_view{stream})
                .bind(2, static_cast<std::int64_t>(why.position))
                .bind(3, std::string_view{why.reason})
                .run());
  }
  return ok();
}

// One group of events; when there is none left, the swap. True: swapped.
result<bool> advance(sqlite::connection& db, events::journal& source,
                     filler& fill) {
  transaction tx{db};
  BC_TRYV(tx.begin());
  BC_TRY(group, source.read_all(fill.position(), events_at_once));
  for (const auto& event : group) {
    BC_TRYV(fill.add(event));
  }
  bool done = group.empty();
  if (done) {
    BC_TRYV(db.execute(swap_script()));
    BC_TRYV(record_parked(db, fill));
  }
  BC_TRYV(tx.commit());
  return done;
}

}  // namespace

result<std::uint64_t> rebuild(sqlite::connection& db, events::journal& source) {
  BC_TRYV(make_shadows(db));
  filler fill{db};
  for (;;) {
    BC_TRY(done, advance(db, source, fill));
    if (done)
      return fill.position();
  }
}

}  // namespace bc::projections
