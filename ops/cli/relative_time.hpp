#pragma once

#include "base/clock.hpp"

#include <string>

namespace bc::cli {

/// How long ago a moment is, or in how long it comes, in its largest whole
/// unit: "now", "12s ago", "in 59m", "3h ago", "2d ago"; the date from 100 days
/// on.
[[nodiscard]] std::string relative_time(time_point at, time_point now);

}  // namespace bc::cli
