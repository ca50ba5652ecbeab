#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string_view>

namespace bc::pki {

/// When the first certificate of a PEM chain ends, whatever its key is.
/// INVALID_INPUT when the text holds none.
[[nodiscard]] result<time_point> not_after_of(std::string_view chain_pem);

}  // namespace bc::pki
