// Renewals on a node's stream: certificates of one generation (DESIGN 8; CASES
// 105).
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
using bc::testing::renewal_at;
using bc::testing::renewed_at;
using bc::testing::sampler;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

}  // namespace

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
