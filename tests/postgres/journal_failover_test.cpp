// The primary is lost and its standby promoted, while the store's URL names
// both (field case 161).
#include "tests/support/journal_suite.hpp"
#include "tests/support/known_outcome.hpp"
#include "tests/support/postgres_pair.hpp"
#include "tests/support/postgres_store.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <netinet/tcp.h>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

/// This process's connections to that port.
std::vector<int> sockets_to(int port) {
  std::vector<int> out;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
        at.sin_family == AF_INET && ntohs(at.sin_port) == port)
      out.push_back(fd);
  }
  return out;
}

template <class T>
bool is_away(const result<T>& answer) {
  return !answer && answer.error().code == errc::unavailable;
}

bool has_caught_up(const postgres_pair& pair) {
  return ask(pair.primary.url(),
             "select coalesce(bool_and(replay_lsn = pg_current_wal_lsn()), "
             "false) from pg_stat_replication") == "t";
}

/// A server that takes no new connection while this object lives.
class stopped_process {
 public:
  explicit stopped_process(const postgres_server& server) {
    std::ifstream{server.dir() + "/data/postmaster.pid"} >> pid_;
    REQUIRE(pid_ > 1);
    REQUIRE(::kill(pid_, SIGSTOP) == 0);
  }
  stopped_process(const stopped_process&) = delete;
  stopped_process& operator=(const stopped_process&) = delete;
  ~stopped_process() { ::kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
};

int option(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  REQUIRE(::getsockopt(fd, level, name, &value, &size) == 0);
  return value;
}

}  // namespace

TEST_CASE(
    "postgres journal: a synchronous standby that is promoted under load has "
    "all that was acknowledged, once (cases 159, 161)",
    "[postgres][journal]") {
  postgres_pair pair{"*"};
  migrated_schema schema{pair.url()};
  auto store = open_store(schema.url());
  constexpr int writers = 4, each = 40;
  won(append(*store, one("t:1", budgeting(open_budget("jt", 10'000)))));
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      for (int i = 0; i < each; ++i, ++count) {
        auto node = "n:" + std::to_string(w) + "-" + std::to_string(i);
        insist(*store, make_batch({on("t:1", {budgeting(spend("jt"))}),
                                   on(node, {event()}, 0)}));
      }
    });
  while (count < writers * each / 3)
    std::this_thread::sleep_for(1ms);
  pair.fail_over();
  for (auto& t : threads)
    t.join();
  CHECK(store->head().value().position == 1 + 2 * writers * each);
  CHECK(store->read_stream("t:1", 0, 10'000).value().size() ==
        1 + writers * each);
  check_verifies(*store);
}

TEST_CASE(
    "postgres journal: what came through a crash of the primary but not to "
    "its synchronous standby is not called done (cases 159, 161)",
    "[postgres][journal]") {
  postgres_pair pair{"*"};
  migrated_schema schema{pair.url()};
  auto opened = open_postgres_journal(schema.url(), {2s, 4s});
  REQUIRE(opened);
  auto& store = *opened.value();
  won(append(store, one("a:1")));
  pair.standby.stop("immediate");
  auto b = one("b:1");
  CHECK(is_away(store.append(std::vector{b})));
  CHECK(is_away(store.outcome(b.id)));
  // Recovery takes it for committed.
  pair.primary.restart("immediate");
  REQUIRE(ask(schema.url(), "select count(*) from batches") == "2");
  CHECK(is_away(store.outcome(b.id)));
  CHECK(is_away(store.append(std::vector{b})));
  SECTION("the standby has it once it is back") {
    pair.standby.start();
    CHECK(known_outcome(store, b.id));
    pair.fail_over();
    CHECK(known_outcome(store, b.id));
  }
  SECTION("the standby never had it") {
    pair.primary.stop("immediate");
    pair.standby.start();
    pair.standby.promote();
    CHECK_FALSE(known_outcome(store, b.id));
    won(append(store, b));
  }
  CHECK(store.head().value().position == 2);
  check_verifies(store);
}

TEST_CASE(
    "postgres journal: a server that lacks what was acknowledged is not taken "
    "for the store (case 161)",
    "[postgres][journal]") {
  postgres_pair pair{""};
  migrated_schema schema{pair.url()};
  auto store = open_store(schema.url());
  won(append(*store, one("a:1")));
  auto refuses = [&] {
    CHECK(is_away(store->append(std::vector{one("a:1")})));
    CHECK(is_away(store->read_all(0, 10)));
    CHECK(is_away(store->head()));
  };
  SECTION("a standby that was behind") {
    pair.standby.stop();
    won(append(*store, one("a:1")));
    pair.primary.stop("immediate");
    pair.standby.start();
    pair.standby.promote();
    refuses();
    CHECK(ask(schema.url(), "select position from head") == "1");
  }
  SECTION("a standby that was behind when this process only began") {
    pair.standby.stop();
    won(append(*store, one("a:1")));
    store = open_store(schema.url());
    pair.primary.stop("immediate");
    pair.standby.start();
    pair.standby.promote();
    refuses();
  }
  SECTION("an old primary that went on by itself") {
    REQUIRE(test::eventually([&] { return has_caught_up(pair); }));
    pair.standby.promote();
    auto newer = open_store(with_schema(pair.standby.url(), schema.name()));
    pair.primary.stop("immediate");
    won(append(*newer, one("b:1")));
    won(append(*store, one("c:1")));
    REQUIRE(store->head().value().position == 3);
    pair.primary.start();
    auto older = open_store(with_schema(pair.primary.url(), schema.name()));
    for (const auto* stream : {"d:1", "d:2"})
      won(append(*older, one(stream)));
    REQUIRE(older->head().value().position == 3);
    pair.standby.restart();
    refuses();
  }
  SECTION("an old primary that came back, until it is gone") {
    REQUIRE(test::eventually([&] { return has_caught_up(pair); }));
    pair.fail_over();
    won(append(*store, one("b:1")));
    pair.primary.start();
    pair.standby.restart();
    refuses();
    pair.primary.stop();
    won(append(*store, one("c:1")));
    CHECK(store->head().value().position == 3);
    check_verifies(*store);
  }
}

TEST_CASE(
    "postgres journal: a connection to an old primary, that idled while "
    "another took over, is not gone on with (case 161)",
    "[postgres][journal]") {
  postgres_pair pair{""};
  migrated_schema schema{pair.url()};
  auto store = open_store(schema.url() + "&application_name=this");
  won(append(*store, one("a:1")));
  REQUIRE(store->read_all(0, 10));
  REQUIRE(test::eventually([&] { return has_caught_up(pair); }));
  pair.standby.promote();
  auto newer = open_store(with_schema(pair.standby.url(), schema.name()));
  won(append(*newer, one("b:1")));
  auto old = connect(pair.primary.url());
  // No new connections: those that stand go on.
  stopped_process frozen{pair.primary};
  auto end = [&](const std::string& which) {
    const auto sql =
        "select count(pg_terminate_backend(pid)) from pg_stat_activity "
        "where application_name = 'this' and " +
        which;
    auto query = old->prepare(sql);
    REQUIRE(query);
    auto row = query.value().step();
    if (!row)
      FAIL(row.error().message << " " << row.error().detail);
    REQUIRE(query.value().number(0) == 1);
  };
  SECTION("by an append") {
    end("query not like 'commit%'");
    REQUIRE(store->read_all(1, 10).value().size() == 1);
    CHECK(won(append(*store, one("c:1"))).events.front().position == 3);
  }
  SECTION("by the tail") {
    end("query like 'commit%'");
    CHECK(won(append(*store, one("c:1"))).events.front().position == 3);
    won(append(*newer, one("d:1")));
    CHECK(store->read_all(3, 10).value().size() == 1);
  }
}

TEST_CASE(
    "postgres journal: a connection that nobody answers is found out in less "
    "than 30 s (case 161)",
    "[postgres][journal]") {
  const int port = free_port();
  postgres_server server{"listen_addresses=127.0.0.1 port=" +
                         std::to_string(port)};
  auto db = connect("postgres://postgres@127.0.0.1:" + std::to_string(port) +
                    "/postgres");
  auto sockets = sockets_to(port);
  REQUIRE(sockets.size() == 1);
  const int fd = sockets.front();
  CHECK(option(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
            option(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
                option(fd, IPPROTO_TCP, TCP_KEEPCNT) <
        30);
  CHECK(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) > 0);
  CHECK(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) <= 10'000);
}
