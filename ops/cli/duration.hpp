#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string_view>

namespace bc::cli {

/// Whole seconds as s, m, h and their sums in that falling order: 90s, 15m,
/// 1h30m. Anything else (a bare number, a fraction, ms, d, a sign, a blank, an
/// upper-case unit, a unit twice) is INVALID_INPUT.
[[nodiscard]] result<seconds> parse_duration(std::string_view text);

}  // namespace bc::cli
