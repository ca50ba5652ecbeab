#include "events/postgres_journal.hpp"

#include "events/journal_audit.hpp"
#include "events/journal_judge.hpp"
#include "events/postgres_group.hpp"
#include "events/postgres_migrations.hpp"
#include "events/postgres_newest.hpp"
#include "events/postgres_pool.hpp"
#include "events/refusal_index.hpp"
#include "events/sql_transaction.hpp"

#include <atomic>
#include <utility>

namespace bc::events {

namespace {

using detail::postgres_group;
using detail::postgres_reader;
using postgres::call;
using postgres::connection;
using sql::of_sql;
using sql::to_sql;

constexpr std::size_t readers = 4;
constexpr std::size_t keepers = 2;
constexpr int tries = 3;

// Plans made once and never by whole tables: what they were made for when the
// tables were small must hold when they are large. And an append that is
// answered is on the disk, whatever the server's default is.
constexpr const char* setup =
    "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; "
    "set enable_hashjoin = off; set enable_mergejoin = off; "
    "select set_config('synchronous_commit', 'on', false) "
    "where current_setting('synchronous_commit') = 'off'";

// A slow read is ended by the server, which is heard; given up before, it would
// go on there behind our back. What the URL says stands.
std::string reading_setup(milliseconds silence) {
  return setup +
         ("; select set_config('statement_timeout', '" +
          std::to_string((silence * 3 / 4).count()) +
          "', false) where current_setting('statement_timeout') = '8s'");
}

result<void> run(connection& db, std::vector<call> calls) {
  BC_TRY(answers, db.run(calls));
  static_cast<void>(answers);
  return ok();
}

class postgres_journal final : public journal {
 public:
  postgres_journal(const std::string& url, postgres_silence silence)
      : silence_(silence),
        writer_(url, 1, setup, kept()),
        lookups_(url, 1, setup, kept()),
        reading_(url, readers, reading_setup(silence.reading), kept()),
        keeping_(url, keepers, setup, kept()) {}

  /// The first connection, and whether the store is ours. What is in it by now
  /// must be in every server that is taken for it.
  result<void> check() {
    BC_TRY(db, reading_.borrow());
    BC_TRYV(detail::check_store(*db));
    postgres_reader tables{*db};
    BC_TRY(time, tables.store_time());
    saw(time);
    BC_TRY(head, tables.head());
    if (head.row.position == 0)
      return ok();
    BC_TRY(last, tables.events_after(head.row.position - 1, 1));
    if (!last.empty())
      newest_.know(last.front());
    return ok();
  }

  result<std::vector<append_outcome>> append(
      std::span<const batch> group) override {
    BC_TRYV(detail::pass(fault_point::store_before_append));
    auto asked = detail::questions_of(group);
    for (int n = 1;; ++n) {
      bool again = false;
      auto done = append_once(group, asked, again);
      if (done || !again || n == tries)
        return done;
    }
  }

  // On a connection opened after the last one that was lost: that one may have
  // a server process behind it that still commits. The head lock waits for it.
  result<std::optional<appended>> outcome(const batch_id& id) override {
    if (lost_.exchange(false))
      lookups_.drop_idle();
    std::optional<postgres_group> tables;
    BC_TRY(db, begin(lookups_, [&](connection& on) {
             tables.emplace(on);
             return lock(on, *tables, {});
           }));
    saw(tables->now());
    BC_TRY(found, detail::stored_batch(*tables, id.str(), tables->now()));
    BC_TRYV(settle(*db, *tables));
    return std::move(found);
  }

  result<std::optional<claim_holder>> holder(std::string_view claim) override {
    return read([&](auto& tables) { return tables.find_live_claim(claim); });
  }

  result<std::vector<envelope>> read_stream(std::string_view stream,
                                            std::uint64_t after_version,
                                            std::size_t limit) override {
    return read([&](auto& tables) {
      return tables.stream_after(stream, after_version, limit);
    });
  }

  result<std::vector<envelope>> read_all(std::uint64_t after_position,
                                         std::size_t limit) override {
    std::vector<envelope> events;
    auto look = [&](connection& on) -> result<void> {
      BC_TRY(found, postgres_reader{on}.events_after(after_position, limit));
      // No news, or a server that is not the store any more.
      if (found.empty())
        return newest_.check(on);
      events = std::move(found);
      return ok();
    };
    BC_TRY(db, postgres::begin_on(reading_, look, silence_.reading));
    static_cast<void>(db);
    if (!events.empty())
      newest_.know(events.back());
    return events;
  }

  result<head_row> head() override {
    return read([&](auto& tables) -> result<head_row> {
      BC_TRY(head, tables.head());
      return std::move(head.row);
    });
  }

  result<limiter_row> read_limiter(std::string_view stream) override {
    return read([&](auto& tables) {
      return tables.limiter(stream, detail::limiter_times);
    });
  }

  // Behind the head lock: an append judges by the row and then sets it.
  result<void> add_dropped(std::string_view stream,
                           std::uint64_t count) override {
    BC_TRY(db, begin(keeping_, [&](connection& on) {
             postgres_group tables{on};
             return lock(on, tables, {});
           }));
    return run(
        *db,
        {{"insert into limiters (stream, version, dropped) values ($1, 1, $2) "
          "on conflict (stream) do update set version = limiters.version + 1, "
          "dropped = limiters.dropped + excluded.dropped",
          {stream, to_sql(count)}},
         {"commit"}});
  }

  // One writer at a time: rows of two batches in two orders would wait for
  // each other.
  result<void> keep_refusals(const batch_id& id,
                             std::span<const refused_join> refused) override {
    BC_TRY(db, begin(keeping_, [&](connection& on) {
             return run(on, {{"begin isolation level read committed"},
                             {"lock table refused_joins in share row exclusive "
                              "mode"}});
           }));
    BC_TRYV(detail::put_refusals(*db, id, refused));
    return run(*db, {{"commit"}});
  }

  result<std::vector<refused_join>> find_refusals(std::string_view owner,
                                                  std::string_view csr_sha256,
                                                  std::size_t limit) override {
    std::vector<refused_join> found;
    BC_TRY(db, begin(reading_, [&](connection& on) -> result<void> {
             BC_TRY(rows, detail::refusals_of(on, owner, csr_sha256, limit));
             found = std::move(rows);
             return ok();
           }));
    static_cast<void>(db);
    return found;
  }

  result<std::optional<snapshot>> load_snapshot(
      std::string_view stream) override {
    return read([&](auto& tables) { return tables.find_snapshot(stream); });
  }

  result<void> save_snapshot(std::string_view stream,
                             const snapshot& s) override {
    // The same again when it is repeated. No standby is waited for: it can be
    // made anew from the events.
    auto save = [&](connection& on) {
      return run(on, {{"begin isolation level read committed"},
                      {"set local synchronous_commit = local"},
                      {"insert into snapshots (stream, version, fold_version, "
                       "state) values ($1, $2, $3, $4) on conflict (stream) "
                       "do update set version = excluded.version, "
                       "fold_version = excluded.fold_version, "
                       "state = excluded.state",
                       {stream, to_sql(s.version), s.fold_version, s.state}},
                      {"commit"}});
    };
    BC_TRY(db, postgres::begin_on(reading_, save, silence_.reading));
    static_cast<void>(db);
    return ok();
  }

  result<std::optional<lease>> acquire_lease(std::string_view holder,
                                             seconds ttl) override {
    leased now;
    BC_TRY(db, begin(keeping_, [&](connection& on) {
             return read_lease(
                 on, "lock table lease in share row exclusive mode", now);
           }));
    auto next = detail::next_lease(now.current, holder, ttl, now.time);
    if (!next)
      return std::nullopt;
    BC_TRYV(run(*db, {{"insert into lease (one, holder, epoch, expires_ms) "
                       "values (1, $1, $2, $3) on conflict (one) do update "
                       "set holder = excluded.holder, epoch = excluded.epoch, "
                       "expires_ms = excluded.expires_ms",
                       {next->holder, to_sql(next->epoch),
                        to_millis(next->expires_at)}},
                      {"commit"}}));
    return next;
  }

  // The lease cannot change hands before this is committed.
  result<void> add_checkpoint(const checkpoint& c,
                              std::uint64_t epoch) override {
    leased now;
    BC_TRY(db, begin(keeping_, [&](connection& on) {
             return read_lease(
                 on, "select 1 from lease where one = 1 for share", now);
           }));
    BC_TRYV(detail::check_epoch(now.current, epoch, now.time));
    return run(
        *db,
        {{"insert into checkpoints (position, commit_no, link, incarnation, "
          "time_ms, signature) values ($1, $2, $3, $4, $5, $6) "
          "on conflict (position) do update set "
          "commit_no = excluded.commit_no, link = excluded.link, "
          "incarnation = excluded.incarnation, time_ms = excluded.time_ms, "
          "signature = excluded.signature",
          {to_sql(c.position), to_sql(c.commit), c.link, c.incarnation.str(),
           to_millis(c.time), c.signature}},
         {"commit"}});
  }

  result<std::vector<checkpoint>> read_checkpoints(std::uint64_t after_position,
                                                   std::size_t limit) override {
    return read([&](auto& tables) {
      return tables.checkpoints_after(after_position, limit);
    });
  }

  // On a connection of its own, so that a long check holds up nobody, and on
  // one moment of the tables.
  result<void> verify(const verify_request& against) override {
    BC_TRY(db, connection::open(writer_.url(), postgres::patience::endless));
    sql::transaction moment{*db};
    BC_TRYV(moment.begin_reading());
    postgres_reader tables{*db};
    BC_TRY(now, tables.store_time());
    return detail::audit(tables, against, now);
  }

  time_point now() const override {
    return from_millis(to_millis(own_.now()) + ahead_ms_);
  }

  bool is_shared() const override { return true; }

 private:
  struct leased {
    std::optional<lease> current;
    time_point time;
  };

  template <class First>
  result<postgres::pool::held> begin(postgres::pool& from, First first) {
    return postgres::begin_on(from, std::move(first), silence_.writing);
  }

  // `again`: nothing was written, and the same may succeed at once.
  result<std::vector<append_outcome>> append_once(
      std::span<const batch> group, const detail::questions& asked,
      bool& again) {
    std::optional<postgres_group> tables;
    connection* used = nullptr;
    auto db = begin(writer_, [&](connection& on) {
      used = &on;
      tables.emplace(on);
      auto locked = lock(on, *tables, asked);
      again = is_conflict(on, locked);
      lost_ = lost_ || !on.is_alive();
      return locked;
    });
    if (!db)
      return std::move(db).error();
    saw(tables->now());
    BC_TRY(done, detail::append_group(*tables, group, tables->now()));
    // Given back, the connection rolls back.
    if (!done.wrote) {
      BC_TRYV(settle(*db.value(), *tables));
      return std::move(done.outcomes);
    }
    BC_TRYV(detail::pass(fault_point::store_before_commit));
    auto committed = tables->commit();
    again = is_conflict(*used, committed);
    if (!used->is_alive())
      lost_ = true;
    if (!committed)
      return std::move(committed).error();
    BC_TRY(head, tables->head());
    newest_.settle(head.row.position);
    for (const auto& o : done.outcomes)
      if (const auto* in = std::get_if<appended>(&o); in && !in->events.empty())
        newest_.know(in->events.back());
    BC_TRYV(detail::pass(fault_point::store_after_commit));
    return std::move(done.outcomes);
  }

  [[nodiscard]] postgres::pool::check kept() {
    return [this](connection& db) { return newest_.check(db); };
  }

  // A connection that idled while another server took over is found out here.
  result<void> lock(connection& on, postgres_group& tables,
                    const detail::questions& asked) {
    BC_TRYV(tables.lock(asked));
    BC_TRY(head, tables.head());
    return newest_.check_head(on, head.row.position);
  }

  // What can be seen may yet be lost to a failover: a commit whose wait for the
  // standby ended with its connection, with the server, or by somebody's hand,
  // and be it another process's. So an answer that rests on more than this
  // process saw settled waits for the standby to have all there is, by a commit
  // of the head lock alone. Of many that would wait, one gets the lock.
  result<void> settle(connection& db, postgres_group& tables) {
    BC_TRY(head, tables.head());
    if (newest_.is_settled(head.row.position))
      return ok();
    BC_TRYV(run(db, {{"commit"}}));
    newest_.settle(head.row.position);
    return ok();
  }

  // The server says for certain that the transaction was rolled back.
  static bool is_conflict(const connection& db, const result<void>& done) {
    return !done && db.is_alive() &&
           (db.state() == "40001" || db.state() == "40P01");
  }

  result<void> read_lease(connection& on, std::string_view lock, leased& now) {
    std::vector<call> calls{
        {"begin isolation level read committed"},
        {lock},
        {"select store_now_ms(), holder, epoch, expires_ms "
         "from (values (1)) unit left join lease on one = 1"}};
    BC_TRY(answers, on.run(calls));
    const auto& row = answers[2];
    now.time = from_millis(row.number(0, 0));
    saw(now.time);
    if (!row.is_null(0, 1))
      now.current = lease{std::string{row.text(0, 1)}, of_sql(row.number(0, 2)),
                          from_millis(row.number(0, 3))};
    return ok();
  }

  // Reading has no effect, so it may be repeated whole.
  template <class Work>
  auto read(Work work) -> decltype(work(std::declval<postgres_reader&>())) {
    using answer = decltype(work(std::declval<postgres_reader&>()));
    std::optional<answer> done;
    BC_TRY(db, postgres::begin_on(
                   reading_,
                   [&](connection& on) -> result<void> {
                     postgres_reader tables{on};
                     done.emplace(work(tables));
                     return *done ? result<void>{ok()}
                                  : result<void>{done->error()};
                   },
                   silence_.reading));
    static_cast<void>(db);
    return std::move(*done);
  }

  void saw(time_point store) {
    ahead_ms_ = to_millis(store) - to_millis(own_.now());
  }

  const postgres_silence silence_;
  detail::postgres_newest newest_;
  system_clock own_;
  std::atomic<std::int64_t> ahead_ms_{0};
  postgres::pool writer_;
  postgres::pool lookups_;
  // What waits for no standby, and what else is kept.
  postgres::pool reading_;
  postgres::pool keeping_;
  std::atomic<bool> lost_{false};  // the writer
};

}  // namespace

result<std::unique_ptr<journal>> open_postgres_journal(
    const std::string& url, postgres_silence silence) {
  auto opened = std::make_unique<postgres_journal>(url, silence);
  BC_TRYV(opened->check());
  return opened;
}

}  // namespace bc::events
