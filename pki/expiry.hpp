#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string_view>

namespace bc::pki {

/// From when on the first certificate of a PEM chain counts, and when it ends,
/// whatever its key is. INVALID_INPUT when the text holds none.
struct validity {
  time_point not_before;
  time_point not_after;
};
[[nodiscard]] result<validity> validity_of(std::string_view chain_pem);

/// When the first certificate of a PEM chain ends; as validity_of.
[[nodiscard]] result<time_point> not_after_of(std::string_view chain_pem);

}  // namespace bc::pki
