#pragma once

#include "events/sql.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

/// How far the read models are, and what they leave out.
namespace bc::projections {

/// Of what this program writes into the read models. Moved on by one whenever
/// that changes: a table, a column, or what an event does to a row.
inline constexpr std::uint64_t written_version = 5;

struct checkpoint {
  std::uint64_t position = 0;  // of the last event that is in the read models
  std::uint64_t version = 0;   // of who wrote them; 0: nobody said so
};

/// Whether this program may add to the rows: they are such as it writes, or
/// there are none yet.
[[nodiscard]] constexpr bool is_ours(const checkpoint& at) {
  return at.position == 0 || at.version == written_version;
}
/// Whether an older program wrote them: `migrate` makes them anew.
[[nodiscard]] constexpr bool is_older(const checkpoint& at) {
  return !is_ours(at) && at.version < written_version;
}
/// What is to be said of read models that are not this program's, with advice.
[[nodiscard]] std::string not_ours(const checkpoint& at);

/// INTERNAL when there is none, or one of another shape.
[[nodiscard]] result<checkpoint> read_checkpoint(sql::connection& db);
/// The same, and until the transaction ends nobody else can move it: on
/// Postgres every writer of the read models comes by here first.
[[nodiscard]] result<checkpoint> lock_checkpoint(sql::connection& db);
/// To a position that this program has written; INTERNAL when the checkpoint is
/// not at `from` any more.
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
