#pragma once

#include "events/journal.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace bc::events::kafka {

/// Single events of a journal by position, read in blocks of which a few are
/// kept: partitions are read side by side, each of them nearly in order.
class journal_window {
 public:
  explicit journal_window(journal& store) : store_(store) {}

  /// nullptr beyond the head; valid until the next call.
  [[nodiscard]] result<const envelope*> find(std::uint64_t position);

 private:
  static constexpr std::uint64_t block_size = 512;
  static constexpr std::size_t max_blocks = 64;

  journal& store_;
  std::uint64_t head_ = 0;  // when last asked
  std::map<std::uint64_t, std::vector<envelope>> blocks_;
  std::deque<std::uint64_t> age_;
};

}  // namespace bc::events::kafka
