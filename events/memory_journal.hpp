#pragma once

#include "events/journal.hpp"

#include <memory>

namespace bc::events {

/// A journal in memory, for tests; fault points make it fail at every step.
[[nodiscard]] std::unique_ptr<journal> make_memory_journal(const clock& time);

}  // namespace bc::events
