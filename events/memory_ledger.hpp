#pragma once

#include "events/journal_ledger.hpp"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace bc::events::detail {

struct limiter_state {
  std::uint64_t version = 0;
  std::uint64_t dropped = 0;
};

/// The tables in memory. What is written can be taken back until keep().
class memory_ledger final : public ledger {
 public:
  explicit memory_ledger(incarnation_id incarnation);

  void keep() { undo_.clear(); }
  void roll_back();

  result<head_state> head() override { return head_; }
  result<std::vector<envelope>> events_after(std::uint64_t position,
                                             std::size_t limit) override;
  result<std::vector<envelope>> stream_after(std::string_view stream,
                                             std::uint64_t version,
                                             std::size_t limit) override;
  result<std::uint64_t> stream_version(std::string_view stream) override;
  result<std::optional<batch_row>> find_batch(std::string_view batch) override;
  result<std::vector<commit_row>> commits_after(std::uint64_t commit,
                                                std::size_t limit) override;
  result<std::optional<claim_holder>> find_claim(
      std::string_view claim) override;
  result<std::optional<budget_row>> find_budget(
      std::string_view budget) override;
  result<limiter_row> limiter(std::string_view stream,
                              std::size_t newest) override;
  result<std::uint64_t> batch_count() override { return batches_.size(); }
  result<std::uint64_t> commit_count() override { return commits_.size(); }
  result<claim_table> all_claims() override { return claims_; }
  result<budget_table> all_budgets() override { return budgets_; }
  result<std::map<std::string, snapshot>> all_snapshots() override {
    return snapshots_;
  }
  result<std::vector<checkpoint>> checkpoints_after(std::uint64_t position,
                                                    std::size_t limit) override;

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

  [[nodiscard]] std::optional<snapshot> find_snapshot(
      std::string_view stream) const;
  void set_snapshot(std::string_view stream, const snapshot& s);
  void add_checkpoint(const checkpoint& c);

 private:
  template <class Map>
  void set(Map& table, std::string_view key,
           std::optional<typename Map::mapped_type> row);

  head_state head_;
  std::vector<envelope> events_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> streams_;
  std::map<std::string, batch_row, std::less<>> batches_;
  std::vector<commit_row> commits_;
  claim_table claims_;
  budget_table budgets_;
  std::map<std::string, limiter_state, std::less<>> limiters_;
  std::map<std::string, snapshot> snapshots_;
  std::vector<checkpoint> checkpoints_;
  std::vector<std::function<void()>> undo_;
};

}  // namespace bc::events::detail
