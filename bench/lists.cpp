#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/postgres.hpp"
#include "events/postgres_journal.hpp"
#include "events/sqlite.hpp"
#include "events/sqlite_journal.hpp"
#include "projections/projector.hpp"
#include "projections/queries.hpp"
#include "projections/tailer.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cstdlib>
#include <random>
#include <thread>

// What a list costs when there are many of a kind.
namespace bc::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t many_tokens = 1'000'000;
constexpr int page_size = 200;
constexpr double goal_ms = 10;

// Somewhere in the list, the same places for both.
std::vector<std::string> places_in(const std::vector<token>& tokens,
                                   std::size_t count) {
  std::mt19937 random{7};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(tokens[random() % tokens.size()].record.id.str());
  return out;
}

histogram timed(const std::vector<std::string>& places,
                const std::function<std::size_t(const std::string&)>& list) {
  histogram out;
  std::size_t rows = 0;
  for (const auto& after : places) {
    auto began = steady::now();
    rows += list(after);
    out.add(steady::now() - began);
  }
  // A list that finds nothing is fast.
  if (rows < places.size())
    give_up(fail(errc::internal, "the lists were empty"));
  return out;
}

// The same rows by their primary key, one prepared statement, no more.
histogram bare(sql::connection& db, const std::vector<std::string>& places) {
  return timed(places, [&](const std::string& after) {
    auto s =
        must(db.prepare("select * from join_tokens where id > ? "
                        "order by id limit 200"));
    s.bind(1, after);
    std::size_t rows = 0;
    while (must(s.step())) {
      static_cast<void>(s.text(0));
      ++rows;
    }
    return rows;
  });
}

histogram lists(projections::queries& q, const world& w,
                const std::vector<std::string>& places) {
  const auto now = bc::system_clock{}.now();
  return timed(places, [&](const std::string& after) {
    auto page = must(q.list_join_tokens(w.tenant.id.str(), w.pool.id.str(),
                                        false, now, after, page_size));
    return page.items.size();
  });
}

void show(report& out, const std::string& name, const histogram& ours,
          const histogram& bare) {
  const auto p99 = ours.percentile(99) / 1000;
  out.add(name + ": 200 rows by the primary key, p99",
          bare.percentile(99) / 1000, "ms");
  out.add(name + ": list of 200 live tokens, p50", ours.percentile(50) / 1000,
          "ms");
  out.add_ratio(name + ": the same, p99", p99, "ms", bare.percentile(99) / 1000,
                "by the primary key", p99 < goal_ms ? "" : "goal under 10 ms");
}

void on_sqlite(const settings& s, report& out) {
  temporary_folder folder;
  const std::string path = folder / "journal.db";
  bc::system_clock time;
  auto projector = projections::make_projector();
  auto w = make_world();
  auto store = must(events::open_sqlite_journal(path, time, projector.get()));
  found(w, *store);
  auto tokens = mint_tokens(w, *store, s.scaled(many_tokens), 1);
  auto places = places_in(tokens, s.scaled(10'000));
  auto queries = must(projections::open_queries(path));
  auto db = must(sqlite::connection::open(path, sqlite::mode::read_only));
  auto ours = lists(*queries, w, places);
  show(out, "SQLite", ours, bare(*db, places));
}

void on_postgres(const settings& s, report& out) {
  auto w = make_world();
  auto store = must(events::open_postgres_journal(s.postgres));
  found(w, *store);
  auto tokens = mint_tokens(w, *store, s.scaled(many_tokens), 1);
  auto lease = must(store->acquire_lease("bench-lists", seconds{86'400}));
  if (!lease)
    give_up(fail(errc::internal, "another has the lease"));
  const auto head = must(store->head()).position;
  auto tailer = projections::tailer::start(
      {s.postgres, *store, [&] { return std::optional{lease->epoch}; }, 200ms});
  tailer->wake();
  while (tailer->stats().position < head)
    std::this_thread::sleep_for(10ms);
  tailer->stop();
  (void)store->acquire_lease("bench-lists", seconds{0});
  auto db = must(postgres::connection::open(s.postgres));
  // As the server's own vacuum does, which has had no time yet.
  must(db->execute("analyze join_tokens"));
  auto places = places_in(tokens, s.scaled(10'000));
  auto queries = must(projections::open_postgres_queries(s.postgres));
  auto ours = lists(*queries, w, places);
  show(out, "Postgres", ours, bare(*db, places));
}

}  // namespace

void measure_lists(const settings& s, report& out) {
  out.section("Lists of " + std::to_string(s.scaled(many_tokens)) + " tokens");
  on_sqlite(s, out);
  if (!s.postgres.empty())
    on_postgres(s, out);
}

}  // namespace bc::bench
