#pragma once

#include "base/ids.hpp"
#include "events/refused_join.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bc::actors {

using refused_joins = std::shared_ptr<const std::vector<events::refused_join>>;

/// Refusals on their way to the index (events/refused_join.hpp), bounded for
/// each owner and reason and all together: what is over a bound drops the
/// oldest of its own kind. At most one batch is under way, and one whose
/// outcome is not known is given again as it was. No clock, no I/O.
class refusal_backlog {
 public:
  /// Of one owner and reason.
  static constexpr std::size_t most_of_a_kind = 256;
  static constexpr std::size_t most = 8'192;
  static constexpr std::size_t most_in_batch = 1'024;

  struct batch {
    batch_id id;
    refused_joins refused;
  };

  /// One that is refused like one that waits is counted with it.
  void add(events::refused_join r);

  /// The batch to write now, each kind in its turn; `fresh` is the id of a new
  /// one. nullopt while one is under way, and when nothing waits.
  [[nodiscard]] std::optional<batch> next(batch_id fresh);
  /// It is in the index.
  void written();
  /// Perhaps not: next() gives it again.
  void lost();
  /// It never will be: counted as dropped.
  void give_up();

  [[nodiscard]] bool empty() const { return size_ == 0 && !sent_; }
  /// How many rows wait.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// How many attempts were dropped so far.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  using kind = std::pair<std::string, std::string>;  // owner, reason
  using queue = std::deque<events::refused_join>;
  using queues = std::map<kind, queue>;

  void drop_oldest(queues::iterator of);
  void make_room();
  [[nodiscard]] std::vector<events::refused_join> take();

  queues waiting_;
  kind last_taken_;
  std::size_t size_ = 0;
  std::uint64_t dropped_ = 0;
  std::optional<batch> sent_;
  bool under_way_ = false;
};

}  // namespace bc::actors
