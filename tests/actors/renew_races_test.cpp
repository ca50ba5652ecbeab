#include "events/catalog.hpp"
#include "pki/rotation.hpp"
#include "tests/actors/join_racing.hpp"
#include "tests/actors/renew_world.hpp"

// What happens to a renewal under way (spec: DESIGN section 3).
namespace bc::test {
namespace {

using events::refusal_reason;
namespace node = events::node;

TEST_CASE("renew: faults at each step leave a machine that can renew") {
  renew_world w;
  const auto m = w.admit(1);
  const auto next = pki::private_key::generate();
  const auto r = w.renewal(m, next);
  auto failed_at = [&](fault_point point) {
    arm(point, fault_action::error);
    auto got = w.renew(r, m.leaf());
    CHECK(got.answer.code == errc::unavailable);
    CHECK(got.answer.what == wire::join_answer::kind::failed);
    CHECK(got.answer.message != "Renew refused");
    CHECK(got.answer.time.has_value());
    CHECK(got.reports.empty());
    return w.count("node.certificate-renewed");
  };
  CHECK(failed_at(fault_point::renew_before_append) == 0);
  CHECK(failed_at(fault_point::store_before_commit) == 0);
  CHECK(failed_at(fault_point::renew_after_append) == 1);
  CHECK(failed_at(fault_point::renew_before_answer) == 1);
  CHECK(renewed(w.renew(r, m.leaf())));
  CHECK(w.count("node.certificate-renewed") == 1);
  CHECK(w.journal->verify({events::moves_of}).has_value());
}

TEST_CASE("renew: whatever the node does just before the append") {
  renew_world w;
  const auto m = w.admit(1);
  auto racing = std::make_shared<racing_ledger>(*w.journal, w.time);
  auto renew_racing = [&](const wire::renew_request& r) {
    auto plain = std::exchange(w.ledger, racing);
    auto out = w.renew(r, m.leaf());
    w.ledger = plain;
    return out;
  };
  const auto r = w.renewal(m, pki::private_key::generate());
  SECTION("adopted: it is tried again") {
    racing->before_append = [&] {
      w.append<node::event>(events::stream_of(m.id),
                            node::adopted{m.id, w.time.now()}, w.owner);
    };
    CHECK(renewed(renew_racing(r)));
    CHECK(racing->appends == 2);
  }
  SECTION("revoked: it is refused, and nothing is issued") {
    racing->before_append = [&] {
      auto s = w.node(m.id);
      const auto decided =
          node::decide(s, node::revoke_identity{w.time.now(), ""}).value();
      for (const auto& e : decided)
        w.append<node::event>(events::stream_of(m.id), e, w.owner);
    };
    auto got = renew_racing(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].reason == refusal_reason::renew_revoked);
    CHECK(w.count("node.certificate-renewed") == 0);
  }
  SECTION("the same renewal won: its answer is given") {
    wire::join_answer won;
    racing->before_append = [&] {
      actors::run_renew(w.renewing(),
                        std::make_shared<sync_ledger>(*w.journal, w.time),
                        call_of(r, m.leaf()),
                        [&](wire::join_answer a) { won = std::move(a); });
    };
    auto got = renew_racing(r);
    REQUIRE(renewed(got));
    CHECK(without_time(got.answer) == without_time(won));
    CHECK(w.count("node.certificate-renewed") == 1);
  }
  SECTION("another renewal won: both are good") {
    racing->before_append = [&] {
      actors::run_renew(
          w.renewing(), std::make_shared<sync_ledger>(*w.journal, w.time),
          call_of(w.renewal(m, pki::private_key::generate()), m.leaf()),
          [](const wire::join_answer& a) {
            CHECK(a.what == wire::join_answer::kind::renewed);
          });
    };
    CHECK(renewed(renew_racing(r)));
    CHECK(w.count("node.certificate-renewed") == 2);
  }
  SECTION("for ever moving: UNAVAILABLE, no refusal") {
    racing->always = [&] {
      w.append<node::event>(events::stream_of(m.id),
                            node::adopted{m.id, w.time.now()}, w.owner);
    };
    auto got = renew_racing(r);
    CHECK(got.answer.code == errc::unavailable);
    CHECK(got.reports.empty());
  }
  SECTION("it took too long: judged again, by the store's clock") {
    racing->before_append = [&] { w.time.advance(seconds{61}); };
    auto got = renew_racing(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].reason == refusal_reason::renew_client_time);
    CHECK(w.count("node.certificate-renewed") == 0);
  }
}

/// Knows nothing of a node beyond a version, until it is told.
class late_ledger final : public sync_ledger {
 public:
  using sync_ledger::sync_ledger;
  void node(const node_id& id,
            actors::reply_to<actors::shared_state<node::state>> done) override {
    if (stale && --answers_left > 0)
      return done(stale);
    stale = nullptr;
    sync_ledger::node(id, std::move(done));
  }
  actors::shared_state<node::state> stale;
  int answers_left = 2;
};

TEST_CASE("renew: a certificate that another process issued a moment ago") {
  renew_world w;
  auto m = w.admit(1);
  const auto before = std::make_shared<const node::state>(w.node(m.id));
  const auto after = w.renew_well(m);
  // Since then the CA may have been rotated.
  if (GENERATE(false, true)) {
    using pki::key_name;
    const auto prepared =
        pki::prepare_key(*w.keys, key_name::node_ca, w.time.now()).value();
    w.keys = std::make_shared<const pki::key_bundle>(
        pki::activate_key(prepared, key_name::node_ca, w.time.now(), true)
            .value());
  }
  auto late = std::make_shared<late_ledger>(*w.journal, w.time);
  late->stale = before;
  w.ledger = late;
  SECTION("presented") {
    CHECK(renewed(w.renew(after)));
  }
  SECTION("on the connection") {
    CHECK(renewed(
        w.renew(w.renewal(m, pki::private_key::generate()), after.leaf())));
  }
}

}  // namespace
}  // namespace bc::test
