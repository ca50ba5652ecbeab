// DESIGN section 3: the refusal limiter, 60 in any 60 s over all processes.
#include "tests/support/journal_suite.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

const std::string stream = "refusal:ten_1:join-token:unknown";

batch counted_refusal(journal& j) {
  auto row = j.read_limiter(stream).value();
  auto b =
      one(stream,
          event({}, "{\"suppressed\":" + std::to_string(row.dropped) + "}"));
  b.limiter = limiter_need{stream, row.version};
  return b;
}

}  // namespace

TEMPLATE_TEST_CASE("journal: 60 refusals in any 60 s", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  for (int i = 0; i < 60; ++i) {
    s.time.set(start + i * 500ms);
    won(append(*s.store, counted_refusal(*s.store)));
  }
  auto row = s->read_limiter(stream).value();
  CHECK(row.version == 60);
  REQUIRE(row.recent.size() == 60);
  CHECK(row.recent.front() == start + 59 * 500ms);
  CHECK(row.recent.back() == start);
  s.time.set(start + 60s - 1ms);
  CHECK(lost(append(*s.store, counted_refusal(*s.store)), unmet::limiter)
            .subject == stream);
  // The oldest of the 60 is 60 s old: one more, and the next waits for the
  // second oldest.
  s.time.set(start + 60s);
  won(append(*s.store, counted_refusal(*s.store)));
  lost(append(*s.store, counted_refusal(*s.store)), unmet::limiter);
  s.time.set(start + 60s + 500ms);
  won(append(*s.store, counted_refusal(*s.store)));
  CHECK(s->read_limiter(stream).value().recent.size() == 60);
}

TEMPLATE_TEST_CASE("journal: drops are counted until the next event",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto fresh = s->read_limiter(stream).value();
  CHECK(fresh.version == 0);
  CHECK(fresh.dropped == 0);
  CHECK(fresh.recent.empty());
  REQUIRE(s->add_dropped(stream, 7));
  REQUIRE(s->add_dropped(stream, 5));
  CHECK(s->read_limiter(stream).value().dropped == 12);
  won(append(*s.store, counted_refusal(*s.store)));
  CHECK(everything(*s.store).at(0).data == "{\"suppressed\":12}");
  CHECK(s->read_limiter(stream).value().dropped == 0);
  CHECK(s->read_limiter("refusal:other").value().version == 0);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: a winner with an outdated count is refused",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto stale = counted_refusal(*s.store);
  REQUIRE(s->add_dropped(stream, 3));
  auto no = lost(append(*s.store, stale), unmet::limiter);
  CHECK(no.version == 1);
  CHECK(s->read_limiter(stream).value().dropped == 3);
  // Two processes with the same view: one wins.
  auto a = counted_refusal(*s.store);
  auto b = counted_refusal(*s.store);
  auto done = append(*s.store, {a, b});
  won(done[0]);
  CHECK(lost(done[1], unmet::limiter).version == 2);
}

TEMPLATE_TEST_CASE("journal: a limiter without events leaves its row alone",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  REQUIRE(s->add_dropped(stream, 3));
  auto b = make_batch({});
  b.limiter = limiter_need{stream, 1};
  won(append(*s.store, b));
  CHECK(s->read_limiter(stream).value().version == 1);
  CHECK(s->read_limiter(stream).value().dropped == 3);
}
