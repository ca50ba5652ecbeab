#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/memory_journal.hpp"
#include "events/postgres_journal.hpp"
#include "events/sqlite.hpp"
#include "events/sqlite_journal.hpp"
#include "events/stream_fold.hpp"
#include "events/streams.hpp"
#include "tests/support/temporary_folder.hpp"

#include <filesystem>
#include <map>
#include <unistd.h>

namespace bc::bench {

namespace {

constexpr std::size_t group_size = 512;

double seconds_of(const std::function<void()>& work) {
  auto began = steady::now();
  work();
  return std::chrono::duration<double>(steady::now() - began).count();
}

std::vector<events::batch> redemptions(const world& w, const token& t,
                                       std::size_t count) {
  std::vector<events::batch> out;
  auto now = bc::system_clock{}.now();
  for (std::size_t i = 0; i < count; ++i) {
    events::batch b;
    b.id = pki::mint<batch_id>(now);
    b.actor = "machine";
    b.correlation = "req_bench";
    auto node = pki::mint<node_id>(now);
    b.writes.push_back(
        {events::stream_of(t.record.id),
         w.tenant.id.str(),
         std::nullopt,
         {events::join_token::encode(events::join_token::redeemed{
              t.record.id, node, std::string(64, 'a')}),
          events::join_token::encode(events::join_token::redeemed{
              t.record.id, node, std::string(64, 'b')})}});
    out.push_back(std::move(b));
  }
  return out;
}

double append_rate(const world& w, events::journal& store,
                   std::size_t events_wanted) {
  auto tokens =
      mint_tokens(w, store, 1, static_cast<std::int64_t>(events_wanted) + 1024);
  std::vector<std::vector<events::batch>> groups;
  for (std::size_t n = 0; n < events_wanted; n += 2 * group_size)
    groups.push_back(redemptions(w, tokens.front(), group_size));
  auto spent = seconds_of([&] {
    for (auto& g : groups)
      append_all(store, std::move(g));
  });
  return static_cast<double>(groups.size() * 2 * group_size) / spent;
}

// Events a second, and for each CPU-second of this process, which the machine's
// neighbours change less.
struct pace {
  double wall = 0;
  double cpu = 0;
};

struct replayed {
  pace read;    // read alone
  pace folded;  // read and folded
};

// The events after `from`.
replayed replay(events::journal& store, std::uint64_t from) {
  auto pass = [&](bool fold) {
    std::map<std::string, std::unique_ptr<events::stream_fold>, std::less<>>
        folds;
    std::uint64_t at = from;
    auto cpu = cpu_seconds();
    auto spent = seconds_of([&] {
      for (;;) {
        auto page = store.read_all(at, 4096);
        if (!page || page.value().empty())
          return;
        at = page.value().back().position;
        if (fold)
          for (const auto& e : page.value()) {
            auto& f = folds[e.stream];
            if (!f)
              f = events::make_stream_fold(e.stream);
            if (f)
              (void)f->apply(e);
          }
      }
    });
    auto events = static_cast<double>(at - from);
    return pace{events / spent, events / (cpu_seconds() - cpu)};
  };
  replayed r;
  r.read = pass(false);
  r.folded = pass(true);
  return r;
}

// The same rows, one prepared insert each, a transaction for each group.
double bare_sqlite(const std::string& path, std::size_t rows) {
  auto db = std::move(sqlite::connection::open(path, sqlite::mode::read_write))
                .value();
  must(db->execute(
      "create table bare (position integer primary key, commit_no integer,"
      " stream text, version integer, type text, type_version integer,"
      " tenant text, time_ms integer, actor text, correlation text,"
      " data text, internal text, hash text, batch text,"
      " unique (stream, version))"));
  std::string text(180, 'x'), hash(64, 'f');
  std::int64_t at = 0;
  auto spent = seconds_of([&] {
    while (at < static_cast<std::int64_t>(rows)) {
      must(db->execute("begin immediate"));
      for (std::size_t i = 0; i < 2 * group_size; ++i) {
        ++at;
        auto s = std::move(db->prepare("insert into bare values "
                                       "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"))
                     .value();
        s.bind(1, at).bind(2, at).bind(3, "join_token:bench").bind(4, at);
        s.bind(5, "security.join-token.redeemed").bind(6, std::int64_t{1});
        s.bind(7, "ten_bench").bind(8, at).bind(9, "machine");
        s.bind(10, "req_bench").bind(11, text).bind(12, "{}").bind(13, hash);
        s.bind(14, "bat_bench");
        must(s.run());
      }
      must(db->execute("commit"));
    }
  });
  return static_cast<double>(at) / spent;
}

double bare_postgres(const std::string& url, std::size_t rows) {
  auto db = std::move(postgres::connection::open(url)).value();
  must(db->execute(
      "drop table if exists bare; create table bare (position bigint primary "
      "key, commit_no bigint, stream text collate \"C\", version bigint, type"
      " text, type_version bigint, tenant text, time_ms bigint, actor text,"
      " correlation text, data text, internal text, hash text, batch text,"
      " unique (stream, version))"));
  std::size_t at = 0;
  auto spent = seconds_of([&] {
    while (at < rows) {
      auto s = std::move(db->prepare(
                             "insert into bare select n, n, 'join_token:bench',"
                             " n, 'security.join-token.redeemed', 1,"
                             " 'ten_bench', n, 'machine', 'req_bench',"
                             " repeat('x', 180), '{}', repeat('f', 64),"
                             " 'bat_bench' from generate_series(?1::bigint,"
                             " ?2::bigint) n"))
                   .value();
      s.bind(1, static_cast<std::int64_t>(at + 1))
          .bind(2, static_cast<std::int64_t>(at + 2 * group_size));
      must(s.run());
      at += 2 * group_size;
    }
  });
  must(db->execute("drop table bare"));
  return static_cast<double>(at) / spent;
}

void show(report& out, const std::string& name, double append, double bare,
          const replayed& r) {
  out.add(name + ": bare inserts, same rows", bare, "events/s");
  out.add_ratio(name + ": append, groups of 512 x 2", append, "events/s", bare,
                "bare inserts", append >= 50'000 ? "" : "goal 50,000");
  out.add(name + ": read_all", r.read.wall, "events/s");
  out.add_ratio(name + ": replay, read and folded", r.folded.wall, "events/s",
                r.read.wall, "read_all",
                r.folded.wall >= 500'000 ? "" : "goal 500,000");
  out.add(name + ": read_all", r.read.cpu, "events/CPU-s");
  out.add_ratio(name + ": replay, read and folded", r.folded.cpu,
                "events/CPU-s", r.read.cpu, "read_all");
}

}  // namespace

void measure_journal(const settings& s, report& out) {
  out.section("Journal");
  bc::system_clock time;
  auto w = make_world();
  auto n = s.scaled(100'000);
  {
    auto store = events::make_memory_journal(time);
    found(w, *store);
    auto append = append_rate(w, *store, n);
    auto r = replay(*store, 0);
    out.add("memory: append, groups of 512 x 2", append, "events/s");
    out.add("memory: replay, read and folded", r.folded.wall, "events/s",
            r.folded.wall >= 500'000 ? "" : "goal 500,000");
    out.add("memory: replay, read and folded", r.folded.cpu, "events/CPU-s");
  }
  {
    temporary_folder folder;
    const std::string path = folder / "journal.db";
    auto store =
        std::move(events::open_sqlite_journal(path, time, nullptr)).value();
    found(w, *store);
    auto append = append_rate(w, *store, n);
    auto r = replay(*store, 0);
    auto bare = bare_sqlite(folder / "bare.db", n);
    show(out, "SQLite", append, bare, r);
  }
  if (s.postgres.empty())
    return;
  auto store = std::move(events::open_postgres_journal(s.postgres)).value();
  found(w, *store);
  auto before = must(store->head()).position;
  auto append = append_rate(w, *store, n);
  auto r = replay(*store, before);
  show(out, "Postgres", append, bare_postgres(s.postgres, n), r);
}

}  // namespace bc::bench
