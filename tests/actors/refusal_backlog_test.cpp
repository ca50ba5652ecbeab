// DESIGN section 7: refusals wait for the index within bounds.
#include "actors/refusal_backlog.hpp"

#include "pki/digest.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace bc::test {
namespace {

using actors::refusal_backlog;
using events::refused_join;

const time_point start = from_millis(1'790'000'000'000);

batch_id new_id() {
  return pki::mint<batch_id>(start);
}

refused_join refusal(std::size_t csr, std::string reason = "join:site",
                     std::string owner = "ten_1") {
  refused_join r;
  r.owner = std::move(owner);
  r.reason = std::move(reason);
  r.csr_sha256 = std::to_string(csr);
  r.first_at = r.last_at = start + milliseconds{csr};
  return r;
}

/// Every batch, each written.
std::vector<std::vector<refused_join>> drain(refusal_backlog& b) {
  std::vector<std::vector<refused_join>> out;
  while (auto batch = b.next(new_id())) {
    out.push_back(*batch->refused);
    b.written();
  }
  return out;
}

TEST_CASE("refusal backlog: nothing waits, nothing is written") {
  refusal_backlog b;
  CHECK(b.empty());
  CHECK_FALSE(b.next(new_id()).has_value());
}

TEST_CASE("refusal backlog: one batch is under way at a time") {
  refusal_backlog b;
  b.add(refusal(1));
  auto first = b.next(new_id());
  REQUIRE(first.has_value());
  b.add(refusal(2));
  CHECK_FALSE(b.next(new_id()).has_value());
  CHECK_FALSE(b.empty());

  SECTION("an unknown outcome: the same again, then what waits") {
    b.lost();
    auto again = b.next(new_id());
    REQUIRE(again.has_value());
    CHECK(again->id == first->id);
    CHECK(*again->refused == *first->refused);
    b.written();
    CHECK(drain(b).size() == 1);
    CHECK(b.dropped() == 0);
  }
  SECTION("what the store cannot hold is counted, and holds up nothing") {
    b.give_up();
    CHECK(b.dropped() == 1);
    auto rest = drain(b);
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].at(0).csr_sha256 == "2");
  }
  CHECK(b.empty());
}

TEST_CASE("refusal backlog: what is refused alike is one row") {
  refusal_backlog b;
  b.add(refusal(1));
  auto later = refusal(1);
  later.last_at = start + seconds{1};
  later.details = "{}";
  b.add(later);
  auto by_token = refusal(1);
  by_token.token = "jt_1";
  b.add(by_token);
  auto rows = drain(b).at(0);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].times == 2);
  CHECK(rows[0].first_at == start + milliseconds{1});
  CHECK(rows[0].last_at == start + seconds{1});
  CHECK(rows[0].details == "{}");
  CHECK(rows[1].times == 1);
}

TEST_CASE("refusal backlog: a flood drops the oldest of its own kind alone") {
  refusal_backlog b;
  b.add(refusal(0, "join-token:expired"));
  b.add(refusal(0, "join:site", "ten_2"));
  constexpr std::size_t flood = 100'000;
  for (std::size_t n = 0; n < flood; ++n)
    b.add(refusal(n));
  CHECK(b.size() == refusal_backlog::most_of_a_kind + 2);
  CHECK(b.dropped() == flood - refusal_backlog::most_of_a_kind);
  std::set<std::string> reasons, csrs, owners;
  for (const auto& batch : drain(b))
    for (const auto& r : batch) {
      reasons.insert(r.reason);
      owners.insert(r.owner);
      if (r.owner == "ten_1" && r.reason == "join:site")
        csrs.insert(r.csr_sha256);
    }
  CHECK(reasons.size() == 2);
  CHECK(owners.size() == 2);
  CHECK(csrs.size() == refusal_backlog::most_of_a_kind);
  CHECK(csrs.contains(std::to_string(flood - 1)));
  CHECK_FALSE(csrs.contains("0"));
}

TEST_CASE("refusal backlog: however many tenants, the whole is bounded") {
  refusal_backlog b;
  b.add(refusal(0, "join:site", "quiet"));
  std::uint64_t added = 1;
  for (std::size_t tenant = 0; tenant < 100; ++tenant)
    for (std::size_t n = 0; n < 200; ++n, ++added)
      b.add(refusal(n, "join:site", "ten_" + std::to_string(tenant)));
  CHECK(b.size() == refusal_backlog::most);
  CHECK(b.dropped() == added - refusal_backlog::most);
  bool quiet = false;
  for (const auto& batch : drain(b)) {
    CHECK(batch.size() <= refusal_backlog::most_in_batch);
    for (const auto& r : batch)
      quiet = quiet || r.owner == "quiet";
  }
  CHECK(quiet);
}

TEST_CASE("refusal backlog: each kind has its turn") {
  refusal_backlog b;
  auto fill = [&b] {
    for (const auto* owner : {"a", "b", "c", "d", "e", "f"})
      for (std::size_t n = 0; n < refusal_backlog::most_of_a_kind; ++n)
        b.add(refusal(n, "join:site", owner));
  };
  std::set<std::string> seen;
  for (int second = 0; second < 2; ++second) {
    fill();
    auto batch = b.next(new_id());
    REQUIRE(batch.has_value());
    for (const auto& r : *batch->refused)
      seen.insert(r.owner);
    b.written();
  }
  // Four kinds fit into a batch; the second began where the first ended.
  CHECK(seen.size() == 6);
}

}  // namespace
}  // namespace bc::test
