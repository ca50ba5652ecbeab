// What a renewal is judged by (spec: joining#renewal).
#include "events/renewal.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::sampler;

namespace {

const auto now = at("2026-11-29T12:00:00Z");

/// A node with one certificate, and a renewal that is right in everything.
struct sound {
  sound() {
    sampler random{41};
    auto j = random.node_joined();
    j.at = now - seconds{3600};
    j.cert.generation = 1;
    j.cert.not_after = now + seconds{3600};
    j.cert.der = random.blob(300);
    j.cert.statements.clear();
    node = node::evolve({}, j);
  }
  [[nodiscard]] node::issued& presented() { return node.certificates.front(); }
  [[nodiscard]] std::optional<refusal_reason> judged() {
    client = shown.value_or(presented().cert.der);
    return judge(renewal());
  }
  [[nodiscard]] events::renewal renewal() {
    return {node,    presented(), client,   client_time_ms,
            own_key, when,        key_fault};
  }

  node::state node;
  bytes client;
  std::optional<bytes> shown;  // on the connection; else what is presented
  std::int64_t client_time_ms = to_millis(now);
  bool own_key = false;
  time_point when = now;
  std::optional<refusal_reason> key_fault;
};

/// Makes the renewal break one rule.
struct breach {
  refusal_reason reason;
  void (*commit)(sound&);
};
// In the order of the rules.
const breach breaches[] = {
    {refusal_reason::renew_identity, [](sound& s) { s.shown = bytes{}; }},
    {refusal_reason::renew_client_time,
     [](sound& s) { s.client_time_ms = to_millis(s.when) + 60'001; }},
    {refusal_reason::renew_revoked,
     [](sound& s) { s.presented().revoked_at = now; }},
    {refusal_reason::renew_expired,
     [](sound& s) { s.presented().cert.not_after = s.when; }},
    {refusal_reason::renew_generation, [](sound& s) { s.node.generation = 2; }},
    {refusal_reason::renew_retired,
     [](sound& s) { s.node.current = node::status::retired; }},
    {refusal_reason::renew_key_attestation,
     [](sound& s) { s.key_fault = refusal_reason::renew_key_attestation; }},
    {refusal_reason::renew_node_key_name,
     [](sound& s) { s.key_fault = refusal_reason::renew_node_key_name; }},
    {refusal_reason::renew_csr, [](sound& s) { s.own_key = true; }},
};

}  // namespace

TEST_CASE("renewal: the first rule that fails has the word, of any two") {
  CHECK_FALSE(sound{}.judged());
  for (std::size_t i = 0; i < std::size(breaches); ++i) {
    sound one;
    breaches[i].commit(one);
    CHECK(one.judged() == breaches[i].reason);
    for (std::size_t k = i + 1; k < std::size(breaches); ++k) {
      sound two;
      breaches[k].commit(two);
      breaches[i].commit(two);
      CAPTURE(i, k);
      CHECK(two.judged() == breaches[i].reason);
    }
  }
}

TEST_CASE("renewal: the client's time at its limits (case 104)") {
  struct row {
    std::int64_t off_ms;
    bool good;
  };
  const row rows[] = {{-61'000, false}, {-60'001, false}, {-60'000, true},
                      {-1, true},       {0, true},        {60'000, true},
                      {60'001, false},  {61'000, false}};
  for (const auto& r : rows) {
    CAPTURE(r.off_ms);
    sound s;
    s.client_time_ms = to_millis(now) + r.off_ms;
    CHECK(s.judged() ==
          (r.good ? std::nullopt
                  : std::optional{refusal_reason::renew_client_time}));
  }
  // Seconds for milliseconds, and what would overflow a difference.
  for (std::int64_t time :
       {to_millis(now) / 1000, std::int64_t{-1}, std::int64_t{0},
        std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    sound s;
    s.client_time_ms = time;
    CHECK(s.judged() == refusal_reason::renew_client_time);
  }
}

TEST_CASE("renewal: a certificate is over at its exact second") {
  sound s;
  s.presented().cert.not_after = now + milliseconds{1};
  CHECK_FALSE(s.judged());
  s.presented().cert.not_after = now;
  CHECK(s.judged() == refusal_reason::renew_expired);
}

TEST_CASE("renewal: a certificate is known by every byte (case 110)") {
  sound s;
  const auto der = s.presented().cert.der;
  REQUIRE(find_issued(s.node, der) == &s.presented());
  for (std::size_t i = 0; i < der.size(); ++i) {
    auto other = der;
    other[i] ^= 1;
    CHECK(find_issued(s.node, other) == nullptr);
  }
  auto longer = der;
  longer.push_back(0);
  CHECK(find_issued(s.node, longer) == nullptr);
  CHECK(find_issued(s.node, byte_view{der}.first(der.size() - 1)) == nullptr);
  CHECK(find_issued(s.node, {}) == nullptr);
  CHECK(find_issued(node::state{}, der) == nullptr);
}

TEST_CASE("renewal: the connection may be by any certificate of the node") {
  sampler random{42};
  sound s;
  auto next = random.node_renewed(*s.node.node);
  next.at = now;
  next.cert.not_after = now + seconds{7200};
  s.node = node::evolve(s.node, next);
  s.shown = next.cert.der;
  CHECK_FALSE(s.judged());
  s.shown = random.blob(300);  // another node's
  CHECK(s.judged() == refusal_reason::renew_identity);
}

TEST_CASE("renewal: the verdict is void when the proof or the leaf is over") {
  sound s;
  REQUIRE_FALSE(s.judged());
  CHECK(may_renew_until(s.renewal()) == now + milliseconds{60'001});
  s.client_time_ms -= 60'000;
  CHECK(may_renew_until(s.renewal()) == now + milliseconds{1});
  s.client_time_ms += 120'000;
  s.presented().cert.not_after = now + seconds{5};
  CHECK(may_renew_until(s.renewal()) == now + seconds{5});
}

TEST_CASE("renewal: what a taken claim means") {
  CHECK(renewal_claim_refusal(node::proof_claim("aa")) ==
        refusal_reason::renew_replayed);
  CHECK(renewal_claim_refusal(node::spki_claim("aa")) ==
        refusal_reason::renew_csr);
  CHECK_FALSE(renewal_claim_refusal("serial:aa"));
}
