// DESIGN sections 3 and 4: the SQLite store across restarts, kills, a second
// opener, a full disk.
#include "tests/support/forked.hpp"
#include "tests/support/journal_suite.hpp"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using bc::testing::in_child;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat s {};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  return s.st_mode & 0777u;
}

}  // namespace

TEST_CASE("sqlite store: everything is there after reopening", "[sqlite]") {
  sqlite_store s;
  append(*s.store, {one("t:1", budgeting(open_budget("jt", 2))),
                    one("n:1", claiming(take("hw:1")))});
  auto b = one("n:1", budgeting(spend("jt")));
  append(*s.store, b);
  REQUIRE(s->add_dropped("r:1", 3));
  REQUIRE(s->save_snapshot("n:1", {2, 1, "{}"}));
  auto head = s->head().value();
  s.reopen();
  auto again = s->head().value();
  CHECK(again.position == head.position);
  CHECK(again.link == head.link);
  CHECK(again.incarnation == head.incarnation);
  CHECK(s->holder("hw:1").value()->stream == "n:1");
  CHECK(s->outcome(b.id).value()->events.size() == 1);
  CHECK(s->read_limiter("r:1").value().dropped == 3);
  CHECK(s->load_snapshot("n:1").value()->version == 2);
  won(append(*s.store, one("n:1", budgeting(spend("jt")), 2)));
  lost(append(*s.store, one("n:1", budgeting(spend("jt")))), unmet::budget);
  check_verifies(*s.store);
}

TEST_CASE("sqlite store: the files are for their owner alone", "[sqlite]") {
  temp_dir dir;
  auto path = dir.file("journal.db");
  manual_clock time{start};
  auto old = ::umask(0);
  auto opened = open_sqlite_journal(path, time, nullptr);
  ::umask(old);
  REQUIRE(opened);
  append(*opened.value(), one("a:1"));
  for (const char* suffix : {"", "-wal", "-shm", ".lock"})
    CHECK(mode_of(path + suffix) == 0600);
}

TEST_CASE("sqlite store: a kill at each step leaves all or nothing",
          "[sqlite]") {
  struct row {
    fault_point point;
    std::size_t events;  // afterwards
  };
  auto r = GENERATE(row{fault_point::store_before_append, 1},
                    row{fault_point::store_before_commit, 1},
                    row{fault_point::store_after_commit, 4});
  sqlite_store s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 2)))));
  s.close();
  auto first = make_batch(
      {on("n:1", {event({{take("hw:1")}, {spend("jt")}}), event()})});
  std::vector group{first, one("t:1")};
  auto code = in_child([&] {
    auto opened = open_sqlite_journal(s.path, s.time, nullptr);
    arm(r.point, fault_action::exit);
    static_cast<void>(opened.value()->append(group));
  });
  CHECK(code == 99);
  s.open();
  CHECK(everything(*s.store).size() == r.events);
  bool there = r.events > 1;
  CHECK(s->outcome(first.id).value().has_value() == there);
  CHECK(s->outcome(group[1].id).value().has_value() == there);
  CHECK(s->holder("hw:1").value().has_value() == there);
  check_verifies(*s.store);
  won(append(*s.store, group)[0]);
  CHECK(everything(*s.store).size() == 4);
  check_verifies(*s.store);
}

TEST_CASE("sqlite store: a second opener is told who has it", "[sqlite]") {
  sqlite_store s;
  auto second = open_sqlite_journal(s.path, s.time, nullptr);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == errc::invalid_state);
  CHECK_THAT(second.error().message,
             Catch::EndsWith("the store is in use by process " +
                             std::to_string(::getpid())));
  // Another process too.
  CHECK(in_child([&] {
          auto opened = open_sqlite_journal(s.path, s.time, nullptr);
          ::_exit(!opened && opened.error().code == errc::invalid_state ? 7
                                                                        : 8);
        }) == 7);
  s.close();
  CHECK(open_sqlite_journal(s.path, s.time, nullptr));
}

TEST_CASE("sqlite store: opening ends the lease of the last owner",
          "[sqlite]") {
  sqlite_store s;
  REQUIRE(s->acquire_lease("p1", 3600s).value());
  s.reopen();
  auto mine = s->acquire_lease("p2", 10s).value();
  REQUIRE(mine);
  CHECK(mine->epoch == 2);
}

TEST_CASE("sqlite store: a full disk is UNAVAILABLE and leaves nothing",
          "[sqlite]") {
  sqlite_store s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 9)))));
  s.close();
  auto big = make_batch({on("n:1", {event({{take("hw:1")}, {spend("jt")}},
                                          std::string(2'000'000, ' '))})});
  auto code = in_child([&] {
    auto opened = open_sqlite_journal(s.path, s.time, nullptr);
    auto& j = *opened.value();
    // Writes past the limit fail as on a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{500'000, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      ::_exit(1);
    std::vector group{one("x:1"), big};
    auto done = j.append(group);
    if (done || done.error().code != errc::unavailable)
      ::_exit(2);
    if (!j.read_stream("x:1", 0, 9).value().empty())
      ::_exit(3);
    if (j.outcome(big.id).value())
      ::_exit(4);
    // What fits still goes in.
    std::vector small{one("n:1", budgeting(spend("jt")), 0)};
    if (!j.append(small))
      ::_exit(5);
  });
  CHECK(code == 0);
  s.open();
  CHECK(everything(*s.store).size() == 2);
  CHECK_FALSE(s->holder("hw:1").value());
  check_verifies(*s.store);
  won(append(*s.store, big));
  check_verifies(*s.store);
}

TEST_CASE("sqlite store: reads go on while a writer has the store",
          "[sqlite]") {
  sqlite_store s;
  append(*s.store, one("a:1"));
  auto raw = sqlite::connection::open(s.path, sqlite::mode::read_write);
  REQUIRE(raw);
  REQUIRE(raw.value()->execute("begin immediate"));
  CHECK(everything(*s.store).size() == 1);
  CHECK(s->head().value().position == 1);
  check_verifies(*s.store);
  REQUIRE(raw.value()->execute("rollback"));
}

TEST_CASE("sqlite store: a path that cannot be opened is INVALID_CONFIG",
          "[sqlite]") {
  temp_dir dir;
  manual_clock time{start};
  auto none = open_sqlite_journal(dir.file("none/journal.db"), time, nullptr);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::invalid_config);
  std::filesystem::create_directory(dir.file("folder"));
  auto folder = open_sqlite_journal(dir.file("folder"), time, nullptr);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == errc::invalid_config);
}

TEST_CASE("sqlite store: the limit of a process on its files is a fault",
          "[sqlite]") {
  sqlite_store s;
  s.close();
  auto code = in_child([&] {
    std::signal(SIGXFSZ, SIG_DFL);
    auto opened = open_sqlite_journal(s.path, s.time, nullptr);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    auto all = limit.rlim_cur;
    limit.rlim_cur = 4096;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector group{one("a:1")};
    auto full = opened.value()->append(group);
    limit.rlim_cur = all;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto again = opened.value()->append(group);
    ::_exit(!full && full.error().code == errc::unavailable && again ? 7 : 8);
  });
  CHECK(code == 7);
  s.open();
  CHECK(everything(*s.store).size() == 1);
  check_verifies(*s.store);
}

TEST_CASE("sqlite store: claims are forgotten some time after their end",
          "[sqlite]") {
  sqlite_store s;
  auto claims = [&] {
    auto db = sqlite::connection::open(s.path, sqlite::mode::read_only);
    auto query = db.value()->prepare("select count(*) from claims").value();
    REQUIRE(query.step().value());
    return query.number(0);
  };
  for (int i = 0; i < 40; ++i) {
    auto name = std::to_string(i);
    won(append(*s.store, one("n:" + name,
                             claiming(take("answer:" + name, start + 600s)))));
  }
  won(append(*s.store, one("n:x", claiming(take("hw:1")))));
  CHECK(claims() == 41);
  s.time.advance(3600s);  // over, but a clock may be set back
  won(append(*s.store, one("a:1")));
  CHECK(claims() == 41);
  s.time.advance(601s);
  // A few with each group; one that holds is never touched.
  won(append(*s.store, one("a:1")));
  CHECK(claims() == 41 - 18);
  check_verifies(*s.store);
  won(append(*s.store, one("a:1")));
  won(append(*s.store, one("a:1")));
  CHECK(claims() == 1);
  CHECK(s->holder("hw:1").value()->stream == "n:x");
  won(append(*s.store, one("n:y", claiming(take("answer:1", start + 9000s)))));
  check_verifies(*s.store);
}
