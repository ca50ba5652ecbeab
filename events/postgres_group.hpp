#pragma once

#include "events/journal_questions.hpp"
#include "events/postgres_reader.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace bc::events::detail {

/// A ledger for one group of batches: everything its judging asks for is read
/// in one round trip behind the head lock, and what it writes goes out,
/// set-based, in another. What was not foreseen is asked for by itself.
class postgres_group final : public postgres_reader {
 public:
  using postgres_reader::postgres_reader;

  /// Begins the transaction and takes the head lock.
  [[nodiscard]] result<void> lock(const questions& asked);
  /// The store's clock, read after the lock.
  [[nodiscard]] time_point now() const { return now_; }
  /// Writes all and commits. After a fault on a dead connection the outcome
  /// is not known; after any other nothing was written.
  [[nodiscard]] result<void> commit();

  result<head_state> head() override;
  result<std::vector<envelope>> events_after(std::uint64_t position,
                                             std::size_t limit) override;
  result<std::uint64_t> stream_version(std::string_view stream) override;
  result<std::optional<batch_row>> find_batch(std::string_view batch) override;
  result<std::optional<claim_holder>> find_claim(
      std::string_view claim) override;
  result<std::optional<budget_row>> find_budget(
      std::string_view budget) override;
  result<limiter_row> limiter(std::string_view stream,
                              std::size_t newest) override;

  result<void> add_event(const envelope& e) override;
  result<void> add_batch(const batch_row& row) override;
  result<void> add_commit(const commit_row& row) override;
  result<void> set_head(const head_state& head) override;
  result<void> set_claim(std::string_view claim,
                         const std::optional<claim_holder>& holder) override;
  result<void> purge_claims(time_point before, std::size_t most) override;
  result<void> set_budget(std::string_view budget,
                          const budget_row& row) override;
  result<void> set_limiter(std::string_view stream, std::uint64_t version,
                           std::uint64_t dropped) override;

 private:
  /// By name; present without a value: known not to be there.
  template <class Row>
  using known = std::unordered_map<std::string, std::optional<Row>>;

  void expect(const questions& asked);
  result<void> take(const postgres::rows& answer, int row);
  std::vector<postgres::call> writes();
  postgres::call event_rows();
  postgres::call batch_rows();
  postgres::call claim_rows();
  postgres::call released_claims();
  postgres::call budget_rows();
  postgres::call limiter_rows();

  std::optional<head_state> head_;
  std::uint64_t stored_ = 0;  // the head's position before this group
  time_point now_{};
  known<batch_row> batches_;
  known<std::uint64_t> streams_;
  known<claim_holder> claims_;
  known<budget_row> budgets_;
  known<limiter_row> limiters_;
  std::unordered_map<std::string, std::size_t> newest_;  // of limiters_

  std::vector<envelope> new_events_;
  std::vector<batch_row> new_batches_;
  std::optional<commit_row> new_commit_;
  std::unordered_set<std::string> changed_claims_;
  std::unordered_set<std::string> changed_budgets_;
  std::unordered_set<std::string> changed_limiters_;
  std::optional<std::pair<time_point, std::size_t>> purge_;
};

}  // namespace bc::events::detail
