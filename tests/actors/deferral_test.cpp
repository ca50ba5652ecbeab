// What a join flow does with join requests (spec:
// joining#join-requests-and-approvals, ATTESTATION 9h).
#include "actors/requests/places.hpp"
#include "events/catalog.hpp"
#include "tests/actors/deferral_world.hpp"
#include "tests/actors/slow_ledger.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;
using bc::test::csr_of;
using bc::test::defer_now;
using bc::test::id_of;
using bc::test::order_of;
using bc::test::shortly;

namespace {

namespace jr = events::join_request;

struct consuming_world : deferral_world {
  /// The approved join, in a batch with nothing but what it consumes.
  events::append_outcome consume(const actors::approved_request& approved,
                                 char csr) {
    auto part = actors::consume_request(
        *approved.request, acme, random.id<node_id>(), csr_of(csr), time.now());
    REQUIRE(part);
    events::batch b;
    b.id = random.id<batch_id>();
    b.actor = "machine";
    b.writes.push_back(std::move(part.value().write));
    b.valid_until = part.value().until;
    auto outcome = store->append({&b, 1});
    REQUIRE(outcome);
    return outcome.value().front();
  }
  actors::approved_request approved(const std::string& machine, char csr) {
    auto got = defer(machine, csr);
    INFO(shortly(got));
    REQUIRE(got);
    const auto* a = std::get_if<actors::approved_request>(&got.value());
    REQUIRE(a != nullptr);
    return *a;
  }
};

}  // namespace

TEST_CASE_METHOD(deferral_world,
                 "deferral: a retry with the same CSR appends nothing") {
  auto first = defer("a", 'a');
  auto id = id_of(first);
  CHECK(std::get<actors::deferral>(first.value()).retry_after == seconds{30});
  auto before = position();
  for (int i = 0; i < 5; ++i) {
    time.advance(seconds{30});
    auto again = order("a", 'a');
    again.seen.machine.serials = {"SN-" + std::to_string(i)};
    CHECK(id_of(defer_now(streams, again)) == id);
  }
  CHECK(position() == before);
  CHECK(state_of(id).request->expires_at ==
        state_of(id).request->at + seconds{86'400});
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: a claim it rests on is taken: to be judged anew") {
  auto rests_on = order("a", 'a');
  const auto other = id_of(defer("b", 'b'));
  const auto taken = jr::pending_claim(site, order("b", 'b').subject);
  rests_on.claims = {{taken, {}}};
  const auto before = position();
  const auto got = defer_now(streams, rests_on);
  REQUIRE(got);
  const auto* why = std::get_if<events::rejected>(&got.value());
  REQUIRE(why != nullptr);
  CHECK(why->why == events::unmet::claim);
  CHECK(why->subject == taken);
  CHECK(position() == before);
  // Held by the stream that was named, it stands.
  rests_on.claims = {{taken, events::stream_of(other)}};
  CHECK(id_of(defer_now(streams, rests_on)) != other);
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: many CSRs of one machine are one request (case "
                 "132)") {
  // Each attempt folds the whole stream here: the time grows with the square.
  constexpr int attempts = 200;
  auto id = id_of(defer("a", 'a'));
  for (int i = 1; i <= attempts; ++i) {
    time.advance(milliseconds{600});
    auto o = order("a", 'a');
    o.seen.csr_sha256 = random.hex();
    CHECK(id_of(defer_now(streams, o)) == id);
    if (i != attempts)
      continue;
    auto s = state_of(id);
    CHECK(s.request->seen.csr_sha256 == o.seen.csr_sha256);
    // The newest attempt starts its 24 hours anew.
    CHECK(s.request->expires_at == time.now() + seconds{86'400});
    CHECK(s.claims_changed);
  }
  CHECK(count("security.join-request.opened") == 1);
  CHECK(count("security.join-request.refreshed") == attempts);
}

TEST_CASE_METHOD(consuming_world,
                 "deferral: an approval admits one, the other CSR waits (case "
                 "134)") {
  auto id = id_of(defer("a", 'a'));
  REQUIRE(decide("approve", id).status == 200);
  auto other = id_of(defer("a", 'b'));
  CHECK(other != id);
  CHECK(id_of(defer("a", 'b')) == other);
  // A's approval stays.
  auto first = approved("a", 'a'), twin = approved("a", 'a');
  CHECK(std::holds_alternative<events::appended>(consume(first, 'a')));
  CHECK(std::get<events::rejected>(consume(twin, 'a')).why ==
        events::unmet::version);
  CHECK(state_of(id).stored == jr::status::consumed);
  // It admitted one: the same CSR now starts another, as B does no more.
  auto third = id_of(defer("a", 'a'));
  CHECK(third == other);
  CHECK(state_of(other).request->seen.csr_sha256 == csr_of('a'));
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: a rejected CSR is refused for good (case 131)") {
  auto id = id_of(defer("a", 'a'));
  REQUIRE(decide("reject", id).status == 200);
  auto before = position();
  CHECK(shortly(defer("a", 'a')) == "rejected");
  time.advance(seconds{90 * 86'400});
  CHECK(shortly(defer("a", 'a')) == "rejected");
  CHECK(position() == before);
  auto next = id_of(defer("a", 'b'));
  CHECK(next != id);
  CHECK(decide("approve", id).code() == "INVALID_STATE");
  REQUIRE(decide("approve", next).status == 200);
  // An approval that was not used is withdrawn.
  REQUIRE(decide("reject", next).status == 200);
  CHECK(shortly(defer("a", 'b')) == "rejected");
  CHECK(shortly(defer("a", 'a')) == "rejected");
}

TEST_CASE_METHOD(deferral_world, "deferral: what expires makes room") {
  actors::deferral_limits limits{seconds{600}, 2, seconds{30}};
  auto a = id_of(defer("a", 'a', limits));
  auto b = id_of(defer("b", 'b', limits));
  CHECK(shortly(defer("c", 'c', limits)) == "full");
  // Who waits already goes on waiting, with another CSR too.
  CHECK(id_of(defer("a", 'd', limits)) == a);
  // Another site has places of its own.
  auto elsewhere = order_of(acme, add_site(acme), "c", csr_of('c'));
  CHECK(shortly(defer_now(streams, elsewhere, limits)) == "deferred");
  // The oldest is never put out, but it may end.
  time.advance(seconds{599});
  CHECK(shortly(defer("c", 'c', limits)) == "full");
  time.advance(seconds{1});
  auto c = id_of(defer("c", 'c', limits));
  CHECK(shortly(defer("e", 'e', limits)) == "deferred");
  CHECK(shortly(defer("f", 'f', limits)) == "full");
  // A decision frees a place at once.
  REQUIRE(decide("reject", c).status == 200);
  CHECK(shortly(defer("f", 'f', limits)) == "deferred");
  // Who takes no place is let in.
  auto verified = order("g", 'g');
  verified.takes_place = false;
  CHECK(shortly(defer_now(streams, verified, limits)) == "deferred");
  CHECK(state_of(b).stored == jr::status::pending);
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: of attempts at once, one opens; no more than there "
                 "are places") {
  struct with_models : slow_ledger {
    with_models(events::journal& j, const bc::clock& c, projections::queries& q)
        : slow_ledger(j, c), models(q) {}
    void query(std::function<result<std::string>(projections::queries&)> read,
               actors::reply_to<std::string> done) override {
      done(read(models));
    }
    projections::queries& models;
  };
  auto racing = std::make_shared<with_models>(*store, time, *reader);
  actors::deferral_limits limits{seconds{600}, 5, seconds{30}};
  std::vector<std::string> ends;
  std::set<std::string> ids;
  auto attempt = [&](const std::string& machine, char csr) {
    actors::defer_join(racing, order(machine, csr), limits,
                       [&](const result<actors::deferral_outcome>& outcome) {
                         ends.push_back(shortly(outcome));
                         if (ends.back() == "deferred")
                           ids.insert(id_of(outcome).str());
                       });
  };
  auto settle = [&] {
    for (int i = 0; i < 100 && racing->flush(); ++i) {
    }
  };
  // Of one machine.
  for (int i = 0; i < 8; ++i)
    attempt("a", static_cast<char>('a' + i % 2));
  settle();
  CHECK(ends == std::vector<std::string>(8, "deferred"));
  CHECK(ids.size() == 1);
  CHECK(count("security.join-request.opened") == 1);
  // Of many.
  ends.clear();
  for (char m = 'b'; m < 'n'; ++m)
    attempt(std::string(1, m), m);
  settle();
  CHECK(ends.size() == 12);
  CHECK(ids.size() == 5);
  CHECK(std::ranges::count(ends, "deferred") == 4);
  CHECK(std::ranges::count(ends, "full") == 8);
  CHECK(count("security.join-request.opened") == 5);
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: decided while it was recorded, it does not wait "
                 "beside that") {
  auto id = id_of(defer("a", 'a'));
  struct meddling : actors::sync_ledger {
    using sync_ledger::sync_ledger;
    void append(events::batch b,
                actors::reply_to<events::append_outcome> done) override {
      if (auto now = std::exchange(before, nullptr))
        now();
      sync_ledger::append(std::move(b), std::move(done));
    }
    std::function<void()> before;
  };
  auto ledger = std::make_shared<meddling>(*store, time, reader.get());
  // The machine changes to B as an operator approves A.
  ledger->before = [&] { CHECK(decide("approve", id).status == 200); };
  auto b = id_of(defer_now(ledger, order("a", 'b')));
  CHECK(b != id);
  CHECK(state_of(id).stored == jr::status::approved);
  // It comes with C, which it came with before and was rejected meanwhile.
  ledger->before = [&] {
    CHECK(id_of(defer("a", 'c')) == b);
    CHECK(decide("reject", b).status == 200);
  };
  CHECK(shortly(defer_now(ledger, order("a", 'c'))) == "rejected");
  // A pin that moved is the caller's to judge.
  auto pinned = order("z", 'z');
  pinned.pins.push_back({events::stream_of(pool), {}, 99, {}});
  CHECK(shortly(defer_now(streams, pinned)) == "moved");
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: what another process decided is found, though all "
                 "places are taken since") {
  const actors::deferral_limits one_place{seconds{600}, 1, seconds{30}};
  auto id = id_of(defer("a", 'a', one_place));
  /// Knows the request as it was until an append tells that it moved.
  struct behind : actors::sync_ledger {
    using sync_ledger::sync_ledger;
    void request(
        const join_request_id& of,
        actors::reply_to<actors::shared_state<jr::state>> done) override {
      if (known && of == known->request->id)
        return done(std::make_shared<const jr::state>(*known));
      sync_ledger::request(of, std::move(done));
    }
    void append(events::batch b,
                actors::reply_to<events::append_outcome> done) override {
      sync_ledger::append(
          std::move(b), [this, done = std::move(done)](auto outcome) {
            if (hears && outcome &&
                std::holds_alternative<events::rejected>(outcome.value()))
              known.reset();
            done(std::move(outcome));
          });
    }
    std::optional<jr::state> known;
    bool hears = true;
  };
  auto ledger = std::make_shared<behind>(*store, time, reader.get());
  ledger->known = state_of(id);
  REQUIRE(decide("approve", id).status == 200);
  REQUIRE(shortly(defer("b", 'b', one_place)) == "deferred");
  CHECK(shortly(defer_now(ledger, order("a", 'a'), one_place)) == "approved");
  ledger->known = jr::state{};
  ledger->known->request = state_of(id).request;
  ledger->hears = false;
  CHECK(shortly(defer_now(ledger, order("a", 'a'), one_place)) ==
        "UNAVAILABLE");
  // Its approval over, there is nothing to find.
  time.advance(seconds{3600});
  CHECK(shortly(defer("c", 'c', {seconds{9999}, 1, seconds{30}})) ==
        "deferred");
  CHECK(shortly(defer("a", 'a', one_place)) == "full");
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: a site is full by read models that show all") {
  const actors::deferral_limits one_place{seconds{600}, 1, seconds{30}};
  auto id = id_of(defer("a", 'a', one_place));
  struct late : actors::sync_ledger {
    using sync_ledger::sync_ledger;
    void head(actors::reply_to<events::head_row> done) override {
      sync_ledger::head([this, done = std::move(done)](auto head) {
        if (head)
          head.value().position += ahead;
        done(std::move(head));
      });
    }
    void query(std::function<result<std::string>(projections::queries&)> read,
               actors::reply_to<std::string> done) override {
      if (auto then = std::exchange(first, {}); !then.empty())
        return done(std::move(then));
      sync_ledger::query(std::move(read), std::move(done));
    }
    std::uint64_t ahead = 0;
    std::string first;  // what they show once
  };
  auto ledger = std::make_shared<late>(*store, time, reader.get());
  auto b = order("b", 'b');
  b.models = std::make_shared<actors::read_models>();
  CHECK(shortly(defer_now(ledger, b, one_place)) == "full");
  ledger->ahead = 1;
  CHECK(shortly(defer_now(ledger, b, one_place)) == "UNAVAILABLE");
  ledger->ahead = 0;
  // Asked anew, whenever they were asked last.
  b.models = std::make_shared<actors::read_models>();
  REQUIRE(decide("reject", id).status == 200);
  ledger->first = "0";
  CHECK(shortly(defer_now(ledger, b, one_place)) == "deferred");
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: one that ends as it is refreshed is another") {
  const actors::deferral_limits limits{seconds{600}, 5, seconds{30}};
  auto id = id_of(defer("a", 'a', limits));
  struct slow : actors::sync_ledger {
    using sync_ledger::sync_ledger;
    void append(events::batch b,
                actors::reply_to<events::append_outcome> done) override {
      if (auto now = std::exchange(before, nullptr))
        now();
      sync_ledger::append(std::move(b), std::move(done));
    }
    std::function<void()> before;
  };
  auto ledger = std::make_shared<slow>(*store, time, reader.get());
  time.advance(milliseconds{599'999});
  ledger->before = [&] { time.advance(milliseconds{1}); };
  auto next = id_of(defer_now(ledger, order("a", 'b'), limits));
  CHECK(next != id);
  CHECK(state_of(id).request->seen.csr_sha256 == csr_of('a'));
  CHECK(state_of(next).request->seen.csr_sha256 == csr_of('b'));
}

TEST_CASE_METHOD(deferral_world,
                 "deferral: nobody on another site decides or takes it over") {
  auto id = id_of(defer("a", 'a'));
  auto there = order_of(other, other_site, "a", csr_of('b'));
  auto theirs = id_of(defer_now(streams, there));
  CHECK(theirs != id);
  CHECK(state_of(id).request->seen.csr_sha256 == csr_of('a'));
  fields input{{"tenantId", json_string(other.str())},
               {"poolId", json_string(other_pool.str())},
               {"requestId", json_string(id.str())}};
  CHECK(call(other_key, "joinRequests.reject", input).code() == "NOT_FOUND");
  input["requestId"] = json_string(theirs.str());
  CHECK(call(other_key, "joinRequests.reject", input).status == 200);
  there.seen.csr_sha256 = csr_of('a');
  CHECK(shortly(defer_now(streams, there)) == "deferred");
  CHECK(shortly(defer("a", 'b')) == "deferred");
}

TEST_CASE_METHOD(consuming_world, "deferral: any life keeps its promises") {
  // One machine, an operator, and time: one pending request at most, and no
  // more joins than approvals.
  std::set<std::string> refused;
  int approvals = 0, joins = 0;
  for (int step = 0; step < 300; ++step) {
    time.advance(seconds{static_cast<int>(random.below(7200))});
    const char csr = static_cast<char>('a' + random.below(3));
    auto got = defer("a", csr);
    REQUIRE(got);
    if (refused.contains(csr_of(csr))) {
      CHECK(shortly(got) == "rejected");
    } else if (shortly(got) == "approved") {
      if (random.coin()) {
        auto done =
            consume(std::get<actors::approved_request>(got.value()), csr);
        CHECK(std::holds_alternative<events::appended>(done));
        ++joins;
      }
    } else if (random.coin()) {
      auto id = id_of(got);
      CHECK(state_of(id).request->seen.csr_sha256 == csr_of(csr));
      if (random.below(20) != 0) {
        CHECK(decide("approve", id, {{"ttlSeconds", "3600"}}).status == 200);
        ++approvals;
      } else if (refused.size() < 2) {
        CHECK(decide("reject", id).status == 200);
        refused.insert(csr_of(csr));
      }
    }
    auto page = reader->list_join_requests(
        {pool.str(), site.str(), "pending", time.now()}, "", 200);
    REQUIRE(page);
    CHECK(page.value().items.size() <= 1);
    CHECK(joins <= approvals);
  }
  CHECK(approvals > 10);
  CHECK(joins > 3);
  REQUIRE(store->verify({events::moves_of}));
}

TEST_CASE("deferral: a free place, whichever the seed says") {
  using actors::free_place;
  CHECK(!free_place({}, 0, 7));
  CHECK(!free_place({0, 1, 2}, 3, 7));
  CHECK(!free_place({2, 0, 1, 1, 9, -4}, 3, 7));
  CHECK(free_place({0, 2}, 3, 12345) == 1);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto place = free_place({1, 3, 4, 8}, 10, seed);
    REQUIRE(place);
    CHECK(std::set<std::int64_t>{0, 2, 5, 6, 7, 9}.contains(*place));
  }
  std::set<std::int64_t> all;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    all.insert(*free_place({1, 3, 4, 8}, 10, seed));
  CHECK(all.size() == 6);
  CHECK(actors::places_text({5, 0, 12}) == "5,0,12");
  CHECK(actors::read_places("5,0,12") == std::vector<std::int64_t>{5, 0, 12});
  CHECK(actors::read_places("").empty());
}
