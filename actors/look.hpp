#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bc::actors {

/// What a fault means to an actor that looks at one thing after the other:
/// true, the look ends, and the next finds the same. That is so while the store
/// is away, and when nothing was looked at yet (`about` is empty). Otherwise
/// this one thing cannot be read, and must not hold up the others: false, and
/// said once. Any thread.
[[nodiscard]] bool ends_look(std::string_view what, const std::string& about,
                             const fault& f);

}  // namespace bc::actors
