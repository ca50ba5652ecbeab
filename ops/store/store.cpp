#include "ops/store/store.hpp"

#include "events/postgres.hpp"
#include "events/postgres_journal.hpp"
#include "events/schema_fault.hpp"
#include "projections/projector.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace bc::store {

namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";
constexpr std::array<std::string_view, 2> postgres_schemes = {"postgres://",
                                                              "postgresql://"};
// What of a postgres URL's query may be seen; a password can stand there too.
constexpr std::array<std::string_view, 5> shown_options = {
    "host", "port", "dbname", "user", "sslmode"};

fault not_a_store(std::string_view why) {
  return fail(errc::invalid_input,
              "the store is one URL, sqlite:PATH or "
              "postgres://user@host:port/name; " +
                  std::string{why});
}

result<location> parse_sqlite(std::string_view rest) {
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.starts_with('/'))
      return not_a_store("after sqlite:// comes an absolute path");
  }
  if (rest.empty())
    return not_a_store("the path is empty");
  if (rest.find('\0') != std::string_view::npos)
    return not_a_store("the path has a zero byte");
  return location{kind::sqlite, std::string{rest}};
}

std::string shown_query(std::string_view query) {
  std::string out;
  while (!query.empty()) {
    auto end = std::min(query.find('&'), query.size());
    auto option = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    auto name = option.substr(0, option.find('='));
    if (std::find(shown_options.begin(), shown_options.end(), name) ==
        shown_options.end())
      continue;
    out += (out.empty() ? "?" : "&") + std::string{option};
  }
  return out;
}

// More may be taken for a password than is one, never less.
std::string shown_postgres(std::string_view url) {
  auto start = url.find("://") + 3;
  std::string out{url.substr(0, start)};
  auto rest = url.substr(start);
  if (auto at = rest.rfind('@'); at != std::string_view::npos) {
    auto user = rest.substr(0, at);
    auto colon = user.find(':');
    out += user.substr(0, colon);
    out += colon == std::string_view::npos ? "@" : ":***@";
    rest.remove_prefix(at + 1);
  }
  auto query = rest.find('?');
  out += rest.substr(0, query);
  if (query != std::string_view::npos)
    out += shown_query(rest.substr(query + 1));
  return out;
}

// What `migrate` would mend is told with the whole command.
fault advised(fault f, const location& where) {
  if (f.message.ends_with(events::migrate_advice))
    f.message += " --store " + shown(where);
  return f;
}

result<opened> open_sqlite(const location& where, const clock& time) {
  opened out;
  out.where = where;
  out.projector = projections::make_projector();
  BC_TRY(journal, events::open_made_sqlite_journal(where.target, time,
                                                   out.projector.get()));
  out.journal = std::move(journal);
  BC_TRY(queries, projections::open_queries(where.target));
  out.queries = std::move(queries);
  return out;
}

result<opened> open_postgres(const location& where) {
  opened out;
  out.where = where;
  BC_TRY(journal, events::open_postgres_journal(where.target));
  out.journal = std::move(journal);
  BC_TRY(queries, projections::open_postgres_queries(where.target));
  out.queries = std::move(queries);
  return out;
}

result<int> migrate_postgres(const std::string& url) {
  BC_TRY(done, events::migrate_postgres(url));
  BC_TRY(journal, events::open_postgres_journal(url));
  BC_TRY(db, postgres::connection::open(url, postgres::patience::endless));
  BC_TRYV(projections::renew(*db, *journal, done.rose));
  return done.version;
}

result<std::unique_ptr<events::journal>> open_journal(const location& where,
                                                      const clock& time) {
  if (where.what == kind::sqlite)
    return events::open_sqlite_reader(where.target, time);
  return events::open_postgres_journal(where.target);
}

}  // namespace

result<location> parse_url(std::string_view url) {
  if (url.starts_with(sqlite_scheme))
    return parse_sqlite(url.substr(sqlite_scheme.size()));
  for (auto scheme : postgres_schemes)
    if (url.starts_with(scheme) && url.size() > scheme.size())
      return location{kind::postgres, std::string{url}};
  // The text is not repeated: it may hold a password.
  return not_a_store("this is neither");
}

std::string shown(const location& where) {
  return where.what == kind::sqlite ? std::string{sqlite_scheme} + where.target
                                    : shown_postgres(where.target);
}

result<opened> open(const location& where, const clock& time) {
  auto out = where.what == kind::sqlite ? open_sqlite(where, time)
                                        : open_postgres(where);
  if (!out)
    return advised(std::move(out).error(), where);
  return out;
}

result<std::unique_ptr<events::journal>> open_reader(const location& where,
                                                     const clock& time) {
  auto out = open_journal(where, time);
  if (!out)
    return advised(std::move(out).error(), where);
  return out;
}

result<int> migrate(const location& where, const clock& time) {
  if (where.what == kind::sqlite) {
    auto projector = projections::make_projector();
    return events::migrate_sqlite(where.target, time, projector.get());
  }
  return migrate_postgres(where.target);
}

}  // namespace bc::store
