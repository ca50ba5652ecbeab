#pragma once

#include "events/journal.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace bc::events::testing {

/// Until the outcome is known, as the journal writer does.
inline std::optional<appended> known_outcome(journal& j, const batch_id& id) {
  for (;;) {
    auto found = j.outcome(id);
    if (found)
      return std::move(found).value();
    REQUIRE(found.error().code == errc::unavailable);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
}

/// Appends until it is in, by the rule of DESIGN section 3: what is not known
/// is looked up, and what is not there is tried again.
inline void insist(journal& j, const batch& b) {
  while (!j.append(std::vector{b}) && !known_outcome(j, b.id)) {
  }
}

}  // namespace bc::events::testing
