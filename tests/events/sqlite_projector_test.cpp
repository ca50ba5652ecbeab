// DESIGN section 5: the inline projector, behind a savepoint.
#include "tests/support/journal_suite.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

// Counts events by stream; does not like some data.
class counter final : public inline_projector {
 public:
  result<void> prepare(sql::connection& db, journal&) override {
    return db.execute(
        "create table if not exists counts (stream text primary key, n int)");
  }
  result<void> apply(sql::connection& db, const envelope& e) override {
    ++calls;
    BC_TRY(insert,
           db.prepare("insert into counts values (?, 1) on conflict (stream) "
                      "do update set n = n + 1"));
    BC_TRYV(insert.bind(1, e.stream).run());
    if (e.data == "{\"poison\":1}")
      return fail(errc::internal, "cannot apply");
    if (e.data == "{\"full\":1}")
      return fail(errc::unavailable, "the disk is full");
    return ok();
  }
  result<void> finish(sql::connection&, std::uint64_t position) override {
    finished.push_back(position);
    return ok();
  }
  int calls = 0;
  std::vector<std::uint64_t> finished;
};

std::int64_t count(const std::string& path, const std::string& stream) {
  auto db = sqlite::connection::open(path, sqlite::mode::read_only).value();
  auto query = db->prepare("select n from counts where stream = ?").value();
  return query.bind(1, stream).step().value() ? query.number(0) : 0;
}

}  // namespace

TEST_CASE("sqlite projector: its writes commit with the event", "[sqlite]") {
  counter projector;
  sqlite_store s;
  s.reopen(&projector);
  append(*s.store, {one("a:1"), one("a:1", event(), 9), one("a:1")});
  CHECK(projector.calls == 2);
  CHECK(projector.finished == std::vector<std::uint64_t>{2});
  CHECK(count(s.path, "a:1") == 2);
  arm(fault_point::store_before_commit, fault_action::error);
  CHECK_FALSE(s->append(std::vector{one("a:1")}));
  CHECK(count(s.path, "a:1") == 2);
}

TEST_CASE("sqlite projector: a poison event parks its stream, not the group",
          "[sqlite]") {
  counter projector;
  sqlite_store s;
  s.reopen(&projector);
  append(*s.store,
         {one("a:1"), one("a:1", event({}, "{\"poison\":1}")), one("b:1")});
  append(*s.store, {one("a:1"), one("b:1")});
  CHECK(everything(*s.store).size() == 5);
  CHECK(count(s.path, "a:1") == 1);  // the poison's own write went back
  CHECK(count(s.path, "b:1") == 2);
  CHECK(projector.calls == 4);
  auto parked = [&] {
    auto db = sqlite::connection::open(s.path, sqlite::mode::read_only).value();
    auto query =
        db->prepare("select stream, position, reason from parked_streams")
            .value();
    REQUIRE(query.step().value());
    CHECK(query.text(0) == "a:1");
    CHECK(query.number(1) == 2);
    CHECK(query.text(2) == "cannot apply");
    CHECK_FALSE(query.step().value());
  };
  parked();
  s.reopen(&projector);  // parked streams stay so
  append(*s.store, one("a:1"));
  CHECK(projector.calls == 4);
  parked();
  check_verifies(*s.store);
}

TEST_CASE("sqlite projector: a full disk is not the event's fault",
          "[sqlite]") {
  counter projector;
  sqlite_store s;
  s.reopen(&projector);
  auto done =
      s->append(std::vector{one("a:1", event({}, "{\"full\":1}")), one("b:1")});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::unavailable);
  CHECK(everything(*s.store).empty());
  won(append(*s.store, one("a:1")));
  CHECK(count(s.path, "a:1") == 1);
}
