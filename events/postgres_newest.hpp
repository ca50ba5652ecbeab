#pragma once

#include "events/journal.hpp"
#include "events/postgres.hpp"

#include <cstdint>
#include <mutex>
#include <string>

namespace bc::events::detail {

/// The newest event that this process was told is committed, and up to where it
/// knows that all is on the standby too. An old primary that came back, or a
/// standby that was promoted without all that its primary had, lacks it, and
/// must not be taken for the store: its news would be none, and positions would
/// be given twice. Thread-safe.
class postgres_newest {
 public:
  void know(const envelope& e);
  /// UNAVAILABLE when it is not on this connection's server; the connection is
  /// abandoned then.
  [[nodiscard]] result<void> check(postgres::connection& db);
  /// The same by the head's position, for who holds its lock.
  [[nodiscard]] result<void> check_head(postgres::connection& db,
                                        std::uint64_t position);

  /// A commit that came after all up to `position` was answered.
  void settle(std::uint64_t position);
  [[nodiscard]] bool is_settled(std::uint64_t position);

 private:
  std::mutex mutex_;
  std::uint64_t position_ = 0;
  std::string hash_;
  std::uint64_t settled_ = 0;
};

}  // namespace bc::events::detail
