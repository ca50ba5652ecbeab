// A node that goes on by its expired certificate (ATTESTATION sections 3, 9c).
#include "events/node.hpp"
#include "events/rejoin.hpp"
#include "events/state_codec.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::sampler;

namespace {

const auto now = at("2026-11-29T12:00:00Z");
constexpr seconds day{86'400};

node::state fold(const std::vector<node::event>& events, node::state s) {
  for (const auto& e : events)
    s = node::evolve(std::move(s), e);
  return s;
}

node::joined join_at(sampler& random, time_point when) {
  auto j = random.node_joined();
  j.attestor = "join-token";
  j.at = when;
  j.cert.not_before = when - seconds{300};
  j.cert.not_after = when + day;
  return j;
}

node::joined rejoin_at(sampler& random, time_point when) {
  auto j = join_at(random, when);
  j.proof_sha256 = random.hex();
  return j;
}

template <class Event>
std::size_t count(const std::vector<node::event>& events) {
  std::size_t n = 0;
  for (const auto& e : events)
    n += std::holds_alternative<Event>(e) ? 1 : 0;
  return n;
}

struct joined_node {
  sampler random{5};
  node::joined first = join_at(random, now);
  node::state s = fold(node::decide({}, node::join{first}).value(), {});
};

}  // namespace

TEST_CASE("node rejoin: takes what the node is, and gives a new certificate") {
  joined_node n;
  auto what = rejoin_at(n.random, now + 2 * day);
  auto decided = node::decide(n.s, node::rejoin{what}).value();
  // What is over is not revoked.
  REQUIRE(decided.size() == 1);
  const auto j = std::get<node::joined>(decided.front());
  CHECK(node::goes_on(j));
  CHECK(j.attestor == "x509pop");
  CHECK_FALSE(j.reclaim);
  CHECK(j.id == n.first.id);
  CHECK(j.tenant == n.first.tenant);
  CHECK(j.site == n.first.site);
  CHECK(j.pool == n.first.pool);
  CHECK(j.hardware_key == n.first.hardware_key);
  CHECK(j.hardware_key_trusted == n.first.hardware_key_trusted);
  CHECK(j.node_trust == n.first.node_trust);
  CHECK(j.token == n.first.token);
  CHECK(j.cert.generation == 2);
  CHECK(j.cert.serial == what.cert.serial);
  auto other = j;
  other.reclaim = true;
  CHECK_FALSE(node::goes_on(other));
  CHECK_FALSE(node::goes_on(n.first));

  CHECK(node::decide({}, node::rejoin{what}).error().code == errc::not_found);
  auto over = n.s;
  over.current = node::status::retired;
  CHECK(node::decide(over, node::rejoin{what}).error().code ==
        errc::invalid_state);
}

TEST_CASE("node rejoin: the live certificates end, and stay known") {
  joined_node n;
  const auto when = now + seconds{3600};
  auto decided =
      node::decide(n.s, node::rejoin{rejoin_at(n.random, when)}).value();
  REQUIRE(decided.size() == 2);
  const auto& r = std::get<node::certificate_revoked>(decided.front());
  CHECK(r.reason == node::revocation::reclaimed);
  CHECK(r.serial == n.first.cert.serial);
  const auto s = fold(decided, n.s);
  // By which a machine that lost its answer asks again.
  REQUIRE(s.certificates.size() == 2);
  CHECK(s.certificates.front().revoked_at);
  CHECK(node::current_certificate(s, when)->generation == 2);
}

TEST_CASE("node rejoin: status, adoption and what hangs on them stay") {
  joined_node n;
  const auto status = GENERATE(node::status::adopting, node::status::adopted,
                               node::status::cordoned);
  n.s.node->acceptance = true;
  if (status == node::status::adopted)
    n.s = fold(node::decide(n.s, node::adopt{now}).value(), n.s);
  if (status == node::status::cordoned)
    n.s = fold(node::decide(n.s, node::cordon{now, "x"}).value(), n.s);
  n.s.acceptance_started_at = now;
  n.s.hardware_changed_at = now;
  n.s.reclaims = {now};
  const auto before = n.s;
  const auto when = now + 3 * day;
  auto decided =
      node::decide(n.s, node::rejoin{rejoin_at(n.random, when)}).value();
  const auto& j = std::get<node::joined>(decided.back());
  CHECK(j.acceptance == (status == node::status::adopting));
  const auto s = fold(decided, n.s);
  CHECK(s.current == before.current);
  CHECK(s.adopted_at == before.adopted_at);
  CHECK(s.cordon == before.cordon);
  CHECK(s.acceptance_started_at == before.acceptance_started_at);
  CHECK(s.hardware_changed_at == before.hardware_changed_at);
  CHECK(s.reclaims == before.reclaims);
  CHECK(s.node->at == before.node->at);
  CHECK(s.node->attestor == "x509pop");
  CHECK(s.version == before.version + 1);
  // As a snapshot keeps it.
  const auto text = node::encode_state(s);
  CHECK(node::encode_state(node::decode_state(text).value()) == text);
}

TEST_CASE("node rejoin: certificates are kept for as long as they count") {
  joined_node n;
  const auto end = n.first.cert.not_after;
  auto keeps = [&](time_point when) {
    auto decided =
        node::decide(n.s, node::rejoin{rejoin_at(n.random, when)}).value();
    return fold(decided, n.s).certificates.size() == 2;
  };
  CHECK(keeps(end + 7 * day));
  CHECK_FALSE(keeps(end + 7 * day + milliseconds{1}));
  const node::issued one{n.first.cert, std::nullopt};
  CHECK(node::may_rejoin(one, end + 7 * day));
  CHECK_FALSE(node::may_rejoin(one, end + 7 * day + milliseconds{1}));
  CHECK_FALSE(node::may_rejoin({n.first.cert, now}, now));
}

TEST_CASE("node rejoin: revoking an identity ends what could come back") {
  joined_node n;
  const auto end = n.first.cert.not_after;
  auto revoked = [&](time_point when) {
    return count<node::certificate_revoked>(
        node::decide(n.s, node::revoke_identity{when, ""}).value());
  };
  CHECK(revoked(now) == 1);
  CHECK(revoked(end + seconds{1}) == 1);
  CHECK(revoked(end + 7 * day) == 1);
  CHECK(revoked(end + 7 * day + seconds{1}) == 0);
  auto s = fold(node::decide(n.s, node::revoke_identity{end + day, ""}).value(),
                n.s);
  CHECK(node::decide(s, node::revoke_identity{end + day, ""}).value().empty());
}

TEST_CASE("node rejoin: a challenge is a claim, and comes back as it was") {
  joined_node n;
  auto what = rejoin_at(n.random, now + 2 * day);
  auto decided = node::decide(n.s, node::rejoin{what}).value();
  const auto& j = std::get<node::joined>(decided.back());
  const auto moved = node::moves_of(j);
  const auto proof = std::ranges::find(
      moved.claims, node::proof_claim(j.proof_sha256), &claim_move::claim);
  REQUIRE(proof != moved.claims.end());
  CHECK((proof->what == claim_move::kind::take));
  // Longer than a challenge is good for by a clock that is behind.
  CHECK(proof->expires_at == j.at + seconds{130});
  CHECK(node::encode(j).data.find(j.proof_sha256) == std::string::npos);
  CHECK(node::encode(j).internal.find(j.proof_sha256) != std::string::npos);
  const auto none = node::moves_of(n.first);
  CHECK(std::ranges::none_of(none.claims, [](const auto& c) {
    return c.claim.starts_with("proof:");
  }));
}

TEST_CASE("rejoin: what the append found taken, in words") {
  CHECK(rejoin_claim_refusal("proof:aa") ==
        refusal_reason::x509pop_challenge_replayed);
  CHECK(rejoin_claim_refusal("spki:aa") == refusal_reason::join_csr);
  CHECK(rejoin_claim_refusal("hw:aa") == std::nullopt);
  joined_node n;
  const node::issued one{n.first.cert, std::nullopt};
  CHECK(may_rejoin_until(one) ==
        n.first.cert.not_after + 7 * day + milliseconds{1});
  for (auto r :
       {refusal_reason::x509pop_node, refusal_reason::join_pool,
        refusal_reason::join_pool_attestor, refusal_reason::x509pop_hardware})
    CHECK(may_be_undone(r));
  for (auto r :
       {refusal_reason::x509pop_revoked, refusal_reason::x509pop_generation,
        refusal_reason::x509pop_expired, refusal_reason::x509pop_role})
    CHECK_FALSE(may_be_undone(r));
}
