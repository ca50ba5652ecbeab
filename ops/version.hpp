#pragma once

#include <string_view>

namespace bc {

/// The release, as `--version` and the well-known document tell it.
inline constexpr std::string_view version = "0.1.0";

}  // namespace bc
