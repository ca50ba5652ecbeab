#pragma once

#include "base/clock.hpp"
#include "projections/queries.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// A list of join requests is several walks of an index, put together by id:
/// each of one scope, and of one state with a span of ends.
namespace bc::projections {

struct request_walk {
  std::string scope;
  std::string state;  // empty: whatever it is
  std::int64_t ends_after = 0;
  std::int64_t ends_until = 0;
};

/// In this order, which loses no request that moves on between two walks: from
/// the site to the pool, and from what has ended to what is marked so. Nothing
/// for a state that there is not.
[[nodiscard]] std::vector<request_walk> walks_of(const request_filter& which);

/// Pages of the same place and limit as one. Of a request that is in two, the
/// later walk's row counts.
[[nodiscard]] page<join_request_row> merged(
    std::vector<page<join_request_row>> walks, int limit);

}  // namespace bc::projections
