#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"
#include "events/sqlite_journal.hpp"
#include "projections/queries.hpp"

#include <memory>
#include <string>
#include <string_view>

/// A store named by one URL: sqlite:PATH, or postgres://…
namespace bc::store {

enum class kind { sqlite, postgres };

struct location {
  kind what = kind::sqlite;
  std::string target;  // the path, or the whole postgres URL
};
/// INVALID_INPUT for any other scheme, and for an empty path.
[[nodiscard]] result<location> parse_url(std::string_view url);
/// The URL without its password, for messages and logs.
[[nodiscard]] std::string shown(const location& where);

/// An open store. On SQLite the read models are kept inside each append; on
/// Postgres a tailing projector does it (projections/tailer.hpp), which the
/// server starts.
struct opened {
  location where;
  std::unique_ptr<events::inline_projector> projector;  // null on Postgres
  std::unique_ptr<events::journal> journal;
  std::unique_ptr<projections::queries> queries;
};

/// Opens for a server or a command that writes. On SQLite this takes the
/// exclusive lock. INVALID_STATE for a store that was never made ("run
/// better-compute migrate"), is of an older schema or on Postgres has read
/// models that an older program wrote (the same), or is of a newer schema.
[[nodiscard]] result<opened> open(const location& where, const clock& time);

/// Opens for a command that only reads (verify, export, replay): the store may
/// be in use by a server meanwhile, and no lock is taken. INVALID_STATE as
/// open(), and from every call that would write.
[[nodiscard]] result<std::unique_ptr<events::journal>> open_reader(
    const location& where, const clock& time);

/// Makes the store or brings it to this program's schema; answers the version.
[[nodiscard]] result<int> migrate(const location& where, const clock& time);

}  // namespace bc::store
