#include "events/sqlite_journal.hpp"

#include "events/journal_audit.hpp"
#include "events/journal_judge.hpp"
#include "events/refusal_index.hpp"
#include "events/sql_transaction.hpp"
#include "events/sqlite_ledger.hpp"
#include "events/sqlite_migrations.hpp"
#include "events/store_lock.hpp"

#include <csignal>
#include <mutex>
#include <utility>

namespace bc::events {

namespace {

using detail::sqlite_ledger;
using sql::transaction;

class sqlite_journal final : public journal {
 public:
  sqlite_journal(std::string path, const clock& time,
                 inline_projector* projector, detail::store_lock lock,
                 std::unique_ptr<sqlite::connection> writer,
                 std::unique_ptr<sqlite::connection> reader)
      : path_(std::move(path)),
        time_(time),
        lock_(std::move(lock)),
        writer_(std::move(writer)),
        reader_(std::move(reader)),
        tables_(*writer_, projector),
        seen_(*reader_) {}

  result<std::vector<append_outcome>> append(
      std::span<const batch> group) override {
    std::lock_guard lock{write_};
    BC_TRYV(detail::pass(fault_point::store_before_append));
    transaction t{*writer_};
    BC_TRYV(t.begin());
    BC_TRY(done, detail::append_group(tables_, group, time_.now()));
    if (!done.wrote)
      return std::move(done.outcomes);
    BC_TRYV(detail::pass(fault_point::store_before_commit));
    BC_TRYV(t.commit());
    BC_TRYV(detail::pass(fault_point::store_after_commit));
    return std::move(done.outcomes);
  }

  result<std::optional<appended>> outcome(const batch_id& id) override {
    std::lock_guard lock{write_};
    transaction t{*writer_};
    BC_TRYV(t.begin());
    return detail::stored_batch(tables_, id.str(), time_.now());
  }

  result<std::optional<claim_holder>> holder(std::string_view claim) override {
    std::lock_guard lock{read_};
    BC_TRY(found, seen_.find_claim(claim));
    return detail::live(std::move(found), time_.now());
  }

  result<std::vector<envelope>> read_stream(std::string_view stream,
                                            std::uint64_t after_version,
                                            std::size_t limit) override {
    std::lock_guard lock{read_};
    return seen_.stream_after(stream, after_version, limit);
  }

  result<std::vector<envelope>> read_all(std::uint64_t after_position,
                                         std::size_t limit) override {
    std::lock_guard lock{read_};
    return seen_.events_after(after_position, limit);
  }

  result<head_row> head() override {
    std::lock_guard lock{read_};
    BC_TRY(head, seen_.head());
    return std::move(head.row);
  }

  result<limiter_row> read_limiter(std::string_view stream) override {
    std::lock_guard lock{read_};
    // The row and the events of one moment.
    transaction t{*reader_};
    BC_TRYV(t.begin_reading());
    return seen_.limiter(stream, detail::limiter_times);
  }

  result<void> add_dropped(std::string_view stream,
                           std::uint64_t count) override {
    std::lock_guard lock{write_};
    transaction t{*writer_};
    BC_TRYV(t.begin());
    BC_TRY(row, tables_.limiter(stream, 0));
    BC_TRYV(tables_.set_limiter(stream, row.version + 1, row.dropped + count));
    return t.commit();
  }

  result<void> keep_refusals(const batch_id& id,
                             std::span<const refused_join> refused) override {
    std::lock_guard lock{write_};
    transaction t{*writer_};
    BC_TRYV(t.begin());
    BC_TRYV(detail::put_refusals(*writer_, id, refused));
    return t.commit();
  }

  result<std::vector<refused_join>> find_refusals(std::string_view owner,
                                                  std::string_view csr_sha256,
                                                  std::size_t limit) override {
    std::lock_guard lock{read_};
    return detail::refusals_of(*reader_, owner, csr_sha256, limit);
  }

  result<std::optional<snapshot>> load_snapshot(
      std::string_view stream) override {
    std::lock_guard lock{read_};
    return seen_.find_snapshot(stream);
  }

  result<void> save_snapshot(std::string_view stream,
                             const snapshot& s) override {
    std::lock_guard lock{write_};
    return tables_.set_snapshot(stream, s);
  }

  result<std::optional<lease>> acquire_lease(std::string_view holder,
                                             seconds ttl) override {
    std::lock_guard lock{write_};
    transaction t{*writer_};
    BC_TRYV(t.begin());
    BC_TRY(current, tables_.find_lease());
    auto next = detail::next_lease(current, holder, ttl, time_.now());
    if (!next)
      return std::nullopt;
    BC_TRYV(tables_.set_lease(*next));
    BC_TRYV(t.commit());
    return next;
  }

  result<void> add_checkpoint(const checkpoint& c,
                              std::uint64_t epoch) override {
    std::lock_guard lock{write_};
    transaction t{*writer_};
    BC_TRYV(t.begin());
    BC_TRY(current, tables_.find_lease());
    BC_TRYV(detail::check_epoch(current, epoch, time_.now()));
    BC_TRYV(tables_.add_checkpoint(c));
    return t.commit();
  }

  result<std::vector<checkpoint>> read_checkpoints(std::uint64_t after_position,
                                                   std::size_t limit) override {
    std::lock_guard lock{read_};
    return seen_.checkpoints_after(after_position, limit);
  }

  // On a connection of its own, so that a long check holds up nobody.
  result<void> verify(const verify_request& against) override {
    BC_TRY(db, sqlite::connection::open(path_, sqlite::mode::read_only));
    transaction t{*db};
    BC_TRYV(t.begin_reading());
    sqlite_ledger tables{*db};
    return detail::audit(tables, against, time_.now());
  }

  time_point now() const override { return time_.now(); }

 private:
  std::string path_;
  const clock& time_;
  // In this order: the writer closes last of the connections, so that it
  // checkpoints, and before the lock is given back.
  detail::store_lock lock_;
  std::unique_ptr<sqlite::connection> writer_;
  std::unique_ptr<sqlite::connection> reader_;
  std::mutex write_;  // of writer_ and tables_
  std::mutex read_;   // of reader_ and seen_
  sqlite_ledger tables_;
  sqlite_ledger seen_;
};

// Whoever had the store is gone: the lock is ours.
result<void> end_old_lease(sqlite::connection& db, time_point now) {
  sqlite_ledger tables{db};
  BC_TRY(old, tables.find_lease());
  if (!old || now >= old->expires_at)
    return ok();
  old->expires_at = now;
  return tables.set_lease(*old);
}

fault naming(fault f, const std::string& path) {
  if (f.message.find(path) == std::string::npos)
    f.message = path + ": " + f.message;
  if (f.code == errc::internal)
    f.message += "; restore it from a backup";
  return f;
}

enum class schema { migrated, required };

result<std::unique_ptr<journal>> open(const std::string& path,
                                      const clock& time,
                                      inline_projector* projector,
                                      schema what) {
  // Past the limit of a process on its files a write is to be a fault, as on a
  // full disk, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  if (what == schema::required) {
    BC_TRYV(detail::require_file(path));
  }
  BC_TRY(lock, detail::store_lock::take(path));
  BC_TRY(writer, sqlite::connection::open(path, sqlite::mode::read_write));
  if (what == schema::required) {
    BC_TRYV(detail::require_schema(*writer));
  } else {
    BC_TRYV(detail::migrate(*writer, time.now()));
  }
  BC_TRYV(detail::check_store(*writer, path));
  BC_TRYV(end_old_lease(*writer, time.now()));
  BC_TRY(reader, sqlite::connection::open(path, sqlite::mode::read_only));
  auto& tables = *writer;
  auto opened =
      std::make_unique<sqlite_journal>(path, time, projector, std::move(lock),
                                       std::move(writer), std::move(reader));
  if (projector != nullptr) {
    BC_TRYV(projector->prepare(tables, *opened));
  }
  return opened;
}

result<std::unique_ptr<journal>> open_named(const std::string& path,
                                            const clock& time,
                                            inline_projector* projector,
                                            schema what) {
  auto opened = open(path, time, projector, what);
  if (!opened)
    return naming(std::move(opened).error(), path);
  return opened;
}

}  // namespace

result<std::unique_ptr<journal>> open_sqlite_journal(
    const std::string& path, const clock& time, inline_projector* projector) {
  return open_named(path, time, projector, schema::migrated);
}

result<std::unique_ptr<journal>> open_made_sqlite_journal(
    const std::string& path, const clock& time, inline_projector* projector) {
  return open_named(path, time, projector, schema::required);
}

result<int> migrate_sqlite(const std::string& path, const clock& time,
                           inline_projector* projector) {
  BC_TRY(made, open_sqlite_journal(path, time, projector));
  made.reset();
  BC_TRY(db, sqlite::connection::open(path, sqlite::mode::read_only));
  return detail::require_schema(*db);
}

}  // namespace bc::events
