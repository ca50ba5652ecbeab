#pragma once

#include "events/journal_chain.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace bc::events::detail {

/// Holds a walk over the rows to the signed checkpoints: those of the store or
/// export as the walk comes by, and those from outside. Also follows the
/// incarnation, which only checkpoints and the stream `journal` vouch for.
class checkpoint_check {
 public:
  explicit checkpoint_check(const verify_request& against);

  /// Signatures of those from outside; before the walk.
  [[nodiscard]] result<void> begin() const;
  /// After a row of the stream `journal`.
  [[nodiscard]] result<void> add_event(const envelope& e);
  /// At the end of each commit: those from outside that end here.
  [[nodiscard]] result<void> at_commit(const chain_point& end);
  /// One of the store's own, which must end here.
  [[nodiscard]] result<void> stored(const checkpoint& c,
                                    const chain_point& end);
  /// A checkpoint that lies after the last row.
  [[nodiscard]] static fault beyond(const checkpoint& c, std::uint64_t last,
                                    bool outside);
  /// At the end of the walk, with the incarnation that the head says.
  [[nodiscard]] result<void> finish(const chain_point& end,
                                    const incarnation_id& head);

 private:
  [[nodiscard]] result<void> compare(const checkpoint& c,
                                     const chain_point& end, bool outside);
  [[nodiscard]] result<void> has_incarnation(std::uint64_t position,
                                             const incarnation_id& said);

  const verify_request& against_;
  std::vector<checkpoint> outside_;  // by position
  std::size_t next_ = 0;             // of outside_
  std::uint64_t good_ = 0;           // the last checkpoint that held
  std::optional<incarnation_id> incarnation_;
  std::uint64_t since_ = 0;  // the row that began it, when one did
};

}  // namespace bc::events::detail
