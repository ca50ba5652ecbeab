#include "projections/group.hpp"

#include "projections/apply.hpp"

#include <algorithm>
#include <map>

namespace bc::projections {

namespace {

using events::envelope;

constexpr std::size_t large_group = 8;

std::string reason_of(const fault& why) {
  return why.detail.empty() ? why.message
                            : why.message + " (" + why.detail + ")";
}

/// Knows that no token has expired yet, as long as none has: in a large group
/// the look for them would be a good part of the work.
class expiry_watch {
 public:
  result<void> start(sql::connection& db, const statements& sql) {
    BC_TRY(s, db.prepare(sql.next_expiry));
    BC_TRYV(s.step());
    next_ = s.is_null(0) ? time_point::max() : from_millis(s.number(0));
    return ok();
  }
  bool none_expired_at(const envelope& e, const change& c) {
    const auto* of_token = std::get_if<events::join_token::event>(&c);
    if (of_token == nullptr)
      return true;
    if (const auto* t = std::get_if<events::join_token::created>(of_token))
      next_ = std::min(next_, t->expires_at);
    return e.time < next_;
  }

 private:
  // No token that is not marked expires before.
  time_point next_ = time_point::min();
};

struct readable {
  const envelope* event;
  change what;
};

class group {
 public:
  group(sql::connection& db, const statements& sql,
        const parked_streams& parked)
      : db_(db), sql_(sql), before_(parked) {}

  /// All at once, as far as the events can be read.
  result<void> apply_quickly(std::span<const envelope> events, sending how);
  /// Each behind a savepoint.
  result<void> apply_singly(std::span<const envelope> events);

  parked_streams parked;

 private:
  bool is_parked(const std::string& stream) const {
    return before_.contains(stream) || parked.contains(stream);
  }
  void park(const envelope& e, const fault& why) {
    parked.emplace(e.stream, parked_stream{e.position, reason_of(why)});
  }
  std::vector<readable> read(std::span<const envelope> events);
  result<void> send(std::span<const readable> events);
  result<void> send_one(const envelope& e, const change& c);
  result<void> spend(const join_token_id& id);
  result<void> apply_one(const envelope& e);

  sql::connection& db_;
  const statements& sql_;
  const parked_streams& before_;
  expiry_watch expiry_;
  // Uses that are taken off at the end: nothing else of a group looks at them,
  // and a row that is written again and again gets slower each time.
  std::map<join_token_id, std::int64_t> spent_;
};

/// Null when the change is another one.
template <class Event>
const Event* token_event_in(const change& c) {
  const auto* of_token = std::get_if<events::join_token::event>(&c);
  return of_token == nullptr ? nullptr : std::get_if<Event>(of_token);
}

std::vector<readable> group::read(std::span<const envelope> events) {
  std::vector<readable> out;
  out.reserve(events.size());
  for (const auto& e : events) {
    if (is_parked(e.stream))
      continue;
    if (auto c = read_change(e); !c)
      park(e, c.error());
    else
      out.push_back({&e, std::move(c).value()});
  }
  return out;
}

result<void> group::send(std::span<const readable> events) {
  for (const auto& e : events) {
    BC_TRYV(send_one(*e.event, e.what));
  }
  while (!spent_.empty()) {
    BC_TRYV(spend(spent_.begin()->first));
  }
  return ok();
}

result<void> group::send_one(const envelope& e, const change& c) {
  using namespace events::join_token;
  bool none_expired = expiry_.none_expired_at(e, c);
  // What was used before it was made does not fit, and must not come to.
  if (const auto* t = token_event_in<created>(c); t && spent_.contains(t->id)) {
    BC_TRYV(spend(t->id));
  }
  const auto* use = token_event_in<redeemed>(c);
  if (use == nullptr || !none_expired)
    return write_change(db_, sql_, e, c, none_expired);
  ++spent_[use->id];
  return write_beside_row(db_, sql_, e, c);
}

result<void> group::spend(const join_token_id& id) {
  auto taken = spent_.extract(id);
  return spend_token(db_, sql_, taken.key(), taken.mapped());
}

result<void> group::apply_quickly(std::span<const envelope> events,
                                  sending how) {
  if (events.size() >= large_group) {
    BC_TRYV(expiry_.start(db_, sql_));
  }
  // Before the pipeline, in which a server waits with its locks held.
  auto readable_events = read(events);
  if (how == sending::pipelined)
    db_.begin_pipeline();
  auto sent = send(readable_events);
  auto flushed = db_.flush();
  return sent ? flushed : sent;
}

result<void> group::apply_one(const envelope& e) {
  auto c = read_change(e);
  if (!c) {
    park(e, c.error());
    return ok();
  }
  BC_TRYV(db_.execute("savepoint one_event"));
  auto done = write_change(db_, sql_, e, c.value());
  if (!done) {
    // What the machine cannot do now is no fault of the event's; and SQLite
    // may have ended the transaction by itself.
    if (done.error().code != errc::internal || !db_.in_transaction())
      return done;
    BC_TRYV(db_.execute("rollback to savepoint one_event"));
    park(e, done.error());
  }
  return db_.execute("release savepoint one_event");
}

result<void> group::apply_singly(std::span<const envelope> events) {
  for (const auto& e : events)
    if (!is_parked(e.stream)) {
      BC_TRYV(apply_one(e));
    }
  return ok();
}

}  // namespace

result<parked_streams> apply_group(sql::connection& db, const statements& sql,
                                   std::span<const envelope> events,
                                   const parked_streams& parked, sending how) {
  BC_TRYV(db.execute("savepoint one_group"));
  {
    group quick{db, sql, parked};
    auto done = quick.apply_quickly(events, how);
    if (done) {
      BC_TRYV(db.execute("release savepoint one_group"));
      return std::move(quick.parked);
    }
    if (done.error().code != errc::internal || !db.in_transaction())
      return std::move(done).error();
  }
  // Some event does not fit: once more, to find which.
  BC_TRYV(db.execute("rollback to savepoint one_group"));
  BC_TRYV(check_tables(db, sql));
  group single{db, sql, parked};
  BC_TRYV(single.apply_singly(events));
  BC_TRYV(db.execute("release savepoint one_group"));
  return std::move(single.parked);
}

result<void> check_tables(sql::connection& db, const statements& sql) {
  for (const auto& probe : sql.probes) {
    auto done = [&]() -> result<void> {
      BC_TRY(s, db.prepare(probe));
      return s.run();
    }();
    if (!done && done.error().code == errc::internal)
      return fail(errc::internal,
                  "the read models cannot be written as they are; run "
                  "better-compute projections rebuild",
                  {}, reason_of(done.error()));
    BC_TRYV(std::move(done));
  }
  return ok();
}

}  // namespace bc::projections
