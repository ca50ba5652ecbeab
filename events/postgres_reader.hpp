#pragma once

#include "events/journal_ledger.hpp"
#include "events/postgres.hpp"

#include <string_view>
#include <vector>

namespace bc::events::detail {

/// The tables on one connection, in whatever transaction it has open, for
/// reading: whatever would write is INTERNAL.
class postgres_reader : public ledger {
 public:
  explicit postgres_reader(postgres::connection& db) : db_(db) {}

  result<head_state> head() override;
  result<std::vector<envelope>> events_after(std::uint64_t position,
                                             std::size_t limit) override;
  result<std::vector<envelope>> stream_after(std::string_view stream,
                                             std::uint64_t version,
                                             std::size_t limit) override;
  result<std::uint64_t> stream_version(std::string_view stream) override;
  result<std::optional<batch_row>> find_batch(std::string_view batch) override;
  result<std::vector<batch_row>> find_batches(
      const std::set<std::string>& batches) override;
  result<std::vector<commit_row>> commits_after(std::uint64_t commit,
                                                std::size_t limit) override;
  result<std::optional<claim_holder>> find_claim(
      std::string_view claim) override;
  result<std::optional<budget_row>> find_budget(
      std::string_view budget) override;
  result<limiter_row> limiter(std::string_view stream,
                              std::size_t newest) override;
  result<void> check_hidden() override;
  result<std::uint64_t> batch_count() override;
  result<std::uint64_t> commit_count() override;
  result<claim_table> all_claims() override;
  result<budget_table> all_budgets() override;
  result<std::map<std::string, snapshot>> all_snapshots() override;
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

  result<std::optional<snapshot>> find_snapshot(std::string_view stream);
  /// The claim's holder by the store's clock.
  result<std::optional<claim_holder>> find_live_claim(std::string_view claim);
  result<time_point> store_time();

 protected:
  [[nodiscard]] result<postgres::rows> ask(
      std::string_view sql, std::vector<postgres::argument> arguments = {});

  postgres::connection& db_;
};

}  // namespace bc::events::detail
