#pragma once

#include "base/json.hpp"

#include <string>

namespace bc::cli {

/// A CloudEvents object as one readable line: time, type, and each field of
/// its data as name=value; nothing of it moves a terminal's cursor.
[[nodiscard]] std::string event_line(const json::value& event);

}  // namespace bc::cli
