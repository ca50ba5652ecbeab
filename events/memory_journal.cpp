#include "events/memory_journal.hpp"

#include "events/journal_audit.hpp"
#include "events/journal_judge.hpp"
#include "events/memory_ledger.hpp"
#include "events/memory_refusals.hpp"
#include "pki/digest.hpp"

#include <map>
#include <mutex>

namespace bc::events {

namespace {

class memory_journal final : public journal {
 public:
  explicit memory_journal(const clock& time)
      : time_(time), tables_(pki::mint<incarnation_id>(time.now())) {}

  result<std::vector<append_outcome>> append(
      std::span<const batch> group) override {
    std::lock_guard lock{mutex_};
    auto done = append_all(group);
    tables_.roll_back();  // what was not kept
    return done;
  }

  result<std::optional<appended>> outcome(const batch_id& id) override {
    std::lock_guard lock{mutex_};
    return detail::stored_batch(tables_, id.str(), time_.now());
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
    return tables_.limiter(stream, detail::limiter_times);
  }

  result<void> add_dropped(std::string_view stream,
                           std::uint64_t count) override {
    std::lock_guard lock{mutex_};
    BC_TRY(row, tables_.limiter(stream, 0));
    BC_TRYV(tables_.set_limiter(stream, row.version + 1, row.dropped + count));
    tables_.keep();
    return ok();
  }

  result<void> keep_refusals(const batch_id& id,
                             std::span<const refused_join> refused) override {
    std::lock_guard lock{mutex_};
    refusals_.put(id, refused);
    return ok();
  }

  result<std::vector<refused_join>> find_refusals(std::string_view owner,
                                                  std::string_view csr_sha256,
                                                  std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return refusals_.of(owner, csr_sha256, limit);
  }

  result<std::optional<snapshot>> load_snapshot(
      std::string_view stream) override {
    std::lock_guard lock{mutex_};
    return tables_.find_snapshot(stream);
  }

  result<void> save_snapshot(std::string_view stream,
                             const snapshot& s) override {
    std::lock_guard lock{mutex_};
    tables_.set_snapshot(stream, s);
    return ok();
  }

  result<std::optional<lease>> acquire_lease(std::string_view holder,
                                             seconds ttl) override {
    std::lock_guard lock{mutex_};
    auto next = detail::next_lease(lease_, holder, ttl, time_.now());
    if (next)
      lease_ = next;
    return next;
  }

  result<void> add_checkpoint(const checkpoint& c,
                              std::uint64_t epoch) override {
    std::lock_guard lock{mutex_};
    BC_TRYV(detail::check_epoch(lease_, epoch, time_.now()));
    tables_.add_checkpoint(c);
    return ok();
  }

  result<std::vector<checkpoint>> read_checkpoints(std::uint64_t after_position,
                                                   std::size_t limit) override {
    std::lock_guard lock{mutex_};
    return tables_.checkpoints_after(after_position, limit);
  }

  result<void> verify(const verify_request& against) override {
    std::lock_guard lock{mutex_};
    return detail::audit(tables_, against, time_.now());
  }

  time_point now() const override { return time_.now(); }

 private:
  result<std::vector<append_outcome>> append_all(std::span<const batch> group) {
    BC_TRYV(detail::pass(fault_point::store_before_append));
    BC_TRY(done, detail::append_group(tables_, group, time_.now()));
    if (!done.wrote)
      return std::move(done.outcomes);
    BC_TRYV(detail::pass(fault_point::store_before_commit));
    tables_.keep();
    BC_TRYV(detail::pass(fault_point::store_after_commit));
    return std::move(done.outcomes);
  }

  const clock& time_;
  std::mutex mutex_;
  detail::memory_ledger tables_;
  detail::memory_refusals refusals_;
  std::optional<lease> lease_;
};

}  // namespace

std::unique_ptr<journal> make_memory_journal(const clock& time) {
  return std::make_unique<memory_journal>(time);
}

}  // namespace bc::events
