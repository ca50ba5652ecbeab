#pragma once

#include "events/journal.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace bc::test {

/// A journal seen from outside: counts, can be slowed down, and can lose its
/// answers.
class watched_journal final : public events::journal {
 public:
  explicit watched_journal(events::journal& inner) : inner_(inner) {}

  result<std::vector<events::append_outcome>> append(
      std::span<const events::batch> group) override {
    {
      std::lock_guard lock{mutex_};
      groups_.push_back(group.size());
    }
    if (before_append)
      before_append();
    if (cannot_hold && std::ranges::any_of(group, cannot_hold))
      return fail(errc::internal, "the store refused a statement");
    if (lose_appends)
      return fail(errc::unavailable, "lost before the commit");
    auto done = inner_.append(group);
    if (lose_answers)
      return fail(errc::unavailable, "lost after the commit");
    return done;
  }
  result<std::optional<events::appended>> outcome(const batch_id& id) override {
    ++lookups;
    if (lose_outcomes)
      return fail(errc::unavailable, "the store does not answer");
    return inner_.outcome(id);
  }
  result<std::optional<events::claim_holder>> holder(
      std::string_view claim) override {
    return inner_.holder(claim);
  }
  result<std::vector<events::envelope>> read_stream(
      std::string_view stream, std::uint64_t after,
      std::size_t limit) override {
    ++pages_read;
    if (lose_reads)
      return fail(errc::unavailable, "the store does not answer");
    auto page = inner_.read_stream(stream, after, limit);
    if (after_page)
      after_page();
    return page;
  }
  result<std::vector<events::envelope>> read_all(std::uint64_t after,
                                                 std::size_t limit) override {
    ++tails_read;
    if (before_tail)
      before_tail();
    if (lose_reads)
      return fail(errc::unavailable, "the store does not answer");
    return inner_.read_all(after, limit);
  }
  result<events::head_row> head() override {
    if (lose_reads)
      return fail(errc::unavailable, "the store does not answer");
    return inner_.head();
  }
  result<events::limiter_row> read_limiter(std::string_view stream) override {
    ++rows_read;
    return inner_.read_limiter(stream);
  }
  result<void> add_dropped(std::string_view stream,
                           std::uint64_t count) override {
    ++drops_added;
    auto done = inner_.add_dropped(stream, count);
    if (lose_answers)
      return fail(errc::unavailable, "lost after the commit");
    return done;
  }
  result<void> keep_refusals(
      const batch_id& id,
      std::span<const events::refused_join> refused) override {
    ++refusals_kept;
    if (cannot_keep_refusals)
      return fail(errc::internal, "the store refused a statement");
    if (lose_refusals)
      return fail(errc::unavailable, "lost before the commit");
    auto done = inner_.keep_refusals(id, refused);
    if (lose_answers)
      return fail(errc::unavailable, "lost after the commit");
    return done;
  }
  result<std::vector<events::refused_join>> find_refusals(
      std::string_view owner, std::string_view csr_sha256,
      std::size_t limit) override {
    if (lose_reads)
      return fail(errc::unavailable, "the store does not answer");
    return inner_.find_refusals(owner, csr_sha256, limit);
  }
  result<std::optional<events::snapshot>> load_snapshot(
      std::string_view stream) override {
    ++snapshots_read;
    return inner_.load_snapshot(stream);
  }
  result<void> save_snapshot(std::string_view stream,
                             const events::snapshot& s) override {
    ++snapshots_saved;
    if (lose_snapshots)
      return fail(errc::unavailable, "the snapshot is not kept");
    return inner_.save_snapshot(stream, s);
  }
  result<std::optional<events::lease>> acquire_lease(std::string_view holder,
                                                     seconds ttl) override {
    ++leases_asked;
    if (lose_leases)
      return fail(errc::unavailable, "the store does not answer");
    return inner_.acquire_lease(holder, ttl);
  }
  result<void> add_checkpoint(const events::checkpoint& c,
                              std::uint64_t epoch) override {
    return inner_.add_checkpoint(c, epoch);
  }
  result<std::vector<events::checkpoint>> read_checkpoints(
      std::uint64_t after_position, std::size_t limit) override {
    return inner_.read_checkpoints(after_position, limit);
  }
  result<void> verify(const events::verify_request& against) override {
    return inner_.verify(against);
  }
  time_point now() const override { return inner_.now(); }
  bool is_shared() const override { return shared; }

  [[nodiscard]] std::vector<std::size_t> groups() const {
    std::lock_guard lock{mutex_};
    return groups_;
  }

  std::function<void()> before_append, before_tail, after_page;
  std::function<bool(const events::batch&)> cannot_hold;
  std::atomic<bool> shared = false;  // as a store of several processes is
  std::atomic<bool> lose_appends = false, lose_answers = false,
                    lose_outcomes = false, lose_reads = false,
                    lose_snapshots = false, lose_leases = false,
                    lose_refusals = false, cannot_keep_refusals = false;
  std::atomic<int> lookups = 0, pages_read = 0, rows_read = 0, drops_added = 0,
                   tails_read = 0, snapshots_read = 0, snapshots_saved = 0,
                   leases_asked = 0, refusals_kept = 0;

 private:
  events::journal& inner_;
  mutable std::mutex mutex_;
  std::vector<std::size_t> groups_;
};

}  // namespace bc::test
