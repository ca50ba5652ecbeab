#pragma once

#include "events/sql.hpp"
#include "projections/queries.hpp"

#include <functional>
#include <memory>

namespace bc::projections {

/// Where queries get a connection from.
class source {
 public:
  virtual ~source() = default;
  /// Calls `use` with a connection nobody else has meanwhile, and once more
  /// with a fresh one when the first turns out to be lost. Any thread.
  [[nodiscard]] virtual result<void> with(
      const std::function<result<void>(sql::connection&)>& use) = 0;
};

[[nodiscard]] std::unique_ptr<queries> make_queries(
    std::unique_ptr<source> from);

}  // namespace bc::projections
