// The life of a node: joins, reclaims, cordons, its end (DESIGN 8, CASES 63 to
// 68).
#include "events/node.hpp"

#include "events/node_sessions.hpp"
#include "node_lives.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::all_of;
using bc::testing::at;
using bc::testing::fold;
using bc::testing::join_at;
using bc::testing::joined_at;
using bc::testing::live;
using bc::testing::sampler;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

}  // namespace

TEST_CASE("node: joins as adopting, with its certificate") {
  sampler random{1};
  auto j = join_at(random, now);
  auto decided = node::decide({}, node::join{j}).value();
  REQUIRE(decided.size() == 1);
  auto s = fold(decided);
  CHECK(s.version == 1);
  REQUIRE(s.node);
  CHECK(s.node->id == j.id);
  CHECK_FALSE(s.node->reclaim);
  CHECK(s.current == node::status::adopting);
  CHECK(s.generation == 1);
  REQUIRE(s.certificates.size() == 1);
  CHECK(s.certificates[0].cert.serial == j.cert.serial);
  CHECK_FALSE(s.certificates[0].revoked_at);
  CHECK(node::current_certificate(s, now)->serial == j.cert.serial);
  CHECK(node::holds_hardware(s, j.hardware_key));
  CHECK_FALSE(node::holds_hardware(s, std::string(64, 'b')));
}

TEST_CASE(
    "node: a reclaim is the next generation and ends the older (case 63)") {
  auto s = joined_at({now});
  const auto first = s.certificates[0].cert;
  const auto subject = s.node->answer_subject;
  sampler random{2};
  auto again = join_at(random, now + seconds{60});
  again.id = s.node->id;
  auto decided = node::decide(s, node::join{again}).value();
  REQUIRE(decided.size() == 2);
  auto revoked = all_of<node::certificate_revoked>(decided);
  REQUIRE(revoked.size() == 1);
  CHECK(revoked[0].serial == first.serial);
  CHECK(revoked[0].generation == 1);
  CHECK(revoked[0].reason == node::revocation::reclaimed);
  CHECK(revoked[0].answer == node::answer_claim(subject, first.csr_sha256));
  auto j = all_of<node::joined>(decided).at(0);
  CHECK(j.reclaim);
  CHECK(j.cert.generation == 2);

  s = fold(decided, s);
  CHECK(s.generation == 2);
  CHECK(s.current == node::status::adopting);
  REQUIRE(s.certificates.size() == 2);
  CHECK(s.certificates[0].revoked_at == again.at);
  CHECK(live(s, again.at) == 1);
  CHECK(node::current_certificate(s, again.at)->serial == j.cert.serial);
}

TEST_CASE("node: certificates that are over are forgotten at the next join") {
  auto s = joined_at({now, now + seconds{86'099}, now + seconds{86'100}});
  CHECK(s.generation == 3);
  REQUIRE(s.certificates.size() == 2);
  CHECK(s.certificates[0].cert.generation == 2);
  // Only what is live is revoked: nothing is told of one that is over.
  sampler random{3};
  auto late = join_at(random, now + seconds{3 * 86'400});
  auto decided = node::decide(s, node::join{late}).value();
  CHECK(all_of<node::certificate_revoked>(decided).empty());
}

TEST_CASE("node: the moves between the states") {
  using node::status;
  auto s = joined_at({now});
  auto id = s.node->id;
  enum class what { adopt, cordon, retire, revoke };
  struct row {
    status from;
    what command;
    std::optional<status> to;  // none: INVALID_STATE
    std::size_t events;
  };
  auto r = GENERATE(row{status::adopting, what::adopt, status::adopted, 1},
                    row{status::cordoned, what::adopt, status::adopted, 1},
                    row{status::adopted, what::adopt, status::adopted, 0},
                    row{status::retired, what::adopt, std::nullopt, 0},
                    row{status::adopting, what::cordon, status::cordoned, 1},
                    row{status::adopted, what::cordon, status::cordoned, 1},
                    row{status::cordoned, what::cordon, status::cordoned, 0},
                    row{status::retired, what::cordon, std::nullopt, 0},
                    row{status::adopting, what::retire, std::nullopt, 0},
                    row{status::adopted, what::retire, std::nullopt, 0},
                    row{status::cordoned, what::retire, status::retired, 2},
                    row{status::retired, what::retire, status::retired, 0},
                    row{status::adopting, what::revoke, status::adopting, 1},
                    row{status::adopted, what::revoke, status::adopted, 1},
                    row{status::cordoned, what::revoke, status::cordoned, 1});
  CAPTURE(node::status_text(r.from), static_cast<int>(r.command));
  if (r.from == status::adopted)
    s = fold({node::adopted{id, now}}, s);
  if (r.from == status::cordoned)
    s = fold({node::cordoned{id, "", now}}, s);
  if (r.from == status::retired)
    s = fold({node::retired{id, "", now, ""}}, s);
  REQUIRE(s.current == r.from);
  auto done = r.command == what::adopt ? node::decide(s, node::adopt{now})
              : r.command == what::cordon
                  ? node::decide(s, node::cordon{now, "words"})
              : r.command == what::retire
                  ? node::decide(s, node::retire{now, "words"})
                  : node::decide(s, node::revoke_identity{now, "words"});
  REQUIRE(done.has_value() == r.to.has_value());
  if (!done) {
    CHECK(done.error().code == errc::invalid_state);
    return;
  }
  CHECK(done.value().size() == r.events);
  CHECK(fold(done.value(), s).current == *r.to);
}

TEST_CASE("node: nothing can be done with one that is not there") {
  auto missing = [](const auto& done) {
    REQUIRE(!done);
    CHECK(done.error().code == errc::not_found);
  };
  missing(node::decide({}, node::adopt{now}));
  missing(node::decide({}, node::cordon{now, ""}));
  missing(node::decide({}, node::retire{now, ""}));
  missing(node::decide({}, node::revoke_identity{now, ""}));
  missing(node::decide({}, node::suspect_clone{now}));
}

TEST_CASE("node: one that is deleted says to cordon it first") {
  auto refused = node::decide(joined_at({now}), node::retire{now, ""});
  REQUIRE(!refused);
  CHECK_THAT(refused.error().message, Catch::Contains("cordon it first"));
}

TEST_CASE("node: the end revokes what lives and gives the hardware up") {
  auto s = fold({node::cordoned{{}, "", now}}, joined_at({now}));
  auto decided = node::decide(s, node::retire{now, "sold"}).value();
  auto revoked = all_of<node::certificate_revoked>(decided);
  REQUIRE(revoked.size() == 1);
  CHECK(revoked[0].reason == node::revocation::deleted);
  CHECK(revoked[0].note == "sold");
  auto retired = all_of<node::retired>(decided);
  REQUIRE(retired.size() == 1);
  CHECK(retired[0].reason == "sold");
  CHECK(retired[0].hardware_key == s.node->hardware_key);
  auto after = fold(decided, s);
  CHECK(after.retired_at == now);
  CHECK(node::current_certificate(after, now) == nullptr);
  CHECK_FALSE(node::holds_hardware(after, s.node->hardware_key));

  // One that held no hardware gives none up.
  s.node->hardware_key_trusted = false;
  decided = node::decide(s, node::retire{now, ""}).value();
  CHECK(all_of<node::retired>(decided).at(0).hardware_key.empty());
}

TEST_CASE("node: nothing brings a retired one back") {
  auto s = fold({node::cordoned{{}, "", now}}, joined_at({now}));
  s = fold(node::decide(s, node::retire{now, ""}).value(), s);
  sampler random{4};
  auto j = join_at(random, now);
  auto refused = node::decide(s, node::join{j});
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
  // Nor an event that is in the journal all the same.
  auto after =
      fold({j, node::adopted{j.id, now}, node::cordoned{j.id, "", now}}, s);
  CHECK(after.current == node::status::retired);
  CHECK(after.generation == s.generation);
  CHECK(after.version == s.version + 3);
}

TEST_CASE("node: a reclaim does not lift a cordon") {
  auto s = fold({node::cordoned{{}, "broken fan", now}}, joined_at({now}));
  sampler random{5};
  s = fold(node::decide(s, node::join{join_at(random, now)}).value(), s);
  CHECK(s.generation == 2);
  CHECK(s.current == node::status::cordoned);
  CHECK(s.cordon->reason == "broken fan");
  s = fold(node::decide(s, node::adopt{now}).value(), s);
  CHECK(s.current == node::status::adopted);
  CHECK_FALSE(s.cordon);
}

TEST_CASE("node: an identity is revoked once") {
  auto s = joined_at({now});
  auto decided = node::decide(s, node::revoke_identity{now, "stolen"}).value();
  auto revoked = all_of<node::certificate_revoked>(decided);
  REQUIRE(revoked.size() == 1);
  CHECK(revoked[0].reason == node::revocation::revoked);
  CHECK(revoked[0].note == "stolen");
  s = fold(decided, s);
  CHECK(node::current_certificate(s, now) == nullptr);
  CHECK(node::decide(s, node::revoke_identity{now, ""}).value().empty());
  // Nor is one that is over and cannot come back by it any more.
  const auto end = now + seconds{86'100};
  CHECK(node::decide(joined_at({now}),
                     node::revoke_identity{
                         end + node::rejoin_window + milliseconds{1}, ""})
            .value()
            .empty());
  CHECK(node::decide(joined_at({now}), node::revoke_identity{end, ""})
            .value()
            .size() == 1);
}

TEST_CASE("node: the third reclaim in ten minutes is one too many (case 68)") {
  const auto late = now + seconds{599};
  CHECK_FALSE(node::is_reclaimed_too_often(joined_at({now}), now));
  CHECK_FALSE(node::is_reclaimed_too_often(joined_at({now, now}), now));
  auto twice = joined_at({now, now, now});
  CHECK(node::is_reclaimed_too_often(twice, now));
  CHECK(node::is_reclaimed_too_often(twice, late));
  CHECK_FALSE(node::is_reclaimed_too_often(twice, now + seconds{600}));
  // Each counts for itself.
  auto spread = joined_at({now, now, now + seconds{300}});
  CHECK(node::is_reclaimed_too_often(spread, late));
  CHECK_FALSE(node::is_reclaimed_too_often(spread, now + seconds{600}));
}

TEST_CASE("node: a clone is told of once in ten minutes (case 68)") {
  auto s = joined_at({now, now, now});
  auto told = node::decide(s, node::suspect_clone{now}).value();
  REQUIRE(told.size() == 1);
  const auto& event = std::get<node::clone_suspected>(told[0]);
  CHECK(event.tenant == s.node->tenant);
  CHECK(event.hardware_key == s.node->hardware_key);
  s = fold(told, s);
  CHECK(
      node::decide(s, node::suspect_clone{now + seconds{599}}).value().empty());
  CHECK(
      node::decide(s, node::suspect_clone{now + seconds{600}}).value().size() ==
      1);
}

TEST_CASE("node: events of nobody change nothing") {
  auto id = testing::fixed_id<node_id>(1);
  auto s = fold({node::adopted{id, now}, node::cordoned{id, "", now},
                 node::retired{id, "", now, ""}});
  CHECK(!s.node);
  CHECK(s.current == node::status::adopting);
  CHECK(s.version == 3);
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

TEST_CASE("node: whatever is asked of it, at most one generation lives") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    sampler random{seed};
    node::state s;
    auto when = now;
    std::int64_t joins = 0;
    for (int step = 0; step < 30; ++step) {
      when = when + seconds{static_cast<std::int64_t>(random.below(20'000))};
      result<std::vector<node::event>> done = std::vector<node::event>{};
      switch (random.below(6)) {
        case 0:
        case 1:
          done = node::decide(s, node::join{join_at(random, when)});
          joins += done ? 1 : 0;
          break;
        case 2:
          done = node::decide(s, node::adopt{when});
          break;
        case 3:
          done = node::decide(s, node::cordon{when, ""});
          break;
        case 4:
          done = node::decide(s, node::revoke_identity{when, ""});
          break;
        default:
          // Rarely, or no life is long.
          if (random.below(4) == 0)
            done = node::decide(s, node::retire{when, ""});
      }
      const auto before = s.current;
      if (done)
        s = fold(done.value(), s);
      CHECK(s.generation == joins);
      for (const auto& i : s.certificates)
        CHECK((!node::is_live(i, when) || i.cert.generation == s.generation));
      CHECK(live(s, when) <= 1);
      if (before == node::status::retired) {
        CHECK(s.current == node::status::retired);
        CHECK(live(s, when) == 0);
      }
    }
  }
}

TEST_CASE("node: who is told that its MACs are another's too (case 54)") {
  const auto s = joined_at({now});
  const auto ours = s.node->tenant;
  sampler random{5};
  const auto other = random.id<node_id>();
  const auto theirs = random.id<tenant_id>();
  const std::vector<std::string> macs{std::string(64, 'b')};
  auto told = [&](const node::state& of, const tenant_id& tenant,
                  bool had_them_first) {
    auto decided = node::decide(
        of, node::tell_shared{macs, other, tenant, had_them_first, now});
    REQUIRE(decided);
    return decided.value();
  };
  auto shared = [&](std::optional<node_id> with) {
    return node::hardware_shared{s.node->id, ours, macs, with, now};
  };
  auto one = told(s, ours, false);
  REQUIRE(one.size() == 1);
  CHECK(std::get<node::hardware_shared>(one[0]) == shared(other));
  CHECK(told(s, ours, true).empty());
  for (bool first : {false, true}) {
    auto foreign = told(s, theirs, first);
    REQUIRE(foreign.size() == 1);
    CHECK(std::get<node::hardware_shared>(foreign[0]) == shared(std::nullopt));
  }
  CHECK(!node::decide(node::state{},
                      node::tell_shared{macs, other, ours, false, now}));

  // It changes nothing, and takes a claim for each MAC, for ever.
  auto after = node::evolve(s, one[0]);
  CHECK(after.version == s.version + 1);
  CHECK(after.current == s.current);
  CHECK(after.node->hardware_key == s.node->hardware_key);
  const auto moves = node::moves_of(one[0]);
  REQUIRE(moves.claims.size() == 1);
  CHECK(moves.claims[0].what == claim_move::kind::take);
  CHECK(moves.claims[0].claim == node::told_claim(s.node->id, macs[0]));
  CHECK(moves.claims[0].expires_at == std::nullopt);

  auto retired = node::evolve(s, node::retired{s.node->id, "", now, ""});
  CHECK(told(retired, ours, false).empty());
  CHECK(told(retired, theirs, true).empty());
}
