#include "events/journal_audit.hpp"
#include "events/refusal_index.hpp"
#include "events/sql_transaction.hpp"
#include "events/sqlite_journal.hpp"
#include "events/sqlite_ledger.hpp"
#include "events/sqlite_migrations.hpp"

#include <mutex>
#include <utility>

namespace bc::events {

namespace {

using detail::sqlite_ledger;

fault read_only() {
  return fail(errc::invalid_state, "the store was opened for reading alone");
}

class sqlite_reader final : public journal {
 public:
  sqlite_reader(const clock& time, std::unique_ptr<sqlite::connection> db)
      : time_(time), db_(std::move(db)), tables_(*db_) {}

  result<std::vector<append_outcome>> append(std::span<const batch>) override {
    return read_only();
  }

  result<std::optional<appended>> outcome(const batch_id&) override {
    return read_only();
  }

  result<std::optional<claim_holder>> holder(std::string_view claim) override {
    std::lock_guard lock{mutex_};
    BC_TRY(found, tables_.find_claim(claim));
    return detail::live(std::move(found), time_.now());
  }

  result<std::vector<envelope>> read_stream(std::string_view stream,
                                            std::uint64_t after_version,
                                            std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return tables_.stream_after(stream, after_version, limit);
  }

  result<std::vector<envelope>> read_all(std::uint64_t after_position,
                                         std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return tables_.events_after(after_position, limit);
  }

  result<head_row> head() override {
    std::lock_guard lock{mutex_};
    BC_TRY(head, tables_.head());
    return std::move(head.row);
  }

  result<limiter_row> read_limiter(std::string_view stream) override {
    std::lock_guard lock{mutex_};
    sql::transaction moment{*db_};
    BC_TRYV(moment.begin_reading());
    return tables_.limiter(stream, detail::limiter_times);
  }

  result<void> add_dropped(std::string_view, std::uint64_t) override {
    return read_only();
  }

  result<void> keep_refusals(const batch_id&,
                             std::span<const refused_join>) override {
    return read_only();
  }

  result<std::vector<refused_join>> find_refusals(std::string_view owner,
                                                  std::string_view csr_sha256,
                                                  std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return detail::refusals_of(*db_, owner, csr_sha256, limit);
  }

  result<std::optional<snapshot>> load_snapshot(
      std::string_view stream) override {
    std::lock_guard lock{mutex_};
    return tables_.find_snapshot(stream);
  }

  result<void> save_snapshot(std::string_view, const snapshot&) override {
    return read_only();
  }

  result<std::optional<lease>> acquire_lease(std::string_view,
                                             seconds) override {
    return read_only();
  }

  result<void> add_checkpoint(const checkpoint&, std::uint64_t) override {
    return read_only();
  }

  result<std::vector<checkpoint>> read_checkpoints(std::uint64_t after_position,
                                                   std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return tables_.checkpoints_after(after_position, limit);
  }

  result<void> verify(const verify_request& against) override {
    std::lock_guard lock{mutex_};
    sql::transaction moment{*db_};
    BC_TRYV(moment.begin_reading());
    return detail::audit(tables_, against, time_.now());
  }

  time_point now() const override { return time_.now(); }

 private:
  const clock& time_;
  std::unique_ptr<sqlite::connection> db_;
  std::mutex mutex_;
  sqlite_ledger tables_;
};

result<std::unique_ptr<journal>> open(const std::string& path,
                                      const clock& time) {
  BC_TRYV(detail::require_file(path));
  BC_TRY(db, sqlite::connection::open(path, sqlite::mode::read_only));
  BC_TRYV(detail::require_schema(*db));
  return std::make_unique<sqlite_reader>(time, std::move(db));
}

}  // namespace

result<std::unique_ptr<journal>> open_sqlite_reader(const std::string& path,
                                                    const clock& time) {
  auto opened = open(path, time);
  if (!opened) {
    auto f = std::move(opened).error();
    if (f.message.find(path) == std::string::npos)
      f.message = path + ": " + f.message;
    return f;
  }
  return opened;
}

}  // namespace bc::events
