#pragma once

#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "events/journal.hpp"
#include "events/memory_journal.hpp"
#include "events/sqlite_journal.hpp"
#include "pki/digest.hpp"
#include "tests/support/temporary_folder.hpp"
#ifdef BC_TEST_ON_POSTGRES
#include "tests/support/postgres_store.hpp"
#endif

#include <catch2/catch.hpp>

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

/// What the conformance suite of the journal stores is written with.
namespace bc::events::testing {

using namespace std::chrono_literals;

inline const time_point start = from_millis(1'800'000'000'000);

/// A folder for one test, in memory where the machine has such a place: what
/// the tests assert does not need a disk's flush.
class temp_dir {
 public:
  [[nodiscard]] std::string file(const char* name) const {
    return (folder_ / name).string();
  }

 private:
  temporary_folder folder_{quick_parent()};
};

/// A store with a clock of its own; no fault point stays armed.
struct memory_store {
  manual_clock time{start};
  std::unique_ptr<journal> store = make_memory_journal(time);
  ~memory_store() { disarm_all(); }
  journal* operator->() const { return store.get(); }
};

struct sqlite_store {
  temp_dir dir;
  std::string path = dir.file("journal.db");
  manual_clock time{start};
  std::unique_ptr<journal> store;

  sqlite_store() { open(); }
  ~sqlite_store() { disarm_all(); }
  void open(inline_projector* projector = nullptr) {
    auto opened = open_sqlite_journal(path, time, projector);
    if (!opened)
      FAIL(opened.error().message << " " << opened.error().detail);
    store = std::move(opened).value();
  }
  void close() { store.reset(); }
  void reopen(inline_projector* projector = nullptr) {
    close();
    open(projector);
  }
  journal* operator->() const { return store.get(); }
};

/// The stores the suite runs on: this program's, or those of postgres_tests,
/// which is built of the same files.
#ifdef BC_TEST_ON_POSTGRES
#define JOURNAL_STORES postgres_store
#else
#define JOURNAL_STORES memory_store, sqlite_store
#endif

inline claim_move take(std::string claim,
                       std::optional<time_point> until = std::nullopt) {
  return {claim_move::kind::take, std::move(claim), until};
}
inline claim_move release(std::string claim) {
  return {claim_move::kind::release, std::move(claim), std::nullopt};
}
inline budget_move open_budget(std::string name, std::int64_t amount) {
  return {budget_move::kind::open, std::move(name), amount};
}
inline budget_move spend(std::string name, std::int64_t amount = 1) {
  return {budget_move::kind::spend, std::move(name), amount};
}
inline budget_move close_budget(std::string name) {
  return {budget_move::kind::close, std::move(name), 0};
}

/// Writes the moves into the event, so that moves_in() finds them there.
inline std::string moves_text(const moves& m) {
  json::writer w;
  w.begin_object().key("moves").begin_array();
  for (const auto& c : m.claims) {
    auto until = c.expires_at ? to_millis(*c.expires_at) : -1;
    w.text((c.what == claim_move::kind::take ? "take " : "release ") +
           std::to_string(until) + " " + c.claim);
  }
  for (const auto& b : m.budgets) {
    const char* names[] = {"open ", "spend ", "close "};
    w.text(names[static_cast<int>(b.what)] + std::to_string(b.amount) + " " +
           b.budget);
  }
  w.end_array().end_object();
  return w.str();
}

/// The effect function of these tests.
inline result<moves> moves_in(const envelope& e) {
  BC_TRY(document, json::parse_object(e.internal));
  BC_TRY(texts, json::reader{document}.texts("moves"));
  moves m;
  for (const auto& text : texts) {
    std::istringstream in{text};
    std::string verb, name;
    std::int64_t number = 0;
    in >> verb >> number >> name;
    if (verb == "take")
      m.claims.push_back(number < 0 ? take(name)
                                    : take(name, from_millis(number)));
    else if (verb == "release")
      m.claims.push_back(release(name));
    else if (verb == "open")
      m.budgets.push_back(open_budget(name, number));
    else if (verb == "spend")
      m.budgets.push_back(spend(name, number));
    else
      m.budgets.push_back(close_budget(name));
  }
  return m;
}

inline event_write event(moves effect = {}, std::string data = "{}") {
  event_write e;
  e.type = "test.happened";
  e.data = std::move(data);
  e.internal = moves_text(effect);
  e.effect = std::move(effect);
  return e;
}
inline event_write claiming(claim_move m) {
  return event({{std::move(m)}, {}});
}
inline event_write budgeting(budget_move m) {
  return event({{}, {std::move(m)}});
}

inline stream_write on(stream_id stream, std::vector<event_write> events,
                       std::optional<std::uint64_t> version = std::nullopt) {
  return {std::move(stream), "ten_test", version, std::move(events)};
}

inline batch make_batch(std::vector<stream_write> writes) {
  batch b;
  b.id = pki::mint<batch_id>(start);
  b.actor = "system";
  b.correlation = "req_test";
  b.writes = std::move(writes);
  return b;
}

/// One event on one stream.
inline batch one(stream_id stream, event_write e = event(),
                 std::optional<std::uint64_t> version = std::nullopt) {
  return make_batch({on(std::move(stream), {std::move(e)}, version)});
}

inline std::vector<append_outcome> append(journal& j,
                                          const std::vector<batch>& group) {
  auto done = j.append(group);
  if (!done)
    FAIL(done.error().message << " " << done.error().detail);
  REQUIRE(done.value().size() == group.size());
  return std::move(done).value();
}
inline append_outcome append(journal& j, const batch& b) {
  return append(j, std::vector{b}).front();
}

inline appended won(const append_outcome& outcome) {
  if (const auto* no = std::get_if<rejected>(&outcome))
    FAIL("rejected: " << static_cast<int>(no->why) << " " << no->subject);
  return std::get<appended>(outcome);
}
inline rejected lost(const append_outcome& outcome, unmet why) {
  REQUIRE(std::holds_alternative<rejected>(outcome));
  auto no = std::get<rejected>(outcome);
  CHECK(no.why == why);
  return no;
}

inline std::vector<envelope> everything(journal& j) {
  auto all = j.read_all(0, 100'000);
  REQUIRE(all);
  return std::move(all).value();
}

inline void check_verifies(journal& j) {
  auto done = j.verify({moves_in});
  if (!done)
    FAIL(done.error().message);
}

}  // namespace bc::events::testing
