#pragma once

#include "events/sql.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

/// How far the read models are, and what they leave out.
namespace bc::projections {

/// The position of the last event that is in the read models.
[[nodiscard]] result<std::uint64_t> read_checkpoint(sql::connection& db);
/// The same, and until the transaction ends nobody else can move it: on
/// Postgres every writer of the read models comes by here first.
[[nodiscard]] result<std::uint64_t> lock_checkpoint(sql::connection& db);
/// INTERNAL when the checkpoint is not at `from` any more.
[[nodiscard]] result<void> move_checkpoint(sql::connection& db,
                                           std::uint64_t from,
                                           std::uint64_t to);

/// A stream whose event could not be applied: nothing of it is applied from
/// that event on.
struct parked_stream {
  std::uint64_t position = 0;
  std::string reason;
};
using parked_streams = std::map<std::string, parked_stream, std::less<>>;

[[nodiscard]] result<parked_streams> load_parked(sql::connection& db);
[[nodiscard]] result<void> add_parked(sql::connection& db,
                                      const parked_streams& parked);
/// These, and no others.
[[nodiscard]] result<void> replace_parked(sql::connection& db,
                                          const parked_streams& parked);

}  // namespace bc::projections
