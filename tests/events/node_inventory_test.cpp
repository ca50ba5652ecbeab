// What an inventory makes of a node's hardware key, and what an operator is
// told (spec: ATTESTATION 5, 7).
#include "events/node_inventory.hpp"

#include "awaiting_node.hpp"
#include "events/node.hpp"
#include "events/state_codec.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::after;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

const auto now = at("2026-11-29T12:00:00Z");
const auto node_a = fixed_id<node_id>(1);

using names = std::vector<std::string>;

node::state awaiting() {
  return bc::testing::awaiting(node_a, now);
}

node::state with_key(std::string key, bool trusted) {
  auto s = awaiting();
  s.node->hardware_key = std::move(key);
  s.node->hardware_key_trusted = trusted;
  return s;
}

}  // namespace

TEST_CASE("inventory: what it makes of the node's hardware key") {
  const std::string own(64, 'a'), found(64, 'b');
  struct row {
    std::string key;  // the node's
    bool trusted;
    node::record_inventory what;
    // After it.
    std::string goes_by;
    bool is_trusted, changed, taken, takes;
    std::size_t events;
  };
  const std::vector<row> rows = {
      // A missing or untrusted one is filled.
      {"",
       false,
       {now, found, true, false},
       found,
       true,
       false,
       false,
       true,
       1},
      {own,
       false,
       {now, found, true, false},
       found,
       true,
       false,
       false,
       true,
       1},
      {"",
       false,
       {now, found, false, false},
       found,
       false,
       false,
       false,
       false,
       1},
      {own,
       false,
       {now, own, false, false},
       own,
       false,
       false,
       false,
       false,
       0},
      // Not by what another node holds.
      {"", false, {now, found, true, true}, "", false, false, true, false, 1},
      {own, false, {now, found, true, true}, own, false, false, true, false, 1},
      // A trusted one is never replaced.
      {own, true, {now, own, true, false}, own, true, false, false, false, 0},
      {own, true, {now, found, true, false}, own, true, true, false, false, 1},
      {own, true, {now, found, true, true}, own, true, true, false, false, 1},
      {own,
       true,
       {now, found, false, false},
       own,
       true,
       false,
       false,
       false,
       0},
      // It found nothing.
      {"", false, {now, "", false, false}, "", false, false, false, false, 0},
      {own, true, {now, "", false, false}, own, true, false, false, false, 0},
  };
  for (const auto& r : rows) {
    INFO(r.key << " " << r.trusted << " " << r.what.hardware_key << " "
               << r.what.trusted << " " << r.what.taken);
    auto s = with_key(r.key, r.trusted);
    auto decided = decide(s, r.what);
    REQUIRE(decided);
    CHECK(decided.value().size() == r.events);
    auto then = after(s, decided.value());
    CHECK(then.node->hardware_key == r.goes_by);
    CHECK(then.node->hardware_key_trusted == r.is_trusted);
    CHECK(then.hardware_changed_at.has_value() == r.changed);
    CHECK(then.hardware_taken_at.has_value() == r.taken);
    CHECK(node::holds_hardware(then, r.goes_by) == r.is_trusted);
    std::size_t takes = 0;
    for (const auto& e : decided.value()) {
      takes += node::moves_of(e).claims.size();
      auto back = node::decode(stored(node::encode(e), "node:1"));
      REQUIRE(back);
      CHECK(std::get<node::inventory_recorded>(back.value()) ==
            std::get<node::inventory_recorded>(e));
      CHECK(node::moves_of(back.value()) == node::moves_of(e));
    }
    CHECK((takes == 1) == r.takes);
    // Said once, and a snapshot knows it.
    auto again = decide(then, r.what);
    REQUIRE(again);
    CHECK(again.value().empty());
    auto kept = node::decode_state(node::encode_state(then));
    REQUIRE(kept);
    CHECK(kept.value().hardware_changed_at == then.hardware_changed_at);
    CHECK(kept.value().hardware_taken_at == then.hardware_taken_at);
    CHECK(kept.value().node->hardware_key == then.node->hardware_key);
  }
}

TEST_CASE("inventory: a condition stands until it is true no more") {
  const std::string own(64, 'a'), other(64, 'b');
  auto s = with_key(own, true);
  const auto see = [&s](const std::string& key, bool trusted, time_point when) {
    auto decided = decide(s, node::record_inventory{when, key, trusted, false});
    REQUIRE(decided);
    s = after(s, decided.value());
  };
  see(other, true, now);
  see(other, false, now + seconds{1});  // says too little
  see(std::string(64, 'c'), true, now + seconds{2});
  CHECK(s.hardware_changed_at == now);
  SECTION("its own hardware is back") {
    see(own, true, now + seconds{3});
    CHECK_FALSE(s.hardware_changed_at);
  }
  SECTION("it joined again") {
    sampler random{7};
    s = node::evolve(s, random.node_joined());
    CHECK_FALSE(s.hardware_changed_at);
  }
  SECTION("a retired node says nothing") {
    s.current = node::status::retired;
    CHECK(decide(s, node::record_inventory{now, own, true, false})
              .value()
              .empty());
  }
}

TEST_CASE("inventory: which identifiers changed is said while it is so") {
  const std::string own(64, 'a'), other(64, 'b');
  auto s = with_key(own, true);
  const auto see = [&s](const std::string& key, bool trusted, names kinds) {
    auto decided = decide(
        s,
        node::record_inventory{now, key, trusted, false, std::move(kinds), {}});
    REQUIRE(decided);
    s = after(s, decided.value());
    return decided.value().size();
  };
  CHECK(see(other, true, {"serial"}) == 1);
  CHECK(s.changed_identifiers == names{"serial"});
  CHECK(see(other, true, {"serial"}) == 0);
  // Another part of it, still not its own.
  CHECK(see(other, true, {"serial", "mac"}) == 1);
  CHECK(s.changed_identifiers == names{"serial", "mac"});
  auto kept = node::decode_state(node::encode_state(s));
  REQUIRE(kept);
  CHECK(kept.value().changed_identifiers == s.changed_identifiers);
  // One that says too little changes nothing of it.
  CHECK(see(other, false, {"gpuUuid"}) == 0);
  // Under its own key parts come and go.
  CHECK(see(own, true, {"mac"}) == 1);
  CHECK(s.changed_identifiers.empty());
  CHECK(see(other, true, {"serial"}) == 1);
  sampler random{7};
  s = node::evolve(s, random.node_joined());
  CHECK(s.changed_identifiers.empty());
}

TEST_CASE("inventory: whatever comes, a trusted key stays (property)") {
  sampler random{static_cast<unsigned>(Catch::rngSeed())};
  const names keys{"", std::string(64, 'a'), std::string(64, 'b')};
  for (int run = 0; run < 200; ++run) {
    auto s = awaiting();
    std::optional<std::string> held;
    for (int step = 0; step < 12; ++step) {
      auto decided =
          decide(s, node::record_inventory{random.time(), keys[random.below(3)],
                                           random.coin(), random.coin()});
      REQUIRE(decided);
      s = after(s, decided.value());
      if (held)
        CHECK(s.node->hardware_key == *held);
      if (s.node->hardware_key_trusted)
        held = s.node->hardware_key;
      CHECK(s.node->hardware_key_trusted == held.has_value());
      CHECK_FALSE((s.hardware_changed_at && !held));
      CHECK_FALSE((s.hardware_taken_at && held));
    }
  }
}
