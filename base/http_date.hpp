#pragma once

#include "base/clock.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace bc {

/// An HTTP date (RFC 9110 section 5.6.7): Sun, 06 Nov 1994 08:49:37 GMT.
[[nodiscard]] std::string http_date(time_point t);
/// Reads that form alone; nullopt for another, and for what is before 1970.
[[nodiscard]] std::optional<time_point> from_http_date(std::string_view text);

}  // namespace bc
