#include "projections/tailer.hpp"

#include "base/fault_point.hpp"
#include "events/postgres.hpp"
#include "events/sql_transaction.hpp"
#include "projections/group.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace bc::projections {

namespace {

using events::envelope;

constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{5'000};

result<void> pass(fault_point point) {
  if (hit(point) == fault_action::error)
    return fail(errc::unavailable, "the read models cannot be written now", {},
                "an armed fault point");
  return ok();
}

// Positions have no holes: one would be an event that is left out for ever.
result<void> check_dense(const std::vector<envelope>& events,
                         std::uint64_t after) {
  for (const auto& e : events)
    if (e.position != ++after)
      return fail(errc::internal, "the journal has no event " +
                                      std::to_string(after) + " before " +
                                      std::to_string(e.position));
  return ok();
}

class tailing final : public tailer {
 public:
  explicit tailing(tailer_options o)
      : options_(std::move(o)), thread_([this] { run(); }) {}
  tailing(const tailing&) = delete;
  tailing& operator=(const tailing&) = delete;
  ~tailing() override { stop(); }

  void wake() override {
    std::lock_guard lock{mutex_};
    woken_ = true;
    changed_.notify_one();
  }

  tailer_stats stats() const override {
    std::lock_guard lock{mutex_};
    return stats_;
  }

  void stop() override {
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable())
      thread_.join();
  }

 private:
  void run() noexcept;
  bool wait(milliseconds most, bool wakes);
  result<bool> round();
  result<void> connect();
  result<void> look();
  result<bool> advance(std::uint64_t epoch);
  result<bool> write(const std::vector<envelope>& events, std::uint64_t epoch,
                     parked_streams& parked);
  result<bool> holds_lease(std::uint64_t epoch);
  void note(const fault& why);
  void report(const parked_streams& parked);
  void report(const checkpoint& at);
  void tell(const std::string& text) {
    if (options_.alarm)
      options_.alarm(text);
  }

  tailer_options options_;
  // Of the thread alone.
  std::unique_ptr<postgres::connection> db_;
  std::optional<checkpoint> at_;                   // nullopt: to be read again
  std::optional<std::uint64_t> reported_version_;  // not ours
  std::map<std::string, std::uint64_t> reported_;  // parked streams

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopping_ = false;
  tailer_stats stats_;
  std::thread thread_;  // last: it uses the rest
};

// False when it is time to stop.
bool tailing::wait(milliseconds most, bool wakes) {
  std::unique_lock lock{mutex_};
  changed_.wait_for(lock, most, [&] { return stopping_ || (wakes && woken_); });
  woken_ = false;
  return !stopping_;
}

void tailing::run() noexcept {
  auto pause = milliseconds{0};
  auto back_off = first_pause;
  bool failed = false;
  while (wait(pause, !failed)) {
    auto more = [&]() -> result<bool> {
      try {
        return round();
      } catch (const std::exception& e) {
        return fail(errc::internal, e.what());
      }
    }();
    failed = !more;
    if (failed) {
      note(more.error());
      pause = std::exchange(back_off, std::min(back_off * 2, longest_pause));
    } else {
      back_off = first_pause;
      pause = more.value() ? milliseconds{0} : options_.poll;
    }
  }
}

void tailing::note(const fault& why) {
  at_.reset();
  if (db_ && (!db_->is_alive() || db_->in_transaction()))
    db_.reset();
  {
    std::lock_guard lock{mutex_};
    bool known = stats_.last_fault && stats_.last_fault->message == why.message;
    stats_.last_fault = why;
    if (known)
      return;
  }
  tell("the read models do not follow the journal: " + why.message +
       (why.detail.empty() ? "" : " (" + why.detail + ")"));
}

// True when there is more to do at once.
result<bool> tailing::round() {
  BC_TRYV(connect());
  auto epoch = is_ours(*at_) ? options_.epoch() : std::nullopt;
  auto more = epoch ? advance(*epoch) : result<bool>{false};
  if (more && !more.value()) {
    BC_TRYV(look());
  }
  if (more) {
    std::lock_guard lock{mutex_};
    stats_.last_fault.reset();
  }
  return more;
}

result<void> tailing::connect() {
  if (!db_) {
    BC_TRY(fresh, postgres::connection::open(options_.url));
    db_ = std::move(fresh);
  }
  if (!at_) {
    BC_TRY(at, read_checkpoint(*db_));
    // Of a commit whose answer was lost too.
    BC_TRY(parked, load_parked(*db_));
    report(parked);
    at_ = at;
  }
  return ok();
}

// Where things stand, whoever moves them.
result<void> tailing::look() {
  BC_TRY(s, db_->prepare("select position, version, (select count(*) from "
                         "parked_streams) from projection_checkpoint "
                         "where one = 1"));
  BC_TRY(row, s.step());
  if (!row)
    return fail(errc::internal, "the read models have no checkpoint");
  checkpoint at{sql::of_sql(s.number(0)), sql::of_sql(s.number(1))};
  auto parked = sql::of_sql(s.number(2));
  BC_TRY(head, options_.journal.head());
  // After the journal was restored from an older backup.
  if (head.position < at.position)
    return fail(errc::internal, "the read models are at " +
                                    std::to_string(at.position) +
                                    ", ahead of the journal at " +
                                    std::to_string(head.position) +
                                    "; run better-compute projections rebuild");
  report(at);
  at_ = at;
  std::lock_guard lock{mutex_};
  stats_.position = at.position;
  stats_.parked = parked;
  stats_.head = head.position;
  return ok();
}

result<bool> tailing::advance(std::uint64_t epoch) {
  BC_TRY(events, options_.journal.read_all(at_->position, group_limit));
  if (events.empty())
    return false;
  BC_TRYV(check_dense(events, at_->position));
  parked_streams parked;
  BC_TRY(written, write(events, epoch, parked));
  if (!written)
    return false;
  at_ = checkpoint{events.back().position, written_version};
  {
    std::lock_guard lock{mutex_};
    stats_.position = at_->position;
    stats_.head = std::max(stats_.head, at_->position);
  }
  report(parked);
  return pass(fault_point::projector_after_commit)
             ? result<bool>{events.size() == group_limit}
             : fail(errc::unavailable, "the commit's outcome is lost");
}

// False when another has moved the checkpoint or has the lease, or the rows are
// not such as this program writes.
result<bool> tailing::write(const std::vector<envelope>& events,
                            std::uint64_t epoch, parked_streams& parked) {
  sql::transaction t{*db_};
  BC_TRYV(t.begin());
  BC_TRY(live, lock_checkpoint(*db_));
  BC_TRY(ours, holds_lease(epoch));
  if (live.position != at_->position || !ours || !is_ours(live))
    return false;
  // A rebuild may have changed them without moving the checkpoint.
  BC_TRY(known, load_parked(*db_));
  BC_TRY(added, apply_group(*db_, live_statements(), events, known));
  BC_TRYV(add_parked(*db_, added));
  BC_TRYV(move_checkpoint(*db_, live.position, events.back().position));
  BC_TRYV(pass(fault_point::projector_before_commit));
  BC_TRYV(t.commit());
  parked = std::move(added);
  return true;
}

result<bool> tailing::holds_lease(std::uint64_t epoch) {
  BC_TRY(s, db_->prepare("select 1 from lease where epoch = ?"));
  return s.bind(1, sql::to_sql(epoch)).step();
}

void tailing::report(const parked_streams& parked) {
  for (const auto& [stream, why] : parked)
    if (std::exchange(reported_[stream], why.position) != why.position)
      tell("stream " + stream + " is parked at event " +
           std::to_string(why.position) + ": " + why.reason);
}

void tailing::report(const checkpoint& at) {
  if (is_ours(at)) {
    reported_version_.reset();
    return;
  }
  if (std::exchange(reported_version_, at.version) != at.version &&
      options_.warn)
    options_.warn(not_ours(at));
}

}  // namespace

std::unique_ptr<tailer> tailer::start(tailer_options options) {
  return std::make_unique<tailing>(std::move(options));
}

}  // namespace bc::projections
