// spec: ATTESTATION section 4 (the boot lease)
#include "events/boot_lease.hpp"

#include "events/catalog.hpp"
#include "events/state_view.hpp"
#include "events/stream_fold.hpp"
#include "events/streams.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

const auto noon = at("2026-11-29T12:00:00Z");
const auto site_a = fixed_id<site_id>(1);
const auto owner = fixed_id<tenant_id>(2);
const auto agent_a = fixed_id<node_id>(3);
const auto agent_b = fixed_id<node_id>(4);
constexpr auto ttl = seconds{120};

boot_lease::state fold(const std::vector<boot_lease::event>& events,
                       boot_lease::state s = {}) {
  for (const auto& e : events)
    s = evolve(std::move(s), e);
  return s;
}

boot_lease::acquire by(const node_id& agent, time_point now) {
  return {site_a, owner, agent, ttl, now};
}

}  // namespace

TEST_CASE("boot lease: the first agent that asks has it, in epoch 1") {
  const auto decided = decide(boot_lease::state{}, by(agent_a, noon));
  REQUIRE(decided.size() == 1);
  const boot_lease::event expected = boot_lease::acquired{
      site_a, owner, agent_a, 1, std::nullopt, noon, noon + ttl};
  CHECK((decided.front() == expected));
  const auto s = fold(decided);
  CHECK(s.version == 1);
  REQUIRE(live_lease(s, noon) != nullptr);
  CHECK(live_lease(s, noon)->holder == agent_a);
  CHECK(live_lease(s, noon + ttl - milliseconds{1}) != nullptr);
  CHECK(live_lease(s, noon + ttl) == nullptr);
}

TEST_CASE("boot lease: its holder extends it in the same epoch") {
  auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  CHECK(decide(s, by(agent_a, noon)).empty());
  // While more than half of it is left there is nothing to write.
  CHECK(decide(s, by(agent_a, noon + ttl / 2 - milliseconds{1})).empty());
  const auto later = noon + ttl / 2;
  const auto decided = decide(s, by(agent_a, later));
  REQUIRE(decided.size() == 1);
  const boot_lease::event expected =
      boot_lease::extended{site_a, 1, later, later + ttl};
  CHECK((decided.front() == expected));
  s = fold(decided, s);
  CHECK(live_lease(s, noon + ttl)->epoch == 1);
  // A clock that goes back shortens nothing.
  CHECK(decide(s, by(agent_a, noon)).empty());
}

TEST_CASE("boot lease: another agent has to wait for its end") {
  const auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  CHECK(decide(s, by(agent_b, noon)).empty());
  CHECK(decide(s, by(agent_b, noon + ttl - milliseconds{1})).empty());
  const auto decided = decide(s, by(agent_b, noon + ttl));
  REQUIRE(decided.size() == 1);
  const auto& taken = std::get<boot_lease::acquired>(decided.front());
  CHECK(taken.holder == agent_b);
  CHECK(taken.epoch == 2);
  CHECK(taken.previous == agent_a);
}

TEST_CASE("boot lease: one whose agent is gone is free at once") {
  const auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  auto c = by(agent_b, noon + seconds{1});
  c.other_is_gone = true;
  const auto decided = decide(s, c);
  REQUIRE(decided.size() == 1);
  const boot_lease::event expected = boot_lease::acquired{
      site_a, owner, agent_b, 2, agent_a, c.now, c.now + ttl};
  CHECK((decided.front() == expected));
  // Of its own lease that says nothing.
  c.holder = agent_a;
  CHECK(decide(s, c).empty());
}

TEST_CASE("boot lease: an agent that asks each third of it, over an hour") {
  auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  int events = 0;
  auto now = noon;
  while (now < noon + std::chrono::hours{1}) {
    const auto* live = live_lease(s, now);
    REQUIRE(live != nullptr);
    CHECK(live->epoch == 1);
    CHECK(live->expires_at - now > ttl / 3);
    now += (live->expires_at - now) / 3;
    const auto decided = decide(s, by(agent_a, now));
    events += static_cast<int>(decided.size());
    s = fold(decided, s);
  }
  // At each request it would be 90.
  CHECK(events < 56);
}

TEST_CASE("boot lease: an agent that lost it takes it in another epoch") {
  const auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  const auto decided = decide(s, by(agent_a, noon + ttl));
  REQUIRE(decided.size() == 1);
  const auto& taken = std::get<boot_lease::acquired>(decided.front());
  CHECK(taken.epoch == 2);
  CHECK_FALSE(taken.previous);
}

TEST_CASE("boot lease: it is given up by its holder alone") {
  auto s = fold(decide(boot_lease::state{}, by(agent_a, noon)));
  const auto later = noon + seconds{10};
  CHECK(decide(s, boot_lease::release{agent_b, later}).empty());
  CHECK(decide(s, boot_lease::release{agent_a, noon + ttl}).empty());
  const auto decided = decide(s, boot_lease::release{agent_a, later});
  REQUIRE(decided.size() == 1);
  const boot_lease::event expected =
      boot_lease::released{site_a, agent_a, 1, later};
  CHECK((decided.front() == expected));
  s = fold(decided, s);
  CHECK(live_lease(s, later) == nullptr);
  CHECK(decide(s, boot_lease::release{agent_a, later}).empty());
  const auto next = decide(s, by(agent_b, later));
  REQUIRE(next.size() == 1);
  CHECK(std::get<boot_lease::acquired>(next.front()).epoch == 2);
}

TEST_CASE("boot lease: one holder at a time, epochs grow, whatever happens") {
  sampler random{static_cast<unsigned>(Catch::rngSeed())};
  const node_id agents[] = {agent_a, agent_b, fixed_id<node_id>(5)};
  for (int round = 0; round < 200; ++round) {
    boot_lease::state s;
    auto now = noon;
    std::map<std::int64_t, node_id> holders;
    std::int64_t last = 0;
    for (int step = 0; step < 60; ++step) {
      now += seconds{static_cast<int>(random.below(90))};
      const auto& who = agents[random.below(3)];
      const auto* before = live_lease(s, now);
      const bool foreign = before != nullptr && before->holder != who;
      const auto decided = random.below(4) == 0
                               ? decide(s, boot_lease::release{who, now})
                               : decide(s, by(who, now));
      REQUIRE(decided.size() <= 1);
      if (foreign)
        REQUIRE(decided.empty());
      for (const auto& e : decided) {
        s = evolve(std::move(s), e);
        const auto again = boot_lease::decode(stored(
            encode(e), boot_lease_stream(site_a), owner.str(), 1, s.version));
        REQUIRE(again);
        REQUIRE(again.value() == e);
      }
      if (const auto* live = live_lease(s, now)) {
        REQUIRE(live->epoch >= last);
        last = live->epoch;
        REQUIRE(holders.emplace(live->epoch, live->holder).first->second ==
                live->holder);
        REQUIRE(live->expires_at <= now + ttl);
      }
    }
  }
}

TEST_CASE("boot lease: its stream folds, and no other event gets in") {
  auto fold_of = make_stream_fold(boot_lease_stream(site_a));
  REQUIRE(fold_of);
  const auto event =
      encode(decide(boot_lease::state{}, by(agent_a, noon)).front());
  auto e = stored(event, boot_lease_stream(site_a), owner.str(), 1, 1);
  REQUIRE(fold_of->apply(e));
  const auto state =
      std::get<std::shared_ptr<const boot_lease::state>>(fold_of->state());
  CHECK(state->lease->holder == agent_a);
  CHECK(fold_of->state_json(false).find(owner.str()) == std::string::npos);
  CHECK(fold_of->state_json(false).find(agent_a.str()) != std::string::npos);
  e.type = "site.boot-lease-stolen";
  e.version = 2;
  CHECK_FALSE(fold_of->apply(e));
  auto moved = moves_of(stored(event, boot_lease_stream(site_a), "", 1, 1));
  REQUIRE(moved);
  CHECK(moved.value() == moves{});
}

TEST_CASE("boot lease: a snapshot stands for its events") {
  const auto stream = boot_lease_stream(site_a);
  std::vector<envelope> all;
  boot_lease::state s;
  auto now = noon;
  // Agents that take over from one another, and extend.
  for (int i = 0; i < 40; ++i) {
    now += seconds{i % 7 == 6 ? 200 : 60};
    const auto& who = i % 14 < 7 ? agent_a : agent_b;
    for (const auto& e : decide(s, by(who, now))) {
      s = evolve(std::move(s), e);
      all.push_back(
          stored(encode(e), stream, owner.str(), all.size() + 1, s.version));
    }
  }
  REQUIRE(all.size() > 20);
  for (std::size_t cut : {std::size_t{1}, all.size() / 2, all.size()}) {
    auto first = make_stream_fold(stream);
    for (std::size_t i = 0; i < cut; ++i)
      REQUIRE(first->apply(all[i]));
    auto rest = make_stream_fold(stream);
    REQUIRE(rest->restore(*first->to_snapshot()));
    for (std::size_t i = cut; i < all.size(); ++i)
      REQUIRE(rest->apply(all[i]));
    const auto state =
        std::get<std::shared_ptr<const boot_lease::state>>(rest->state());
    CHECK(state->version == s.version);
    CHECK(*state->lease == *s.lease);
  }
}

TEST_CASE("boot lease: an event that lacks a field is damage") {
  const auto good =
      encode(decide(boot_lease::state{}, by(agent_a, noon)).front());
  for (const auto* field : {"siteId", "holder", "epoch", "expiresAt"}) {
    auto e = stored(good, boot_lease_stream(site_a), owner.str(), 1, 1);
    const auto name = '"' + std::string{field} + '"';
    e.data.replace(e.data.find(name), name.size(), "\"other\"");
    auto got = boot_lease::decode(e);
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::internal);
  }
}
