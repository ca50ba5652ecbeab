#pragma once

#include "base/result.hpp"
#include "ops/cli/table.hpp"

#include <string>

namespace bc::cli {

/// What standard output is: a terminal of some width with colours (unless
/// NO_COLOR or TERM=dumb), or a file or pipe, which has neither.
[[nodiscard]] presentation presentation_of_output(bool utc);

/// Agreement to what cannot be taken back: `yes` (--yes), or the answer "yes"
/// to the question at a terminal. INVALID_INPUT otherwise.
[[nodiscard]] result<void> confirm(bool yes, const std::string& question);

}  // namespace bc::cli
