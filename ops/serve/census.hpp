#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "projections/queries.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bc::serve {

/// What the read models say of all nodes together, of every tenant.
struct census {
  /// Nodes with a session, for each gateway that has any.
  std::vector<std::pair<std::string, std::uint64_t>> sessions;
  /// Nodes whose certificate in force ends so soon.
  std::uint64_t ending_in_1h = 0;
  std::uint64_t ending_in_6h = 0;
  /// Commands without an outcome whose time is not up.
  std::uint64_t commands = 0;
};

/// Blocks; each count walks an index over what it counts.
[[nodiscard]] result<census> take_census(projections::queries& from,
                                         time_point now);

}  // namespace bc::serve
