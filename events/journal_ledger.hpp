#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What the stores have in common: each gives its tables as a ledger, and the
/// judging, the writing and the checking are done once, over that.
namespace bc::events::detail {

/// How many of a stream's times a limiter row comes with
/// (journal::read_limiter).
inline constexpr std::size_t limiter_times = 60;

struct head_state {
  head_row row;
  time_point time;  // of the last event
};

struct batch_row {
  std::string batch;
  std::uint64_t commit = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool operator==(const batch_row&) const = default;
};

struct commit_row {
  std::uint64_t commit = 0;
  std::uint64_t last = 0;
  std::string link;
};

struct budget_row {
  std::int64_t left = 0;
  bool closed = false;
  bool operator==(const budget_row&) const = default;
};

using claim_table = std::map<std::string, claim_holder, std::less<>>;
using budget_table = std::map<std::string, budget_row, std::less<>>;

/// The tables of a store in one open transaction that holds the head's lock
/// (for writing) or one moment of them (for reading). Claims come back whether
/// expired or not.
class ledger {
 public:
  virtual ~ledger() = default;

  [[nodiscard]] virtual result<head_state> head() = 0;
  [[nodiscard]] virtual result<std::vector<envelope>> events_after(
      std::uint64_t position, std::size_t limit) = 0;
  [[nodiscard]] virtual result<std::vector<envelope>> stream_after(
      std::string_view stream, std::uint64_t version, std::size_t limit) = 0;
  [[nodiscard]] virtual result<std::uint64_t> stream_version(
      std::string_view stream) = 0;
  [[nodiscard]] virtual result<std::optional<batch_row>> find_batch(
      std::string_view batch) = 0;
  /// Those that are there, each once.
  [[nodiscard]] virtual result<std::vector<batch_row>> find_batches(
      const std::set<std::string>& batches) {
    std::vector<batch_row> out;
    for (const auto& batch : batches) {
      BC_TRY(row, find_batch(batch));
      if (row)
        out.push_back(std::move(*row));
    }
    return out;
  }
  [[nodiscard]] virtual result<std::vector<commit_row>> commits_after(
      std::uint64_t commit, std::size_t limit) = 0;
  [[nodiscard]] virtual result<std::optional<claim_holder>> find_claim(
      std::string_view claim) = 0;
  [[nodiscard]] virtual result<std::optional<budget_row>> find_budget(
      std::string_view budget) = 0;
  /// `recent` holds at most `newest` times.
  [[nodiscard]] virtual result<limiter_row> limiter(std::string_view stream,
                                                    std::size_t newest) = 0;
  /// What the reads here pass over, or show as another value than it is, and a
  /// query by stream or key does not: a row before the first position, a value
  /// of another type than its column's. INTERNAL naming the first.
  [[nodiscard]] virtual result<void> check_hidden() { return ok(); }
  [[nodiscard]] virtual result<std::uint64_t> batch_count() = 0;
  [[nodiscard]] virtual result<std::uint64_t> commit_count() = 0;
  [[nodiscard]] virtual result<claim_table> all_claims() = 0;
  [[nodiscard]] virtual result<budget_table> all_budgets() = 0;
  [[nodiscard]] virtual result<std::map<std::string, snapshot>>
  all_snapshots() = 0;
  [[nodiscard]] virtual result<std::vector<checkpoint>> checkpoints_after(
      std::uint64_t position, std::size_t limit) = 0;

  [[nodiscard]] virtual result<void> add_event(const envelope& e) = 0;
  [[nodiscard]] virtual result<void> add_batch(const batch_row& row) = 0;
  [[nodiscard]] virtual result<void> add_commit(const commit_row& row) = 0;
  [[nodiscard]] virtual result<void> set_head(const head_state& head) = 0;
  /// nullopt: the row goes.
  [[nodiscard]] virtual result<void> set_claim(
      std::string_view claim, const std::optional<claim_holder>& holder) = 0;
  /// Forgets claims that expired before this time, at most so many.
  [[nodiscard]] virtual result<void> purge_claims(time_point before,
                                                  std::size_t most) = 0;
  [[nodiscard]] virtual result<void> set_budget(std::string_view budget,
                                                const budget_row& row) = 0;
  [[nodiscard]] virtual result<void> set_limiter(std::string_view stream,
                                                 std::uint64_t version,
                                                 std::uint64_t dropped) = 0;
};

/// True when nobody has the claim at this time.
[[nodiscard]] inline bool is_free(const std::optional<claim_holder>& holder,
                                  time_point now) {
  return !holder || (holder->expires_at && now >= *holder->expires_at);
}

/// The claim's holder, if it has one at this time.
[[nodiscard]] inline std::optional<claim_holder> live(
    std::optional<claim_holder> holder, time_point now) {
  return is_free(holder, now) ? std::nullopt : std::move(holder);
}

}  // namespace bc::events::detail
