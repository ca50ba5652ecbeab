// What happens while a vouch is judged: the lease moves, its agent is revoked,
// the same request comes twice, the store cannot tell (spec: ATTESTATION
// section 4, 8.10; DESIGN section 3).
#include "events/event_names.hpp"
#include "tests/actors/discovery_refusing.hpp"

namespace bc::test {
namespace {

namespace name = events::name;
namespace node = events::node;
using actors::discovery_approval;
using events::refusal_reason;

/// Does something of another's before the next append.
struct meddling final : places_ledger {
  using places_ledger::places_ledger;
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (auto run = std::exchange(first, nullptr))
      run();
    places_ledger::append(std::move(b), std::move(done));
  }
  std::function<void()> first;
};

/// The call after `left` others fails.
struct failing final : places_ledger {
  using places_ledger::places_ledger;
  [[nodiscard]] bool fails() { return left-- == 0; }
  template <class T>
  bool broke(const T& done) {
    if (!fails())
      return false;
    done(fail(errc::unavailable, "no store"));
    return true;
  }
  void site(const site_id& id,
            actors::reply_to<actors::shared_state<events::site::state>> done)
      override {
    if (!broke(done))
      places_ledger::site(id, std::move(done));
  }
  void boot_lease(
      const site_id& id,
      actors::reply_to<actors::shared_state<events::boot_lease::state>> done)
      override {
    if (!broke(done))
      places_ledger::boot_lease(id, std::move(done));
  }
  void node(const node_id& id,
            actors::reply_to<actors::shared_state<node::state>> done) override {
    if (!broke(done))
      places_ledger::node(id, std::move(done));
  }
  void token(const join_token_id& id,
             actors::reply_to<actors::shared_state<events::join_token::state>>
                 done) override {
    if (!broke(done))
      places_ledger::token(id, std::move(done));
  }
  void pool(const pool_id& id,
            actors::reply_to<actors::shared_state<events::pool::state>> done)
      override {
    if (!broke(done))
      places_ledger::pool(id, std::move(done));
  }
  void holder(
      std::string claim,
      actors::reply_to<std::optional<events::claim_holder>> done) override {
    if (!broke(done))
      places_ledger::holder(std::move(claim), std::move(done));
  }
  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    if (!broke(done))
      places_ledger::append(std::move(b), std::move(done));
  }
  int left = -1;
};

}  // namespace

TEST_CASE_METHOD(refusal_world,
                 "discovery: the lease moves while a request is judged",
                 "[actors]") {
  auto b = new_agent(901);
  auto between = std::make_shared<meddling>(*journal, time, site);
  const auto plain = std::exchange(ledger, between);
  auto meanwhile = [&](std::function<void()> what) {
    between->first = [&, what = std::move(what)] {
      ledger = plain;
      what();
      ledger = between;
    };
  };
  SECTION("to another agent: refused, nothing spent") {
    meanwhile([&] {
      release(a);
      lease_to(b);
    });
    auto t = join(good());
    CHECK(t.answer.code == errc::access_denied);
    REQUIRE(t.reports.size() == 1);
    CHECK(t.reports[0].reason == refusal_reason::discovery_lease);
    CHECK(uses_left(token) == 1);
    CHECK(count(name::node_joined) == 2);
  }
  SECTION("it is extended: admitted all the same") {
    meanwhile([&] {
      time.advance(seconds{20});
      lease_to(a);
    });
    CHECK(joined(join(good())));
  }
  SECTION("its agent is revoked") {
    meanwhile([&] { command(a.id, node::revoke_identity{time.now(), ""}); });
    auto t = join(good());
    REQUIRE(t.reports.size() == 1);
    CHECK(t.reports[0].reason == refusal_reason::discovery_vouch_signer);
    CHECK(uses_left(token) == 1);
  }
  SECTION("it moves while the request is put off") {
    discovery->approval = discovery_approval::always;
    meanwhile([&] {
      release(a);
      lease_to(b);
    });
    auto t = join(good());
    REQUIRE(t.reports.size() == 1);
    CHECK(t.reports[0].reason == refusal_reason::discovery_lease);
    CHECK(count(name::join_request_opened) == 0);
  }
  SECTION("the vouch ends") {
    meanwhile([&] { time.advance(seconds{60}); });
    auto t = join(good());
    REQUIRE(t.reports.size() == 1);
    CHECK(t.reports[0].reason == refusal_reason::discovery_vouch_expired);
    CHECK(uses_left(token) == 1);
  }
  SECTION("a refusal by the lease that came to stand") {
    release(a);
    auto r = good();
    meanwhile([&] { lease_to(a); });
    // An epoch ahead of the lease that was read, the very one that is.
    r.discovery->vouch =
        vouch_for(r, mac_of(1), a, [](auto& says) { ++says.boot_lease_epoch; });
    CHECK(joined(join(r)));
  }
  SECTION("the same vouch is used by the same request") {
    auto r = good();
    std::optional<tried> other;
    meanwhile([&] { other = join(r); });
    auto t = join(r);
    REQUIRE(joined(t));
    REQUIRE(joined(*other));
    CHECK(t.answer.body == other->answer.body);
    CHECK(uses_left(token) == 0);
    CHECK(count(name::node_joined) == 3);
  }
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: a person says no while a token's join is judged",
                 "[actors]") {
  discovery->approval = discovery_approval::unknown_machines;
  auto between = std::make_shared<meddling>(*journal, time, site);
  const auto plain = std::exchange(ledger, between);
  auto asked = ask(m);
  asked.discovery->vouch = vouch_for(asked, mac_of(1), a);
  std::string id;
  SECTION("to what waits") {
    id = deferred_request(join(asked));
  }
  SECTION("to what was approved") {
    id = deferred_request(join(asked));
    approve(id, pool);
  }
  SECTION("to what comes and goes meanwhile") {
    // Asked, and rejected, between.
  }
  between->first = [&] {
    ledger = plain;
    if (id.empty())
      id = deferred_request(join(asked));
    reject(id, pool);
    ledger = between;
  };
  const auto nodes = count(name::node_joined);
  auto t = join(good());
  CHECK(t.answer.code == errc::access_denied);
  REQUIRE(t.reports.size() == 1);
  CHECK(t.reports[0].reason == refusal_reason::discovery_rejected);
  CHECK(uses_left(token) == 1);
  CHECK(count(name::node_joined) == nodes);
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: a journal that cannot tell is UNAVAILABLE, never "
                 "a refusal",
                 "[actors]") {
  auto broken = std::make_shared<failing>(*journal, time, site);
  const auto mode =
      GENERATE(discovery_approval::never, discovery_approval::always);
  discovery->approval = mode;
  const auto plain = std::exchange(ledger, broken);
  int failed = 0;
  for (int step = 0; step < 40; ++step) {
    const auto r = good();
    const auto before = head();
    broken->left = step;
    auto t = join(r);
    if (broken->left >= 0)
      break;
    CAPTURE(step);
    CHECK(t.answer.what == wire::join_answer::kind::failed);
    CHECK(t.answer.code == errc::unavailable);
    CHECK(t.reports.empty());
    CHECK(head() == before);
    ++failed;
  }
  CHECK(failed >= 8);
  ledger = plain;
}

}  // namespace bc::test
