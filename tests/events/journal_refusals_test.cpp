// DESIGN section 7: the index of recent refusals, bounded per owner and reason.
#include "tests/support/journal_suite.hpp"

#ifdef BC_TEST_ON_POSTGRES
#include <atomic>
#include <thread>
#endif

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

const std::string csr_a(64, 'a');
const std::string csr_b(64, 'b');

batch_id new_id() {
  return pki::mint<batch_id>(start);
}

refused_join refusal(std::string owner, std::string csr, std::string reason,
                     time_point at = start) {
  refused_join r;
  r.owner = std::move(owner);
  r.csr_sha256 = std::move(csr);
  r.reason = std::move(reason);
  r.attestor = "join-token";
  r.role = "node";
  r.first_at = r.last_at = at;
  r.details = "{}";
  return r;
}

void keep(journal& j, const std::vector<refused_join>& refused,
          const batch_id& id = new_id()) {
  auto done = j.keep_refusals(id, refused);
  if (!done)
    FAIL(done.error().message << " " << done.error().detail);
}

std::vector<refused_join> found(journal& j, std::string_view owner,
                                std::string_view csr, std::size_t limit = 10) {
  auto rows = j.find_refusals(owner, csr, limit);
  if (!rows)
    FAIL(rows.error().message << " " << rows.error().detail);
  return std::move(rows).value();
}

std::string nth_csr(std::size_t n) {
  auto digits = std::to_string(n);
  return std::string(64 - digits.size(), '0') + digits;
}

}  // namespace

TEMPLATE_TEST_CASE("journal: a refusal is found by its owner alone",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto r = refusal("ten_1", csr_a, "join:expect");
  r.token = "jt_1";
  r.details = "{\"expected\":\"\\u0000 \xc3\xa9\"}";
  keep(*s.store, {r});
  auto rows = found(*s.store, "ten_1", csr_a);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0] == r);
  CHECK(found(*s.store, "ten_2", csr_a).empty());
  CHECK(found(*s.store, "ten_1", csr_b).empty());
  // How a hash begins is enough.
  CHECK(found(*s.store, "ten_1", std::string(16, 'a')).size() == 1);
  CHECK(found(*s.store, "ten_1", std::string(63, 'a') + "9").empty());
  CHECK(found(*s.store, "ten_1", std::string(63, 'a') + "b").empty());
  CHECK(found(*s.store, "ten_1", csr_a + "a").empty());
  // It is no event, and the journal verifies as before.
  CHECK(s->head().value().position == 0);
  check_verifies(*s.store);
}

TEMPLATE_TEST_CASE("journal: what is refused alike is counted in one row",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto first = refusal("ten_1", csr_a, "join:site");
  keep(*s.store, {first});
  auto second = refusal("ten_1", csr_a, "join:site", start + 5s);
  second.times = 3;
  second.role = "site";
  second.details = "{\"n\":2}";
  keep(*s.store, {second});
  auto rows = found(*s.store, "ten_1", csr_a);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].times == 4);
  CHECK(rows[0].first_at == start);
  CHECK(rows[0].last_at == start + 5s);
  CHECK(rows[0].role == "site");
  CHECK(rows[0].details == "{\"n\":2}");
}

TEMPLATE_TEST_CASE("journal: a batch of refusals given again counts once",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto id = new_id();
  std::vector<refused_join> batch{refusal("ten_1", csr_a, "join:site"),
                                  refusal("ten_1", csr_b, "join:site")};
  keep(*s.store, batch, id);
  keep(*s.store, batch, id);
  CHECK(found(*s.store, "ten_1", csr_a).at(0).times == 1);
  keep(*s.store, batch);
  CHECK(found(*s.store, "ten_1", csr_a).at(0).times == 2);
  keep(*s.store, {});
}

TEMPLATE_TEST_CASE("journal: refusals come newest first, by reason and token",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  auto other_token = refusal("ten_1", csr_a, "join:site", start + 2s);
  other_token.token = "jt_2";
  keep(*s.store, {refusal("ten_1", csr_a, "join:site", start + 1s),
                  refusal("ten_1", csr_a, "join:pool", start + 3s), other_token,
                  refusal("ten_1", csr_b, "join:site")});
  auto rows = found(*s.store, "ten_1", csr_a);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].reason == "join:pool");
  CHECK(rows[1].token == "jt_2");
  CHECK(rows[2].last_at == start + 1s);
  CHECK(found(*s.store, "ten_1", csr_a, 2).size() == 2);
}

TEMPLATE_TEST_CASE("journal: a flood of one reason pushes out no other's",
                   "[journal]", JOURNAL_STORES) {
  TestType s;
  keep(*s.store, {refusal("ten_1", csr_a, "join:site"),
                  refusal("ten_1", csr_a, "join-token:expired"),
                  refusal("ten_2", csr_a, "join:site")});
  std::vector<refused_join> flood;
  for (std::size_t n = 0; n < refusals_kept; ++n)
    flood.push_back(refusal("ten_1", nth_csr(n), "join:site",
                            start + milliseconds{1 + n / 10}));
  keep(*s.store, flood);
  // The oldest of its owner and reason went; the thousand are whole.
  auto left = found(*s.store, "ten_1", csr_a);
  REQUIRE(left.size() == 1);
  CHECK(left[0].reason == "join-token:expired");
  CHECK(found(*s.store, "ten_2", csr_a).size() == 1);
  CHECK(found(*s.store, "ten_1", nth_csr(0)).size() == 1);
  // Of the same moment, those with the least hashes go.
  keep(*s.store, {refusal("ten_1", csr_b, "join:site", start + 1s),
                  refusal("ten_1", csr_a, "join:site", start + 1s)});
  CHECK(found(*s.store, "ten_1", nth_csr(0)).empty());
  CHECK(found(*s.store, "ten_1", nth_csr(1)).empty());
  CHECK(found(*s.store, "ten_1", nth_csr(2)).size() == 1);
  // One that is seen again is new again.
  keep(*s.store, {refusal("ten_1", nth_csr(2), "join:site", start + 2s)});
  keep(*s.store, {refusal("ten_1", nth_csr(7000), "join:site", start + 2s)});
  CHECK(found(*s.store, "ten_1", nth_csr(2)).at(0).times == 2);
  CHECK(found(*s.store, "ten_1", nth_csr(3)).empty());
}

#ifndef BC_TEST_ON_POSTGRES
TEST_CASE("sqlite journal: refusals are found after a restart", "[journal]") {
  sqlite_store s;
  keep(*s.store, {refusal("ten_1", csr_a, "join:site")});
  s.reopen();
  CHECK(found(*s.store, "ten_1", csr_a).size() == 1);
  auto beside = open_sqlite_reader(s.path, s.time);
  REQUIRE(beside);
  CHECK(found(*beside.value(), "ten_1", csr_a).size() == 1);
  CHECK(beside.value()->keep_refusals(new_id(), {}).error().code ==
        errc::invalid_state);
}
#else
TEST_CASE("postgres journal: processes share the refusals they keep",
          "[postgres][journal]") {
  migrated_schema schema;
  constexpr int processes = 4;
  constexpr int rounds = 25;
  std::vector<std::thread> all;
  std::atomic<int> failed{0};
  for (int p = 0; p < processes; ++p)
    all.emplace_back([&, p] {
      auto store = open_store(schema.url());
      for (int i = 0; i < rounds; ++i) {
        // Each its own order: they must not wait for each other in a circle.
        std::vector<refused_join> batch{refusal("ten_1", csr_a, "join:site"),
                                        refusal("ten_1", csr_b, "join:site")};
        if (p % 2 == 1)
          std::swap(batch[0], batch[1]);
        failed += store->keep_refusals(new_id(), batch) ? 0 : 1;
      }
    });
  for (auto& t : all)
    t.join();
  CHECK(failed == 0);
  auto store = open_store(schema.url());
  CHECK(found(*store, "ten_1", csr_a).at(0).times == processes * rounds);
  CHECK(found(*store, "ten_1", csr_b).at(0).times == processes * rounds);
}
#endif
