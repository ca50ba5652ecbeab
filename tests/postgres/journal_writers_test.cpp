// DESIGN section 3: several writers on one store, and readers that trust the
// order.
#include "tests/support/forked.hpp"
#include "tests/support/journal_suite.hpp"
#include "tests/support/postgres_store.hpp"

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;
using namespace bc::testing;

namespace {

/// Follows the journal as a publisher does: a position that is not one more
/// than the last is a hole.
class tail {
 public:
  explicit tail(const std::string& url) : store_(open_store(url)) {}
  ~tail() { finish(); }

  void start() {
    reader_ = std::thread{[this] {
      while (!stop_ || step()) {
        if (!step())
          std::this_thread::sleep_for(1ms);
      }
    }};
  }
  void finish() {
    stop_ = true;
    if (reader_.joinable())
      reader_.join();
  }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] bool has_hole() const { return hole_; }

 private:
  bool step() {
    auto page = store_->read_all(last_, 500);
    if (!page)
      return false;
    for (const auto& e : page.value()) {
      if (e.position != last_ + 1)
        hole_ = true;
      last_ = e.position;
    }
    return !page.value().empty();
  }

  std::unique_ptr<journal> store_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> hole_{false};
  std::atomic<std::uint64_t> last_{0};
  std::thread reader_;
};

/// Appends this many events in groups of odd sizes, with pauses of no
/// regularity.
int write_some(journal& j, int writer, int events) {
  std::minstd_rand random{static_cast<unsigned>(writer + 1)};
  int written = 0;
  while (written < events) {
    std::vector<batch> group;
    for (auto n = random() % 5 + 1; n > 0 && written < events; --n, ++written)
      group.push_back(one("w:" + std::to_string(writer)));
    if (!j.append(group))
      return -1;
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 3000});
  }
  return written;
}

void many_writers(int writers, int each) {
  migrated_schema schema;
  // Two journals as two processes would have, shared by the threads.
  auto first = open_store(schema.url());
  auto second = open_store(schema.url());
  tail reader{schema.url()};
  reader.start();
  std::atomic<int> written{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < writers; ++i)
    threads.emplace_back([&, i] {
      written += write_some(i % 2 == 0 ? *first : *second, i, each);
    });
  for (auto& t : threads)
    t.join();
  reader.finish();
  CHECK(written == writers * each);
  CHECK(!reader.has_hole());
  CHECK(reader.last() == static_cast<std::uint64_t>(writers * each));
  CHECK(first->head().value().position == reader.last());
  check_verifies(*second);
}

}  // namespace

TEST_CASE(
    "postgres journal: 32 writers, and a reader that never misses one "
    "(case 157)",
    "[postgres][journal]") {
  many_writers(32, 100);
}

TEST_CASE("postgres journal: 32 writers and 100,000 events (case 157)",
          "[.long][postgres][journal]") {
  many_writers(32, 3125);
}

TEST_CASE("postgres journal: writers in processes of their own",
          "[postgres][journal]") {
  migrated_schema schema;
  run_script(schema.url(), "select 1");
  constexpr int processes = 3, each = 150;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto store = open_postgres_journal(schema.url());
      ::_exit(store && write_some(*store.value(), i, each) == each ? 0 : 1);
    }
    children.push_back(child);
  }
  tail reader{schema.url()};
  reader.start();
  for (auto child : children) {
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  reader.finish();
  CHECK(!reader.has_hole());
  CHECK(reader.last() == processes * each);
  check_verifies(*open_store(schema.url()));
}

TEST_CASE(
    "postgres journal: a process that dies between lock and commit holds "
    "up nobody",
    "[postgres][journal]") {
  postgres_store s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 1)))));
  auto b = one("t:1", budgeting(spend("jt")));
  auto code = in_child([&] {
    arm(fault_point::store_before_commit, fault_action::exit);
    auto store = open_postgres_journal(s.schema.url());
    if (store)
      static_cast<void>(store.value()->append(std::vector{b}));
  });
  CHECK(code != 0);
  CHECK(!s->outcome(b.id).value());
  won(append(*s.store, one("t:1", budgeting(spend("jt")))));
  check_verifies(*s.store);
}

TEST_CASE("postgres journal: one use is admitted once by two processes",
          "[postgres][journal]") {
  migrated_schema schema;
  auto first = open_store(schema.url());
  auto second = open_store(schema.url());
  constexpr int uses = 20;
  won(append(*first, one("t:1", budgeting(open_budget("jt", uses)))));
  std::atomic<int> admitted{0}, refused{0}, faults{0};
  auto join = [&](journal& j, const std::string& name) {
    for (int i = 0; i < 30; ++i) {
      auto done = j.append(std::vector{
          make_batch({on("t:1", {budgeting(spend("jt"))}),
                      on(name + std::to_string(i), {event()}, 0)})});
      if (!done)
        ++faults;
      else
        ++(std::holds_alternative<appended>(done.value()[0]) ? admitted
                                                             : refused);
    }
  };
  std::thread a{[&] { join(*first, "n:a"); }};
  std::thread b{[&] { join(*second, "n:b"); }};
  a.join();
  b.join();
  CHECK(faults == 0);
  CHECK(admitted == uses);
  CHECK(refused == 60 - uses);
  check_verifies(*first);
}

TEST_CASE("postgres journal: all that is written at once never deadlocks",
          "[postgres][journal]") {
  migrated_schema schema;
  auto first = open_store(schema.url());
  auto second = open_store(schema.url());
  won(append(*first, one("t:1", budgeting(open_budget("jt", 1'000'000)))));
  std::atomic<int> faults{0};
  auto check = [&](bool good) { faults += good ? 0 : 1; };
  auto mixed = [&](journal& j, int seed) {
    std::minstd_rand random{static_cast<unsigned>(seed)};
    for (int i = 0; i < 60; ++i) {
      // The same names in another order each time.
      std::vector<batch> group;
      for (int n = 0; n < 6; ++n) {
        auto node = "n:" + std::to_string(random() % 8);
        auto claim = "hw:" + std::to_string(random() % 8);
        group.push_back(make_batch(
            {on("t:1", {budgeting(spend("jt"))}),
             on(node, {claiming(random() % 2 == 0 ? take(claim)
                                                  : release(claim))})}));
      }
      check(bool{j.append(group)});
      check(bool{j.add_dropped("refusal:1", 1)});
      check(bool{j.save_snapshot("n:1", {1, 1, "{}"})});
      check(bool{j.acquire_lease("p" + std::to_string(seed), 1s)});
      check(bool{j.read_limiter("refusal:1")});
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] { mixed(i % 2 == 0 ? *first : *second, i); });
  for (auto& t : threads)
    t.join();
  CHECK(faults == 0);
  CHECK(first->read_limiter("refusal:1").value().dropped == 360);
  check_verifies(*first);
}
