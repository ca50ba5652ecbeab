// DESIGN section 3: what an append does, on each store.
#include "tests/support/journal_suite.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

TEMPLATE_TEST_CASE("journal: events get dense positions and versions",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto b = make_batch({on("a:1", {event(), event()}, 0), on("b:1", {event()})});
  auto first = won(append(*s.store, b));
  REQUIRE(first.events.size() == 3);
  CHECK(first.time == start);
  auto second = won(append(*s.store, one("a:1", event(), 2)));
  REQUIRE(second.events.size() == 1);
  auto all = everything(*s.store);
  REQUIRE(all.size() == 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].position == i + 1);
    CHECK(all[i].hash == row_hash(all[i]));
    CHECK(all[i].time == start);
    CHECK(all[i].tenant == "ten_test");
    CHECK(all[i].actor == "system");
    CHECK(all[i].correlation == "req_test");
  }
  CHECK(all[0].batch == b.id.str());
  CHECK(all[1].version == 2);
  CHECK(all[2].stream == "b:1");
  CHECK(all[2].version == 1);
  CHECK(all[2].commit == 1);
  CHECK(all[3].version == 3);
  CHECK(all[3].commit == 2);
  CHECK(second.events[0].hash == all[3].hash);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: the head links the commits", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  auto empty = s->head().value();
  CHECK(empty.position == 0);
  CHECK(empty.commit == 0);
  CHECK(empty.link.empty());
  CHECK(empty.incarnation.str().starts_with("inc_"));
  append(*s.store, {one("a:1"), one("a:2")});
  append(*s.store, one("a:1"));
  auto all = everything(*s.store);
  std::vector first{all[0].hash, all[1].hash};
  std::vector second{all[2].hash};
  auto head = s->head().value();
  CHECK(head.position == 3);
  CHECK(head.commit == 2);
  CHECK(head.link == commit_link(commit_link("", first), second));
  CHECK(head.incarnation == empty.incarnation);
}

TEST_CASE("journal: the row hash covers every field", "[journal]") {
  envelope e{7,     3,      "a:1", 2,    "t",  1,    "ten",
             start, "root", "r",   "{}", "{}", "b1", ""};
  auto hash = row_hash(e);
  CHECK(hash.size() == 64);
  std::vector<std::function<void(envelope&)>> changes{
      [](auto& x) { ++x.position; },     [](auto& x) { ++x.commit; },
      [](auto& x) { x.stream = "a:2"; }, [](auto& x) { ++x.version; },
      [](auto& x) { x.type = "u"; },     [](auto& x) { ++x.type_version; },
      [](auto& x) { x.tenant = "t"; },   [](auto& x) { x.time += 1ms; },
      [](auto& x) { x.actor = "x"; },    [](auto& x) { x.correlation = "s"; },
      [](auto& x) { x.data = "[]"; },    [](auto& x) { x.internal = "[]"; },
      [](auto& x) { x.batch = "b2"; }};
  for (const auto& change : changes) {
    auto other = e;
    change(other);
    CHECK(row_hash(other) != hash);
  }
  auto moved = e;  // the border between two fields counts
  moved.actor = "roo";
  moved.correlation = "tr";
  CHECK(row_hash(moved) != hash);
}

TEMPLATE_TEST_CASE(
    "journal: a wrong expected version is refused with the "
    "stream's own",
    "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("a:1", event(), 0)));
  auto no = lost(append(*s.store, one("a:1", event(), 0)), unmet::version);
  CHECK(no.subject == "a:1");
  CHECK(no.version == 1);
  lost(append(*s.store, one("a:1", event(), 2)), unmet::version);
  won(append(*s.store, one("a:1", event(), 1)));
  CHECK(everything(*s.store).size() == 2);
}

TEMPLATE_TEST_CASE("journal: an append at any version never conflicts",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  for (std::uint64_t v = 1; v <= 5; ++v)
    CHECK(won(append(*s.store, one("a:1"))).events[0].version == v);
}

TEMPLATE_TEST_CASE("journal: a batch that fails, fails alone", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("a:1")));
  auto done = append(
      *s.store, {one("b:1"), one("a:1", event(), 0), one("c:1", event(), 0)});
  won(done[0]);
  lost(done[1], unmet::version);
  auto last = won(done[2]);
  CHECK(last.events[0].position == 3);
  CHECK(last.events[0].commit == 2);
  CHECK(s->head().value().commit == 2);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: each batch of a group sees those before it",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto done = append(*s.store, {one("a:1", event(), 0), one("a:1", event(), 1),
                                one("a:1", event(), 1)});
  won(done[0]);
  won(done[1]);
  CHECK(lost(done[2], unmet::version).version == 2);
}

TEMPLATE_TEST_CASE("journal: a group nobody survives makes no commit",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  lost(append(*s.store, one("a:1", event(), 4)), unmet::version);
  CHECK(s->head().value().commit == 0);
  CHECK(everything(*s.store).empty());
}

TEMPLATE_TEST_CASE("journal: preconditions without events write nothing",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("a:1")));
  auto holds = make_batch({on("a:1", {}, 1), on("b:1", {}, 0)});
  CHECK_FALSE(holds.has_events());
  CHECK(won(append(*s.store, holds)).events.empty());
  auto fails = make_batch({on("a:1", {}, 1), on("b:1", {}, 1)});
  CHECK(lost(append(*s.store, fails), unmet::version).subject == "b:1");
  CHECK(s->head().value().commit == 1);
  CHECK_FALSE(s->outcome(holds.id).value());
  // Beside a batch with events it takes no place in the commit.
  auto done = append(*s.store, {holds, one("c:1"), holds});
  CHECK(won(done[2]).events.empty());
  CHECK(s->head().value().position == 2);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: outcome finds a batch's events", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  auto b = make_batch({on("a:1", {event(), event()}), on("b:1", {event()})});
  CHECK_FALSE(s->outcome(b.id).value());
  append(*s.store, {one("x:1"), b, one("x:1")});
  auto found = s->outcome(b.id).value();
  REQUIRE(found);
  REQUIRE(found->events.size() == 3);
  CHECK(found->events[0].position == 2);
  CHECK(found->events[2].stream == "b:1");
}

TEMPLATE_TEST_CASE("journal: a batch that is there is not written again",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto b = one("a:1", event(), 0);
  won(append(*s.store, b));
  auto again = append(*s.store, {b, one("a:1", event(), 1), b});
  CHECK(won(again[0]).events[0].position == 1);
  CHECK(won(again[2]).events[0].position == 1);
  CHECK(everything(*s.store).size() == 2);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: a batch with events and no id is a fault",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto b = one("a:1");
  b.id = {};
  auto done = s->append(std::vector{one("a:1"), b});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::internal);
  CHECK(everything(*s.store).empty());
  CHECK(s->read_stream("a:1", 0, 10).value().empty());
  CHECK(s->head().value().position == 0);
}

TEMPLATE_TEST_CASE("journal: a clock set back does not reorder the events",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("a:1")));
  s.time.set(start - 10s);
  auto done = won(append(*s.store, one("a:1")));
  CHECK(done.events[0].time == start);
  CHECK(done.time == start - 10s);
  s.time.set(start + 1s);
  CHECK(won(append(*s.store, one("a:1"))).events[0].time == start + 1s);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: reads come in pages", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  std::vector<batch> group;
  for (int i = 0; i < 10; ++i)
    group.push_back(one(i % 2 == 0 ? "a:1" : "b:1"));
  append(*s.store, group);
  auto page = s->read_all(3, 4).value();
  REQUIRE(page.size() == 4);
  CHECK(page.front().position == 4);
  CHECK(page.back().position == 7);
  CHECK(s->read_all(10, 4).value().empty());
  CHECK(s->read_all(99, 4).value().empty());
  CHECK(s->read_all(UINT64_MAX, SIZE_MAX).value().empty());
  CHECK(s->read_all(0, 0).value().empty());
  auto stream = s->read_stream("b:1", 2, 2).value();
  REQUIRE(stream.size() == 2);
  CHECK(stream[0].version == 3);
  CHECK(stream[0].position == 6);
  CHECK(stream[1].version == 4);
  CHECK(s->read_stream("b:1", 5, 9).value().empty());
  CHECK(s->read_stream("none", 0, 9).value().empty());
}

TEMPLATE_TEST_CASE("journal: texts come back byte for byte", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  // No JSON text holds a NUL itself.
  std::string odd = "{\"x\":\"\\u0000\xc3\xa9'\\\\\"}";
  auto e = event({}, odd);
  e.type_version = 7;
  auto b = one("a:\xf0\x9f\x96\xa5", e);
  b.actor = std::string_view{};
  won(append(*s.store, b));
  auto back = everything(*s.store).at(0);
  CHECK(back.data == odd);
  CHECK(back.stream == "a:\xf0\x9f\x96\xa5");
  CHECK(back.type_version == 7);
  CHECK(back.actor.empty());
  check_verifies(*s.store);
}
