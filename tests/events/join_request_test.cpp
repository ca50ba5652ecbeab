// Join requests: what each command does to each state, and what a machine may
// count on (spec: joining#join-requests-and-approvals, ATTESTATION 9h).
#include "events/join_request.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::events::join_request;
using bc::events::claim_move;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;

namespace {

const auto start = at("2026-11-30T12:00:00Z");
const auto site = fixed_id<site_id>(1);
const auto other_site = fixed_id<site_id>(2);
const auto pool = fixed_id<pool_id>(3);
const auto other_pool = fixed_id<pool_id>(4);
const auto node_a = fixed_id<node_id>(5);
const std::string csr_a(64, 'a'), csr_b(64, 'b');

sighting seen(const std::string& csr, const std::string& serial = "SN-1") {
  sighting s;
  s.csr_sha256 = csr;
  s.machine.serials = {serial};
  s.machine.hostname = "rack-1";
  s.hardware_key = std::string(64, '1');
  s.trusted = true;
  s.tpm = tpm_identity{std::string(64, 'e'), ek_certificate::absent, "", ""};
  return s;
}

opened attempt(const sighting& s, time_point now,
               std::optional<pool_id> of = std::nullopt) {
  opened o;
  o.id = fixed_id<join_request_id>(9);
  o.tenant = fixed_id<tenant_id>(8);
  o.site = site;
  o.pool = std::move(of);
  o.attestor = "tpm";
  o.subject = tpm_subject(s.tpm->ek_hash);
  o.seen = s;
  o.place = 7;
  o.at = now;
  return o;
}

state after(state s, const result<std::vector<event>>& decided) {
  REQUIRE(decided);
  for (const auto& e : decided.value())
    s = evolve(std::move(s), e);
  return s;
}

decider us() {
  return {pool, site, true};
}

approve approval(time_point now) {
  return {us(), "alice", "rack b7", std::nullopt, seconds{3600}, now};
}

reject rejection(time_point now) {
  return {us(), "bob", "", now};
}

state pending() {
  return after({}, decide(state{}, defer{attempt(seen(csr_a), start)}));
}

/// One of each status, and when it is looked at.
struct at_rest {
  state what;
  time_point now;
};

std::map<status, at_rest> one_of_each() {
  const auto soon = start + seconds{60};
  auto approved_one = after(pending(), decide(pending(), approval(soon)));
  auto rejected_one = after(pending(), decide(pending(), rejection(soon)));
  auto consumed_one =
      after(approved_one, decide(approved_one, consume{node_a, csr_a, soon}));
  return {{status::pending, {pending(), soon}},
          {status::approved, {approved_one, soon}},
          {status::rejected, {rejected_one, soon}},
          {status::expired, {pending(), start + seconds{86'400}}},
          {status::consumed, {consumed_one, soon}}};
}

/// "event", "nothing", or the code.
std::string shortly(const result<std::vector<event>>& decided) {
  if (!decided)
    return std::string{wire_text(decided.error().code)};
  if (decided.value().empty())
    return "nothing";
  REQUIRE(decided.value().size() == 1);
  static const char* const names[] = {"opened",   "refreshed", "approved",
                                      "rejected", "consumed",  "superseded"};
  return names[decided.value().front().index()];
}

}  // namespace

TEST_CASE("join request: every command in every state") {
  struct row {
    std::string same_csr, other_csr, approved, rejected, consumed;
  };
  const std::map<status, row> wanted = {
      {status::pending,
       {"nothing", "refreshed", "approved", "rejected", "INVALID_STATE"}},
      {status::approved,
       {"INVALID_STATE", "INVALID_STATE", "nothing", "rejected", "consumed"}},
      {status::rejected,
       {"INVALID_STATE", "INVALID_STATE", "INVALID_STATE", "nothing",
        "INVALID_STATE"}},
      {status::expired,
       {"INVALID_STATE", "INVALID_STATE", "INVALID_STATE", "INVALID_STATE",
        "INVALID_STATE"}},
      {status::consumed,
       {"INVALID_STATE", "INVALID_STATE", "INVALID_STATE", "INVALID_STATE",
        "INVALID_STATE"}},
  };
  auto each = one_of_each();
  REQUIRE(each.size() == wanted.size());
  for (const auto& [how, rest] : each) {
    INFO(status_text(how));
    const auto& [s, now] = rest;
    const auto& want = wanted.at(how);
    CHECK(status_at(s, now) == how);
    CHECK(parse_status(status_text(how)) == how);
    CHECK(shortly(decide(s, defer{attempt(seen(csr_a), now)})) ==
          want.same_csr);
    CHECK(shortly(decide(s, defer{attempt(seen(csr_b), now)})) ==
          want.other_csr);
    CHECK(shortly(decide(s, approval(now))) == want.approved);
    CHECK(shortly(decide(s, rejection(now))) == want.rejected);
    CHECK(shortly(decide(s, consume{node_a, csr_a, now})) == want.consumed);
  }
  // Nothing is there.
  CHECK(shortly(decide(state{}, approval(start))) == "NOT_FOUND");
  CHECK(shortly(decide(state{}, rejection(start))) == "NOT_FOUND");
  CHECK(shortly(decide(state{}, consume{node_a, csr_a, start})) == "NOT_FOUND");
  CHECK(shortly(decide(state{}, defer{attempt(seen(csr_a), start)})) ==
        "opened");
}

TEST_CASE("join request: it ends at the very second") {
  auto s = pending();
  const auto end = start + seconds{86'400};
  CHECK(s.request->expires_at == end);
  CHECK(status_at(s, end - milliseconds{1}) == status::pending);
  CHECK(status_at(s, end) == status::expired);
  auto c = approval(start);
  c.valid_for = seconds{60};
  s = after(s, decide(s, c));
  CHECK(s.request->expires_at == start + seconds{60});
  CHECK(status_at(s, start + milliseconds{59'999}) == status::approved);
  CHECK(status_at(s, start + seconds{60}) == status::expired);
  CHECK(shortly(decide(s, consume{node_a, csr_a, start + seconds{60}})) ==
        "INVALID_STATE");
}

TEST_CASE("join request: a rejected one stays rejected (case 131)") {
  auto s = pending();
  s = after(s, decide(s, rejection(start)));
  CHECK(s.decided == decision{"bob", "", start});
  CHECK(shortly(decide(s, approval(start))) == "INVALID_STATE");
  CHECK(standing_of(&s, nullptr, seen(csr_a), start + seconds{999'999}) ==
        standing::rejected);
  // A new attempt with a new CSR is a new request.
  CHECK(standing_of(nullptr, nullptr, seen(csr_b), start) == standing::unknown);
  CHECK(standing_of(&s, nullptr, seen(csr_b), start) == standing::unknown);

  auto withdrawn = pending();
  withdrawn = after(withdrawn, decide(withdrawn, approval(start)));
  withdrawn = after(withdrawn, decide(withdrawn, rejection(start)));
  CHECK(shortly(decide(withdrawn, approval(start))) == "INVALID_STATE");
  CHECK(shortly(decide(withdrawn, consume{node_a, csr_a, start})) ==
        "INVALID_STATE");
  CHECK(standing_of(&withdrawn, nullptr, seen(csr_a), start) ==
        standing::rejected);
}

TEST_CASE("join request: another CSR restarts its age (cases 132, 133)") {
  auto s = pending();
  const auto later = start + seconds{3600};
  CHECK(standing_of(nullptr, &s, seen(csr_b), later) == standing::moved);
  s = after(s, decide(s, defer{attempt(seen(csr_b), later)}));
  CHECK(s.request->seen.csr_sha256 == csr_b);
  CHECK(s.request->at == later);
  CHECK(s.request->expires_at == later + seconds{86'400});
  CHECK(s.refreshed_at == later);
  CHECK(s.claims_changed);
  CHECK(s.request->id == fixed_id<join_request_id>(9));
  CHECK(s.request->place == 7);

  // What the operator saw is not what is there any more.
  auto c = approval(later);
  c.csr_sha256 = csr_a;
  CHECK(shortly(decide(s, c)) == "CONFLICT");
  c.csr_sha256 = csr_b;
  auto approved_b = after(s, decide(s, c));
  CHECK(status_at(approved_b, later) == status::approved);
  CHECK(shortly(decide(approved_b, c)) == "nothing");
  c.csr_sha256 = csr_a;
  CHECK(shortly(decide(approved_b, c)) == "CONFLICT");
  // With the seeds' input alone, what is there is approved.
  CHECK(shortly(decide(s, approval(later))) == "approved");
}

TEST_CASE("join request: other claims with one CSR change nothing") {
  auto s = pending();
  const auto later = start + seconds{3600};
  auto changed = seen(csr_a, "SN-2");
  changed.machine.hostname = "rack-2";
  CHECK(standing_of(nullptr, &s, changed, later) == standing::waiting);
  CHECK(shortly(decide(s, defer{attempt(changed, later)})) == "nothing");
}

TEST_CASE("join request: another CSR after the approval (case 134)") {
  auto s = pending();
  s = after(s, decide(s, approval(start)));
  // B is not admitted by A's approval, which stays.
  CHECK(standing_of(nullptr, nullptr, seen(csr_b), start) == standing::unknown);
  CHECK(shortly(decide(s, consume{node_a, csr_b, start})) == "INVALID_STATE");
  CHECK(standing_of(&s, nullptr, seen(csr_a), start) == standing::approved);
  auto b = after({}, decide(state{}, defer{attempt(seen(csr_b), start)}));
  CHECK(standing_of(&s, &b, seen(csr_a), start) == standing::approved);
  CHECK(standing_of(nullptr, &b, seen(csr_b), start) == standing::waiting);
  s = after(s, decide(s, consume{node_a, csr_a, start}));
  CHECK(s.node == node_a);
  CHECK(s.consumed_at == start);
  // It admits exactly one.
  CHECK(shortly(decide(s, consume{node_a, csr_a, start})) == "INVALID_STATE");
  CHECK(standing_of(&s, nullptr, seen(csr_a), start) == standing::unknown);
}

TEST_CASE("join request: which pool sees it, before and after a decision") {
  const decider other{other_pool, site, true};
  const decider elsewhere{other_pool, other_site, true};
  const decider unserved{pool, site, false};
  auto s = pending();
  CHECK(is_visible_to(s, us()));
  CHECK(is_visible_to(s, other));
  CHECK(!is_visible_to(s, elsewhere));
  CHECK(!is_visible_to(s, unserved));
  auto c = approval(start);
  for (const auto& who : {elsewhere, unserved}) {
    c.who = who;
    CHECK(shortly(decide(s, c)) == "NOT_FOUND");
    CHECK(shortly(decide(s, reject{who, "x", "", start})) == "NOT_FOUND");
  }
  // Whoever decides has claimed it: nobody else sees by whom and why.
  for (const auto& decided :
       {decide(s, approval(start)), decide(s, rejection(start))}) {
    auto claimed = after(s, decided);
    CHECK(claimed.request->pool == pool);
    CHECK(is_visible_to(claimed, us()));
    CHECK(is_visible_to(claimed, unserved));
    CHECK(!is_visible_to(claimed, other));
    c.who = other;
    CHECK(shortly(decide(claimed, c)) == "NOT_FOUND");
  }
  // A token or an allow-list may name the pool from the start.
  auto named = after(
      {}, decide(state{}, defer{attempt(seen(csr_a), start, other_pool)}));
  CHECK(!is_visible_to(named, us()));
  CHECK(is_visible_to(named, elsewhere));
  CHECK(shortly(decide(named, approval(start))) == "NOT_FOUND");
}

TEST_CASE("join request: its machine became a node by another way") {
  const std::map<status, std::string> wanted = {
      {status::pending, "superseded"}, {status::approved, "superseded"},
      {status::rejected, "nothing"},   {status::expired, "nothing"},
      {status::consumed, "nothing"},
  };
  for (const auto& [how, one] : one_of_each()) {
    INFO(status_text(how));
    const auto& [s, now] = one;
    const supersede joined{node_a, attempt_of(s), now};
    CHECK(shortly(decide(s, joined)) == wanted.at(how));
    // It came again after that: it asks for something else. So it does by the
    // same CSR, when there was another between.
    for (const auto& other : {attempt_id{csr_b, s.refreshed_at},
                              attempt_id{csr_a, start - milliseconds{1}}})
      CHECK(shortly(decide(s, supersede{node_a, other, now})) == "nothing");
    // Whatever the clocks of those who wrote say of the order.
    if (wanted.at(how) == "superseded")
      CHECK(shortly(decide(s, supersede{node_a, attempt_of(s),
                                        start - seconds{5}})) == "superseded");
    if (wanted.at(how) == "nothing")
      continue;
    const auto over = after(s, decide(s, joined));
    CHECK(over.request->expires_at == now);
    CHECK(over.superseded_at == now);
    CHECK(over.node == node_a);
    // For good: by a clock that is behind, too.
    for (auto then : {now, now - seconds{5}}) {
      CHECK(status_at(over, then) == status::expired);
      CHECK(shortly(decide(over, approval(then))) == "INVALID_STATE");
      CHECK(shortly(decide(over, rejection(then))) == "INVALID_STATE");
      CHECK(shortly(decide(over, consume{node_a, csr_a, then})) ==
            "INVALID_STATE");
      CHECK(shortly(decide(over, supersede{node_a, attempt_of(over), then})) ==
            "nothing");
      // The next attempt is a request of its own.
      CHECK(standing_of(&over, &over, seen(csr_a), then) == standing::unknown);
    }
  }
  CHECK(shortly(decide(state{}, supersede{node_a, {}, start})) == "NOT_FOUND");
}

TEST_CASE("join request: the claims that its events move") {
  auto s = pending();
  const auto subject = s.request->subject;
  auto of_opening = moves_of(event{*s.request});
  REQUIRE(of_opening.claims.size() == 2);
  CHECK(of_opening.claims[0] == claim_move{claim_move::kind::take,
                                           pending_claim(site, subject),
                                           s.request->expires_at});
  CHECK(of_opening.claims[1] == claim_move{claim_move::kind::take,
                                           place_claim(site, 7),
                                           s.request->expires_at});
  auto refreshing = decide(s, defer{attempt(seen(csr_b), start + seconds{1})});
  auto of_refresh = moves_of(refreshing.value().front());
  CHECK(of_refresh.claims[0].expires_at == start + seconds{86'401});

  auto approving = decide(s, approval(start)).value().front();
  auto of_approval = moves_of(approving);
  REQUIRE(of_approval.claims.size() == 3);
  CHECK(of_approval.claims[0].what == claim_move::kind::release);
  CHECK(of_approval.claims[1].what == claim_move::kind::release);
  CHECK(of_approval.claims[2] == claim_move{claim_move::kind::take,
                                            decided_claim(site, subject, csr_a),
                                            start + seconds{3600}});
  auto of_rejection = moves_of(decide(s, rejection(start)).value().front());
  CHECK(of_rejection.claims.at(2).expires_at == std::nullopt);
  auto ready = evolve(s, approving);
  auto of_join =
      moves_of(decide(ready, consume{node_a, csr_a, start}).value().front());
  CHECK(of_join.claims ==
        std::vector{claim_move{claim_move::kind::release,
                               decided_claim(site, subject, csr_a),
                               std::nullopt}});

  auto uncounted = attempt(seen(csr_a), start);
  uncounted.place.reset();
  CHECK(moves_of(event{uncounted}).claims.size() == 1);
}

TEST_CASE("join request: events that do not fit change nothing but a count") {
  auto each = one_of_each();
  const auto& p = each.at(status::pending).what;
  const auto& c = each.at(status::consumed).what;
  const auto& r = each.at(status::rejected).what;
  auto late = start + seconds{999};
  const std::vector<event> all{
      attempt(seen(csr_b), late),
      refreshed{c.request->id, site, c.request->subject, seen(csr_b), 7, late,
                late},
      decide(p, approval(late)).value().front(),
      consumed{c.request->id, site, node_a, c.request->subject, csr_b, late}};
  for (const auto* s : {&c, &r})
    for (const auto& e : all) {
      auto got = evolve(*s, e);
      CHECK(got.version == s->version + 1);
      CHECK(got.request == s->request);
      CHECK(got.stored == s->stored);
      CHECK(got.decided == s->decided);
      CHECK(got.consumed_at == s->consumed_at);
    }
  CHECK(!evolve(state{}, all[1]).request);
}

TEST_CASE("join request: any life keeps its promises") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    sampler random{seed};
    state s;
    auto now = start;
    int admitted = 0, approvals = 0;
    bool was_rejected = false;
    for (int step = 0; step < 40; ++step) {
      now += seconds{static_cast<int>(random.below(7200))};
      const auto csr = random.coin() ? csr_a : csr_b;
      result<std::vector<event>> decided = std::vector<event>{};
      switch (random.below(5)) {
        case 0:
        case 1:
          decided = decide(s, defer{attempt(seen(csr), now)});
          break;
        case 2:
          decided = decide(s, approval(now));
          break;
        case 3:
          decided = random.below(4) == 0 ? decide(s, rejection(now))
                                         : std::vector<event>{};
          break;
        default:
          decided = decide(s, consume{node_a, csr, now});
          break;
      }
      if (!decided)
        continue;
      for (const auto& e : decided.value()) {
        if (std::holds_alternative<consumed>(e)) {
          ++admitted;
          CHECK(status_at(s, now) == status::approved);
          CHECK(s.request->seen.csr_sha256 == csr);
          CHECK(!was_rejected);
        }
        approvals += std::holds_alternative<approved>(e) ? 1 : 0;
        was_rejected = was_rejected || std::holds_alternative<rejected>(e);
        CHECK(std::holds_alternative<opened>(e) == !s.request.has_value());
        s = evolve(std::move(s), e);
      }
      CHECK(admitted <= 1);
      CHECK(approvals <= 1);
    }
  }
}

TEST_CASE("join request: subjects and what is left of claims") {
  CHECK(tpm_subject("ab") == "tpm:ab");
  CHECK(hardware_subject("cd") == "hw:cd");
  CHECK(mac_subject(site, "3c:ec:ef:12:34:56") ==
        "mac:" + site.str() + ":3c:ec:ef:12:34:56");
  pki::hardware_claims said;
  said.product_serial = "To be filled by O.E.M.";
  said.board_serial = " sn-7701 ";
  said.macs = {"3C-EC-EF-12-34-56", "00:00:00:00:00:00"};
  auto left = claims_of(pki::normalise(said), "rack-1");
  CHECK(left.serials == std::vector<std::string>{"SN-7701"});
  CHECK(left.macs == std::vector<std::string>{"3c:ec:ef:12:34:56"});
  CHECK(!left.product_uuid);
  CHECK(left.hostname == "rack-1");
  for (auto c : {ek_certificate::verified, ek_certificate::unverified,
                 ek_certificate::absent})
    CHECK(parse_ek(ek_text(c)) == c);
  CHECK(!parse_ek("trusted"));
  CHECK(!parse_status("all"));
}
