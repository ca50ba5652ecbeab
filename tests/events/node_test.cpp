#include "events/node.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::sampler;

namespace {

node::state fold(const std::vector<node::event>& events) {
  node::state s;
  for (const auto& e : events)
    s = node::evolve(std::move(s), e);
  return s;
}

const auto now = at("2026-11-29T12:00:00Z");

}  // namespace

TEST_CASE("node: joins as adopting, with its certificate") {
  auto j = sampler{1}.node_joined();
  auto s = fold({j});
  CHECK(s.version == 1);
  REQUIRE(s.node);
  CHECK(s.node->id == j.id);
  CHECK(s.current == node::status::adopting);
  CHECK(s.generation == j.cert.generation);
  REQUIRE(s.certificates.size() == 1);
  CHECK(s.certificates[0] == j.cert);
}

TEST_CASE("node: is adopted once") {
  auto j = sampler{2}.node_joined();
  auto s = fold({j});
  auto events = node::decide(s, node::adopt{now});
  REQUIRE(events);
  REQUIRE(events.value().size() == 1);
  CHECK(std::get<node::adopted>(events.value()[0]) == node::adopted{j.id, now});
  s = node::evolve(s, events.value()[0]);
  CHECK(s.current == node::status::adopted);
  CHECK(s.version == 2);
  CHECK(node::decide(s, node::adopt{now}).value().empty());
}

TEST_CASE("node: what is not there or has left is not adopted") {
  auto missing = node::decide({}, node::adopt{now});
  REQUIRE(!missing);
  CHECK(missing.error().code == errc::not_found);

  auto s = fold({sampler{3}.node_joined()});
  s.current = GENERATE(node::status::cordoned, node::status::retired);
  auto refused = node::decide(s, node::adopt{now});
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
  // An event that is in the journal all the same brings nobody back.
  auto after = node::evolve(s, node::adopted{s.node->id, now});
  CHECK(after.current == s.current);
}

TEST_CASE("node: an adoption of nobody changes nothing") {
  auto s = fold({node::adopted{testing::fixed_id<node_id>(1), now}});
  CHECK(!s.node);
  CHECK(s.current == node::status::adopting);
  CHECK(s.version == 1);
}

TEST_CASE("node: another join brings the next generation alone") {
  sampler random{4};
  auto first = random.node_joined();
  first.cert.generation = 1;
  auto second = random.node_joined();
  second.id = first.id;
  second.cert.generation = 2;
  auto s = fold({first, node::adopted{first.id, now}, second});
  CHECK(s.generation == 2);
  CHECK(s.current == node::status::adopting);
  REQUIRE(s.certificates.size() == 1);
  CHECK(s.certificates[0].serial == second.cert.serial);
}

TEST_CASE("node: a join takes its claims") {
  auto j = sampler{5}.node_joined();
  j.hardware_key = std::string(64, 'a');
  j.hardware_key_trusted = true;
  j.at = now;
  j.cert.not_after = now + seconds{86'100};
  auto week = j.cert.not_after + seconds{8 * 86'400};
  using kind = claim_move::kind;
  std::vector<claim_move> want{
      {kind::take, "hw:" + j.hardware_key, std::nullopt},
      {kind::take, "serial:" + j.cert.serial, week},
      {kind::take, "spki:" + j.cert.spki_sha256, week},
      {kind::take, "answer:" + j.answer_subject + ":" + j.cert.csr_sha256,
       now + seconds{600}}};
  auto effect = node::encode(j).effect;
  CHECK(effect.claims == want);
  CHECK(effect.budgets.empty());

  j.hardware_key_trusted = false;
  want.erase(want.begin());
  CHECK(node::encode(j).effect.claims == want);
  CHECK(node::encode(node::adopted{j.id, now}).effect == moves{});
}
