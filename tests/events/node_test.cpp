// The life of a node: joins, reclaims, cordons, its end (DESIGN 8, CASES 63 to
// 68).
#include "events/node.hpp"

#include "events/node_sessions.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::sampler;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

node::state fold(const std::vector<node::event>& events, node::state s = {}) {
  for (const auto& e : events)
    s = node::evolve(std::move(s), e);
  return s;
}

/// A join as it comes to the decider: good for a day from `when`.
node::joined join_at(sampler& random, time_point when) {
  auto j = random.node_joined();
  j.hardware_key = std::string(64, 'a');
  j.hardware_key_trusted = true;
  j.at = when;
  j.cert.not_before = when - seconds{300};
  j.cert.not_after = when + seconds{86'100};
  return j;
}

/// Joined once, and again for each further time.
node::state joined_at(const std::vector<time_point>& times) {
  sampler random{7};
  node::state s;
  for (auto when : times)
    s = fold(node::decide(s, node::join{join_at(random, when)}).value(), s);
  return s;
}

template <class Event>
std::vector<Event> all_of(const std::vector<node::event>& events) {
  std::vector<Event> out;
  for (const auto& e : events)
    if (const auto* one = std::get_if<Event>(&e))
      out.push_back(*one);
  return out;
}

std::size_t live(const node::state& s, time_point when) {
  return static_cast<std::size_t>(
      std::count_if(s.certificates.begin(), s.certificates.end(),
                    [&](const auto& i) { return node::is_live(i, when); }));
}

/// A renewal as it comes to the decider: good for a day from `when`.
node::renewed renewal_at(sampler& random, const node::state& s,
                         time_point when) {
  auto r = random.node_renewed(*s.node);
  r.at = when;
  r.cert.not_before = when - seconds{300};
  r.cert.not_after = when + seconds{86'100};
  return r;
}

node::state renewed_at(sampler& random, node::state s, time_point when) {
  return fold(node::decide(s, node::renew{renewal_at(random, s, when)}).value(),
              s);
}

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

TEST_CASE("node: a renewal adds a certificate of the same generation") {
  sampler random{31};
  auto s = joined_at({now, now + seconds{60}});
  REQUIRE(s.generation == 2);
  const auto first = s.certificates.back().cert;
  auto r = renewal_at(random, s, now + seconds{3600});
  r.cert.generation = 77;  // set by the decider alone
  const auto decided = node::decide(s, node::renew{r}).value();
  REQUIRE(decided.size() == 1);
  CHECK(std::get<node::renewed>(decided[0]).cert.generation == 2);
  s = fold(decided, s);
  CHECK(s.generation == 2);
  CHECK(s.current == node::status::adopting);
  CHECK(node::current_certificate(s, r.at)->serial == r.cert.serial);
  // The one before goes on (case 105).
  CHECK(live(s, r.at) == 2);
  CHECK(live(s, first.not_after) == 1);
}

TEST_CASE("node: 1,000 renewals leave no more than two certificates") {
  sampler random{32};
  auto s = joined_at({now});
  auto when = now;
  for (int i = 0; i < 1'000; ++i) {
    when += seconds{14 * 3600};  // 60 % of a day
    s = renewed_at(random, std::move(s), when);
    CHECK(s.certificates.size() <= 2);
  }
  CHECK(s.version == 1'001);
  CHECK(live(s, when) == 2);
}

TEST_CASE("node: 1,000 renewals within an hour leave eight live ones") {
  sampler random{34};
  auto s = joined_at({now});
  const auto first = s.certificates[0].cert.serial;
  // The machine goes on with the newest, or with one and the same.
  const bool by_one = GENERATE(false, true);
  CAPTURE(by_one);
  auto when = now;
  std::size_t revoked = 0;
  for (int i = 0; i < 1'000; ++i) {
    when += milliseconds{3'600};
    auto r = renewal_at(random, s, when);
    r.previous_serial = by_one ? first : s.certificates.back().cert.serial;
    const auto oldest = s.certificates[by_one ? 1U % s.certificates.size() : 0];
    const auto decided = node::decide(s, node::renew{r}).value();
    // So many at a time, too.
    REQUIRE(decided.size() <= 2);
    for (const auto& one : all_of<node::certificate_revoked>(decided)) {
      ++revoked;
      CHECK(one.reason == node::revocation::superseded);
      CHECK(one.serial == oldest.cert.serial);
      CHECK(one.serial != r.previous_serial);
      CHECK_FALSE(one.answer.empty());
    }
    s = fold(decided, s);
    REQUIRE(s.certificates.size() <= node::max_live_certificates);
    REQUIRE(s.certificates.back().cert.serial == r.cert.serial);
    REQUIRE(live(s, when) ==
            std::min<std::size_t>(static_cast<std::size_t>(i) + 2,
                                  node::max_live_certificates));
  }
  CHECK(revoked == 1'001 - node::max_live_certificates);
  CHECK((s.certificates.front().cert.serial == first) == by_one);
  // What ends the identity stays small.
  const auto all = node::decide(s, node::revoke_identity{when, ""}).value();
  CHECK(all.size() == node::max_live_certificates);
}

TEST_CASE(
    "node: who renews a copied key spares the live session's certificate") {
  sampler random{35};
  auto s = joined_at({now});
  const auto copied = s.certificates[0].cert.serial;
  s = renewed_at(random, std::move(s), now + seconds{1});
  const auto used = s.certificates.back().cert.serial;
  s = fold(node::decide(s, node::connect{now + seconds{2}, "sess_1", "gw_1",
                                         "192.0.2.1", "0.1.0", used})
               .value(),
           s);
  for (int i = 0; i < 40; ++i) {
    auto r = renewal_at(random, s, now + seconds{3 + i});
    r.previous_serial = copied;
    s = fold(node::decide(s, node::renew{r}).value(), s);
  }
  CHECK(s.certificates.size() <= node::max_live_certificates);
  CHECK(std::ranges::any_of(s.certificates, [&used](const auto& i) {
    return i.cert.serial == used && !i.revoked_at;
  }));
}

TEST_CASE("node: what ends an identity ends every renewal of it") {
  sampler random{33};
  auto s = joined_at({now});
  s = renewed_at(random, std::move(s), now + seconds{60});
  s = renewed_at(random, std::move(s), now + seconds{120});
  const auto when = now + seconds{180};
  REQUIRE(live(s, when) == 3);
  auto ended_by = [&](const result<std::vector<node::event>>& decided) {
    const auto revoked = all_of<node::certificate_revoked>(decided.value());
    REQUIRE(revoked.size() == 3);
    // The join's answer, and the renewals' by the node's name.
    CHECK(revoked[0].answer ==
          node::answer_claim(s.node->answer_subject,
                             s.certificates[0].cert.csr_sha256));
    for (std::size_t i : {1U, 2U})
      CHECK(revoked[i].answer ==
            node::answer_claim(s.node->id.str(),
                               s.certificates[i].cert.csr_sha256));
    auto after = fold(decided.value(), s);
    const bool joined_anew = !all_of<node::joined>(decided.value()).empty();
    CHECK((node::current_certificate(after, when) != nullptr) == joined_anew);
    return live(after, when);
  };
  CHECK(ended_by(node::decide(s, node::revoke_identity{when, ""})) == 0);
  CHECK(ended_by(node::decide(s, node::join{join_at(random, when)})) == 1);
  auto cordoned = fold(node::decide(s, node::cordon{when, ""}).value(), s);
  CHECK(ended_by(node::decide(cordoned, node::retire{when, ""})) == 0);
}

TEST_CASE("node: who is no node, or retired, is not renewed") {
  sampler random{34};
  auto s = joined_at({now});
  const auto r = renewal_at(random, s, now);
  CHECK(node::decide(node::state{}, node::renew{r}).error().code ==
        errc::not_found);
  s = fold(node::decide(s, node::cordon{now, ""}).value(), s);
  // A cordoned one is.
  CHECK(node::decide(s, node::renew{r}));
  s = fold(node::decide(s, node::retire{now, ""}).value(), s);
  CHECK(node::decide(s, node::renew{r}).error().code == errc::invalid_state);
  const auto before = s.certificates;
  s = node::evolve(s, r);
  CHECK(s.certificates == before);
}
