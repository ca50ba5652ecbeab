#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// What every store says of a schema that `migrate` would mend.
namespace bc::events {

inline constexpr std::string_view migrate_advice =
    "; run better-compute migrate";

/// INVALID_STATE, ending in migrate_advice: the store was never made (schema
/// 0), or is of an older schema than the program needs.
[[nodiscard]] inline fault needs_migration(std::int64_t found,
                                           std::int64_t needed) {
  auto what = found == 0 ? std::string{"the store was never made"}
                         : "the store has schema " + std::to_string(found) +
                               ", this program needs " + std::to_string(needed);
  return fail(errc::invalid_state, what.append(migrate_advice));
}

}  // namespace bc::events
