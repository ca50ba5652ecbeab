// DESIGN section 3: budgets, claims, answers, time, and their order.
#include "tests/support/journal_suite.hpp"

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

TEMPLATE_TEST_CASE("journal: a budget is opened once, spent and closed",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto spend_one = [&] {
    return append(*s.store, one("n:1", budgeting(spend("jt"))));
  };
  CHECK(lost(spend_one(), unmet::budget).subject == "jt");
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 3)))));
  lost(append(*s.store, one("t:1", budgeting(open_budget("jt", 9)))),
       unmet::budget);
  won(spend_one());
  lost(append(*s.store, one("n:1", budgeting(spend("jt", 3)))), unmet::budget);
  won(append(*s.store, one("n:1", budgeting(spend("jt", 1)))));
  won(append(*s.store, one("t:1", budgeting(close_budget("jt")))));
  lost(spend_one(), unmet::budget);
  won(append(*s.store, one("t:1", budgeting(close_budget("jt")))));
  won(append(*s.store, one("t:1", budgeting(close_budget("unknown")))));
  lost(append(*s.store, one("n:1", budgeting(spend("unknown")))),
       unmet::budget);
  lost(append(*s.store, one("t:1", budgeting(open_budget("jt", 1)))),
       unmet::budget);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: an explicit budget need spends nothing",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 2)))));
  auto need = [&](std::int64_t amount) {
    auto b = make_batch({});
    b.budgets = {{"jt", amount}};
    return append(*s.store, b);
  };
  won(need(2));
  won(need(2));
  CHECK(lost(need(3), unmet::budget).subject == "jt");
  won(append(*s.store, one("n:1", budgeting(spend("jt")))));
  lost(need(2), unmet::budget);
  won(append(*s.store, one("t:1", budgeting(close_budget("jt")))));
  lost(need(1), unmet::budget);
}

TEMPLATE_TEST_CASE(
    "journal: two batches of one group compete for the last "
    "unit",
    "[journal]", JOURNAL_STORES) {
  TestType s;
  auto done = append(*s.store, {one("t:1", budgeting(open_budget("jt", 1))),
                                one("n:1", budgeting(spend("jt"))),
                                one("n:2", budgeting(spend("jt")))});
  won(done[1]);
  lost(done[2], unmet::budget);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: the moves of one batch count together",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 1)))));
  auto twice =
      make_batch({on("n:1", {budgeting(spend("jt")), budgeting(spend("jt"))})});
  lost(append(*s.store, twice), unmet::budget);
  won(append(*s.store, one("n:1", budgeting(spend("jt")))));
  // Claims too: what one event releases, the next may take.
  won(append(*s.store, one("n:1", claiming(take("hw:1")))));
  won(append(*s.store, make_batch({on("n:1", {claiming(release("hw:1"))}),
                                   on("n:2", {claiming(take("hw:1"))})})));
  CHECK(s->holder("hw:1").value()->stream == "n:2");
  auto both = make_batch({on("n:3", {claiming(take("hw:2"))}),
                          on("n:4", {claiming(take("hw:2"))})});
  CHECK(lost(append(*s.store, both), unmet::claim).holder->stream == "n:3");
  CHECK_FALSE(s->holder("hw:2").value());
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: a claim has one holder until released",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  CHECK_FALSE(s->holder("hw:1").value());
  won(append(*s.store, one("n:1", claiming(take("hw:1")))));
  auto holder = s->holder("hw:1").value();
  REQUIRE(holder);
  CHECK(holder->stream == "n:1");
  CHECK(holder->position == 1);
  CHECK_FALSE(holder->expires_at);
  auto no =
      lost(append(*s.store, one("n:2", claiming(take("hw:1")))), unmet::claim);
  CHECK(no.subject == "hw:1");
  REQUIRE(no.holder);
  CHECK(no.holder->stream == "n:1");
  won(append(*s.store, one("n:1", claiming(take("hw:1")))));
  CHECK(s->holder("hw:1").value()->position == 2);
  // Somebody else's release changes nothing.
  won(append(*s.store, one("n:2", claiming(release("hw:1")))));
  CHECK(s->holder("hw:1").value()->stream == "n:1");
  won(append(*s.store, one("n:1", claiming(release("hw:1")))));
  CHECK_FALSE(s->holder("hw:1").value());
  won(append(*s.store, one("n:2", claiming(take("hw:1")))));
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: a claim expires by the store's clock", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("n:1", claiming(take("proof:1", start + 120s)))));
  s.time.set(start + 120s - 1ms);
  CHECK(s->holder("proof:1").value()->expires_at == start + 120s);
  lost(append(*s.store, one("n:2", claiming(take("proof:1")))), unmet::claim);
  s.time.set(start + 120s);
  CHECK_FALSE(s->holder("proof:1").value());
  check_verifies(*s.store);
  won(append(*s.store, one("n:2", claiming(take("proof:1")))));
  CHECK(s->holder("proof:1").value()->stream == "n:2");
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: a claim forgotten after its end changes nothing",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("n:1", claiming(take("proof:1", start + 120s)))));
  won(append(*s.store, one("n:1", claiming(take("hw:1")))));
  s.time.advance(2h);
  won(append(*s.store, one("a:1")));
  CHECK_FALSE(s->holder("proof:1").value());
  CHECK(s->holder("hw:1").value());
  won(append(*s.store, one("n:1", claiming(release("proof:1")))));
  won(append(*s.store, one("n:2", claiming(take("proof:1")))));
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: an explicit claim need takes nothing", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  auto need = [&](std::string holder) {
    auto b = make_batch({});
    b.claims = {{"hw:1", std::move(holder)}};
    return append(*s.store, b);
  };
  won(need(""));
  won(need("n:1"));
  won(append(*s.store, one("n:1", claiming(take("hw:1", start + 10s)))));
  won(need("n:1"));
  CHECK(lost(need("n:2"), unmet::claim).holder->stream == "n:1");
  lost(need(""), unmet::claim);
  s.time.set(start + 10s);
  won(need(""));
}

TEMPLATE_TEST_CASE("journal: a held answer comes back before all else",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 5)))));
  auto join = [&](const char* node) {
    auto b = make_batch(
        {on("jt:1", {budgeting(spend("jt"))}),
         on(node, {claiming(take("answer:jt:csr", start + 600s))}, 0)});
    b.answers_free = {"answer:jt:csr"};
    return b;
  };
  auto done = append(*s.store, {join("n:1"), join("n:2")});
  won(done[0]);
  auto no = lost(done[1], unmet::answer);
  CHECK(no.subject == "answer:jt:csr");
  REQUIRE(no.holder);
  CHECK(no.holder->stream == "n:1");
  CHECK(no.holder->position == 3);
  // Even its own stream does not get past it.
  lost(append(*s.store, join("n:1")), unmet::answer);
  s.time.set(start + 600s);
  won(append(*s.store, join("n:3")));
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: valid_until is judged by the store's clock",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto b = one("a:1");
  b.valid_until = start + 5s;
  s.time.set(start + 5s);
  CHECK(lost(append(*s.store, b), unmet::expired).time == start + 5s);
  s.time.set(start + 5s - 1ms);
  won(append(*s.store, b));
}

// Each row breaks everything from its own need on; the first need broken is
// the one that comes back.
TEMPLATE_TEST_CASE("journal: the order of judgement", "[journal]",
                   JOURNAL_STORES) {
  TestType s;
  won(append(*s.store, one("h:1", claiming(take("answer:1")))));
  won(append(*s.store, one("h:1", claiming(take("hw:1")))));
  won(append(*s.store, one("t:1", budgeting(open_budget("jt", 1)))));
  struct row {
    unmet expected;
    int fixed;  // how many needs hold, in order
  };
  const row rows[] = {{unmet::answer, 0},  {unmet::version, 1},
                      {unmet::budget, 2},  {unmet::budget, 3},
                      {unmet::claim, 4},   {unmet::claim, 5},
                      {unmet::limiter, 6}, {unmet::expired, 7}};
  auto make = [&](int fixed) {
    auto b = make_batch({on("n:1",
                            {event({{take(fixed > 5 ? "hw:3" : "hw:1")},
                                    {spend(fixed > 3 ? "jt" : "none")}})},
                            fixed > 1 ? 0 : 9)});
    b.answers_free = {fixed > 0 ? "answer:2" : "answer:1"};
    b.budgets = {{"jt", fixed > 2 ? 1 : 2}};
    b.claims = {{fixed > 4 ? "hw:2" : "hw:1", ""}};
    b.limiter = limiter_need{"refusal:1", fixed > 6 ? 0u : 3u};
    b.valid_until = fixed > 7 ? start + 1s : start;
    return b;
  };
  for (const auto& r : rows) {
    INFO(r.fixed);
    lost(append(*s.store, make(r.fixed)), r.expected);
    CHECK(s->head().value().position == 3);
  }
  won(append(*s.store, make(8)));
  check_verifies(*s.store);
}
