#pragma once

#include "events/journal_ledger.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What a check of the journal says, and the part that follows from the rows
/// alone: their hashes and the links of their commits. Over a store, over an
/// export, and before a checkpoint is signed.
namespace bc::events::detail {

/// INTERNAL, "the journal does not verify: …".
[[nodiscard]] fault does_not_verify(std::string what);
/// The same for one row: "… row N …".
[[nodiscard]] fault bad_row(std::uint64_t position, const std::string& what);

/// The end of a commit.
struct chain_point {
  std::uint64_t position = 0;
  std::uint64_t commit = 0;
  std::string link;
};

/// Follows the rows of a journal in order, from its start or from the end of
/// any commit.
class row_chain {
 public:
  /// What is done at the end of each commit; `first` is its first row.
  using commit_function =
      std::function<result<void>(const chain_point& end, std::uint64_t first)>;

  row_chain(chain_point from, commit_function on_commit)
      : end_(std::move(from)),
        position_(end_.position),
        commit_(end_.commit),
        on_commit_(std::move(on_commit)) {}

  /// The next row and the hash of what it holds; ends the commit before it
  /// when it begins another. INTERNAL when it is not what must follow.
  [[nodiscard]] result<void> add(const envelope& e, std::string hash);
  /// Ends the last commit.
  [[nodiscard]] result<void> finish();

  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// The commit of the last row, which may not have ended.
  [[nodiscard]] std::uint64_t commit() const { return commit_; }
  /// The last commit that ended.
  [[nodiscard]] const chain_point& end() const { return end_; }
  [[nodiscard]] time_point time() const { return time_; }

 private:
  chain_point end_;
  std::uint64_t position_;
  std::uint64_t commit_;
  time_point time_{};
  std::vector<std::string> hashes_;  // of the open commit
  commit_function on_commit_;
};

}  // namespace bc::events::detail
