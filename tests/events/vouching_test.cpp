// What a vouch is judged by (spec: ATTESTATION section 4).
#include "events/vouching.hpp"

#include "base/encoding.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;

namespace {

const auto noon = at("2026-11-29T12:00:00Z");
const auto site_a = fixed_id<site_id>(1);
const auto owner = fixed_id<tenant_id>(2);
const auto mac = std::string{"3c:ec:ef:00:00:01"};

struct agent {
  node_id id;
  pki::private_key key = pki::private_key::generate();
  node::state state;

  explicit agent(const node_id& which, const site_id& where = site_a,
                 pki::certificate_role role = pki::certificate_role::site)
      : id(which) {
    static const auto ca = pki::make_ca("node CA", noon).value();
    auto issued = pki::issue_node_certificate(ca, {key.pub(),
                                                   "compute.example.test",
                                                   where.str(),
                                                   id.str(),
                                                   role,
                                                   {},
                                                   noon,
                                                   pki::max_node_lifetime,
                                                   {1}});
    node::joined j;
    j.id = id;
    j.tenant = owner;
    j.site = where;
    j.attestor = "join-token";
    j.cert.serial = issued.serial;
    j.cert.spki_sha256 = std::string(64, 'b');
    j.cert.role = role;
    j.cert.not_before = issued.not_before;
    j.cert.not_after = issued.not_after;
    j.cert.der = issued.der;
    j.at = noon;
    state = node::evolve({}, j);
  }
};

site::state site_of() {
  return site::evolve(
      {}, site::created{site_a, owner, "ams-1", site::kind::custom, noon, {}});
}

boot_lease::state lease_of(const agent& who, std::int64_t epoch = 7,
                           std::optional<node_id> previous = {}) {
  return boot_lease::evolve(
      {}, boot_lease::acquired{site_a, owner, who.id, epoch, previous, noon,
                               noon + seconds{120}});
}

pki::vouch::vouch vouch_of(const agent& by, std::int64_t epoch = 7) {
  pki::vouch::claims says;
  says.site = site_a;
  says.mac = mac;
  says.ip = "10.0.0.17";
  says.boot_lease_epoch = epoch;
  says.csr_sha256 = pki::sha256(as_bytes("csr"));
  says.claims_sha256 = pki::sha256(as_bytes("claims"));
  says.issued_at = noon;
  says.expires_at = noon + seconds{60};
  says.jti = pki::vouch::new_jti();
  auto text = pki::vouch::make(
      says, by.state.certificates.front().cert.der,
      [&](const pki::sha256_digest& d) -> result<pki::raw_signature> {
        return by.key.sign(d);
      });
  REQUIRE(text);
  auto read = pki::vouch::read(text.value());
  REQUIRE(std::holds_alternative<pki::vouch::vouch>(read));
  return std::get<pki::vouch::vouch>(read);
}

}  // namespace

TEST_CASE("vouching: the signer has the lease, or had it before") {
  const agent a{fixed_id<node_id>(3)}, b{fixed_id<node_id>(4)};
  const auto here = site_of();
  const auto lease = lease_of(b, 7, a.id);
  const vouching::ground ground{here, lease, &b.state, &a.state};
  auto by_b = vouching::find_signer(vouch_of(b), ground, noon);
  REQUIRE(by_b);
  CHECK(by_b->node == b.id);
  CHECK(vouching::holds_lease(vouch_of(b).says, *by_b, ground, noon));
  auto by_a = vouching::find_signer(vouch_of(a), ground, noon);
  REQUIRE(by_a);
  CHECK(by_a->node == a.id);
  CHECK_FALSE(vouching::holds_lease(vouch_of(a).says, *by_a, ground, noon));
  const agent c{fixed_id<node_id>(5)};
  CHECK_FALSE(vouching::find_signer(vouch_of(c), ground, noon));
}

TEST_CASE("vouching: who is no signer") {
  const agent a{fixed_id<node_id>(3)};
  const auto here = site_of();
  const auto lease = lease_of(a);
  const auto v = vouch_of(a);
  auto found = [&](const node::state& holder, const site::state& where,
                   time_point now = noon) {
    return vouching::find_signer(v, {where, lease, &holder, nullptr}, now)
        .has_value();
  };
  REQUIRE(found(a.state, here));
  CHECK_FALSE(vouching::find_signer(v, {here, lease, nullptr, nullptr}, noon));
  CHECK_FALSE(found(a.state, {}));
  CHECK_FALSE(found(
      a.state, site::evolve(here, site::deleted{site_a, noon, owner, "x"})));
  const auto end = a.state.certificates.front().cert.not_after;
  CHECK(found(a.state, here, end - milliseconds{1}));
  CHECK_FALSE(found(a.state, here, end));
  auto revoked = a.state;
  revoked.certificates.front().revoked_at = noon;
  CHECK_FALSE(found(revoked, here));
  auto retired = a.state;
  retired.current = node::status::retired;
  CHECK_FALSE(found(retired, here));
  auto later = a.state;
  ++later.generation;
  CHECK_FALSE(found(later, here));
  // By a machine's certificate, and by an agent's of another site.
  const agent machine{fixed_id<node_id>(3), site_a,
                      pki::certificate_role::node};
  CHECK_FALSE(vouching::find_signer(
      vouch_of(machine), {here, lease, &machine.state, nullptr}, noon));
  const agent other{fixed_id<node_id>(3), fixed_id<site_id>(9)};
  CHECK_FALSE(vouching::find_signer(
      vouch_of(other), {here, lease, &other.state, nullptr}, noon));
}

TEST_CASE("vouching: signature, CSR and claims, in that order") {
  const agent a{fixed_id<node_id>(3)}, b{fixed_id<node_id>(4)};
  const auto v = vouch_of(a);
  const auto csr = pki::sha256(as_bytes("csr"));
  const auto claims = pki::sha256(as_bytes("claims"));
  const auto other = pki::sha256(as_bytes("other"));
  const pki::identifiers ids;
  const vouching::signer by_a{a.id, &a.state.certificates.front().cert};
  const vouching::signer by_b{b.id, &b.state.certificates.front().cert};
  CHECK_FALSE(vouching::check_proof(v, by_a, {csr, claims, ids}));
  CHECK(vouching::check_proof(v, by_b, {other, other, ids}) ==
        refusal_reason::discovery_vouch_signature);
  CHECK(vouching::check_proof(v, by_a, {other, other, ids}) ==
        refusal_reason::discovery_vouch_csr);
  CHECK(vouching::check_proof(v, by_a, {csr, other, ids}) ==
        refusal_reason::discovery_vouch_claims);
}

TEST_CASE("vouching: the lease holds to the second, in its epoch alone") {
  const agent a{fixed_id<node_id>(3)};
  const auto here = site_of();
  const auto lease = lease_of(a);
  const vouching::ground ground{here, lease, &a.state, nullptr};
  const vouching::signer s{a.id, &a.state.certificates.front().cert};
  auto holds = [&](std::int64_t epoch, time_point now) {
    return vouching::holds_lease(vouch_of(a, epoch).says, s, ground, now);
  };
  CHECK(holds(7, noon));
  CHECK_FALSE(holds(6, noon));
  CHECK_FALSE(holds(8, noon));
  CHECK(holds(7, noon + seconds{120} - milliseconds{1}));
  CHECK_FALSE(holds(7, noon + seconds{120}));
}

TEST_CASE("vouching: one proof for each signer and jti") {
  const agent a{fixed_id<node_id>(3)}, b{fixed_id<node_id>(4)};
  auto one = vouch_of(a), two = vouch_of(b);
  two.says.jti = one.says.jti;
  CHECK(vouching::proof_of(one).size() == 64);
  CHECK(vouching::proof_of(one) != vouching::proof_of(two));
  auto again = one;
  again.says.mac = "3c:ec:ef:00:00:02";
  again.signature[0] ^= 1;
  CHECK(vouching::proof_of(one) == vouching::proof_of(again));
  // A vouch is over before the claim is that its use left.
  const auto longest = pki::vouch::clock_skew + pki::vouch::max_lifetime;
  node::joined j;
  j.id = a.id;
  j.at = noon;
  j.proof_sha256 = vouching::proof_of(one);
  for (const auto& move : node::moves_of(node::event{j}).claims)
    if (move.claim == node::proof_claim(j.proof_sha256))
      CHECK(*move.expires_at >= noon + longest);
}
