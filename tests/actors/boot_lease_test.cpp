// The boot lease on the server: who may have it, who has it, what is confirmed
// (spec: ATTESTATION section 4, 8.10).
#include "events/boot_lease.hpp"

#include "actors/boot_lease/lease_flow.hpp"
#include "base/wire_boot_lease.hpp"
#include "events/event_names.hpp"
#include "tests/actors/disturbed_ledgers.hpp"
#include "tests/actors/session_world.hpp"

namespace bc::test {
namespace {

namespace node = events::node;
namespace lease = events::boot_lease;
namespace name = events::name;

class lease_world : public join_world {
 public:
  session_member agent(int n, const std::optional<site_id>& at = std::nullopt) {
    auto token = mint_token([&](events::join_token::created& t) {
      t.token_role = events::join_token::role::site;
      t.pool.reset();
      if (at)
        t.site = *at;
    });
    auto m = make_machine(n);
    auto r = request(m, token.text());
    r.role = "site";
    r.site_id = at.value_or(site).str();
    auto t = join(r);
    REQUIRE(joined(t));
    return member_of(t.answer);
  }

  actors::daemon_outcome ask(actors::daemon_call call) {
    auto env = std::make_shared<actors::boot_lease_environment>();
    env->ttl = ttl;
    int answers = 0;
    actors::daemon_outcome out;
    actors::run_boot_lease(env, through, std::move(call),
                           [&](actors::daemon_outcome o) {
                             ++answers;
                             out = std::move(o);
                           });
    REQUIRE(answers == 1);
    return out;
  }
  [[nodiscard]] actors::daemon_call call(const session_member& m,
                                         bool release = false) const {
    return call_of(
        actors::daemon_request::boot_lease,
        wire::encode(wire::boot_lease_request{m.id.str(), site.str(), release}),
        m.certificate);
  }
  wire::boot_lease_body lease_for(const session_member& m,
                                  bool release = false) {
    auto out = ask(call(m, release));
    INFO(out.reply.body);
    REQUIRE(out.reply.status == 200);
    CHECK_FALSE(out.is_held);
    auto body = wire::decode_boot_lease_body(out.reply.body);
    REQUIRE(body);
    return body.value();
  }
  void check_refused(const actors::daemon_call& c) {
    const auto before = head();
    auto out = ask(c);
    CHECK(out.reply.status == 403);
    CHECK(out.is_held);
    CHECK(out.reply.body == R"({"protocol":1,"error":{"code":"ACCESS_DENIED",)"
                            R"("message":"Boot lease refused"}})");
    CHECK(head() == before);
  }

  seconds ttl{120};
  std::shared_ptr<actors::ledger> through = ledger;
};

}  // namespace

TEST_CASE_METHOD(lease_world, "boot lease: one agent has it, the other waits",
                 "[actors]") {
  auto a = agent(1), b = agent(2);
  auto got = lease_for(a);
  CHECK(got.held);
  CHECK(got.epoch == 1);
  CHECK(got.holder == a.id.str());
  CHECK(got.expires_ms == to_millis(time.now() + ttl));
  auto taken = after(head() - 1);
  CHECK(taken[0].type == name::boot_lease_acquired);
  CHECK(taken[0].stream == events::boot_lease_stream(site));
  CHECK(taken[0].tenant == owner.str());
  CHECK(taken[0].actor == "machine");
  CHECK(taken[0].correlation == "req-1");

  const auto before = head();
  auto other = lease_for(b);
  CHECK_FALSE(other.held);
  CHECK(other.epoch == 1);
  CHECK(other.holder == a.id.str());
  CHECK(other.expires_ms == got.expires_ms);
  CHECK(lease_for(a).expires_ms == got.expires_ms);
  CHECK(head() == before);

  time.advance(seconds{60});
  CHECK(lease_for(a).expires_ms == got.expires_ms + 60'000);
  CHECK(after(head() - 1)[0].type == name::boot_lease_extended);
  time.advance(ttl);
  auto failover = lease_for(b);
  CHECK(failover.held);
  CHECK(failover.epoch == 2);
  CHECK_FALSE(lease_for(a).held);
}

TEST_CASE_METHOD(lease_world, "boot lease: given up, it is free at once",
                 "[actors]") {
  auto a = agent(1), b = agent(2);
  CHECK(lease_for(a, true).epoch == 0);
  CHECK(lease_for(a).held);
  CHECK_FALSE(lease_for(b, true).held);
  CHECK(lease_for(b).holder == a.id.str());
  auto free = lease_for(a, true);
  CHECK_FALSE(free.held);
  CHECK(free.epoch == 1);
  CHECK(free.holder.empty());
  CHECK(free.expires_ms == 0);
  CHECK(after(head() - 1)[0].type == name::boot_lease_released);
  auto next = lease_for(b);
  CHECK(next.held);
  CHECK(next.epoch == 2);
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: more than half of it left, nothing is written",
                 "[actors]") {
  auto a = agent(1);
  auto got = lease_for(a);
  const auto before = head();
  time.advance(seconds{40});
  auto again = lease_for(a);
  CHECK(again.held);
  CHECK(again.expires_ms == got.expires_ms);
  CHECK(head() == before);
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: an agent that is gone has lost it at once",
                 "[actors]") {
  auto a = agent(1), b = agent(2);
  CHECK(lease_for(a).held);
  SECTION("revoked") {
    command(a.id, node::revoke_identity{time.now(), ""});
  }
  SECTION("deleted") {
    retire(a.id);
  }
  check_refused(call(a));
  // To give back what another has changes nothing.
  const auto before = head();
  CHECK_FALSE(lease_for(b, true).held);
  CHECK(head() == before);
  auto got = lease_for(b);
  CHECK(got.held);
  CHECK(got.epoch == 2);
  CHECK(got.holder == b.id.str());
  auto taken = after(head() - 1);
  CHECK(taken[0].type == name::boot_lease_acquired);
  CHECK(taken[0].data.find("\"previous\":\"" + a.id.str() + '"') !=
        std::string::npos);
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: an agent that came back meanwhile keeps it",
                 "[actors]") {
  auto a = agent(1), b = agent(2);
  CHECK(lease_for(a).held);
  // Another process has not heard of the certificate that it has.
  auto late = std::make_shared<behind_ledger>(*journal, time);
  late->of = a.id;
  late->old = std::make_shared<const node::state>();
  through = late;
  auto got = lease_for(b);
  CHECK_FALSE(got.held);
  CHECK(got.holder == a.id.str());
  CHECK(late->old == nullptr);
}

TEST_CASE_METHOD(lease_world, "boot lease: who is refused", "[actors]") {
  auto a = agent(1);
  const auto good = call(a);
  auto with = [&](const std::string& body, const std::string& certificate) {
    return call_of(actors::daemon_request::boot_lease, body, certificate);
  };
  auto body = [&](const std::string& n, const std::string& s) {
    return wire::encode(wire::boot_lease_request{n, s});
  };
  SECTION("no certificate, and what is none") {
    check_refused(with(good.body, ""));
    check_refused(with(good.body, "certificate"));
    check_refused(with(good.body, a.certificate + "x"));
  }
  SECTION("what is no id") {
    check_refused(with(body("node_x", site.str()), a.certificate));
    check_refused(with(body(a.id.str(), "site_x"), a.certificate));
  }
  SECTION("another agent's name, and a node that is not") {
    auto b = agent(2);
    check_refused(with(body(b.id.str(), site.str()), a.certificate));
    check_refused(with(body(pki::mint<node_id>(time.now()).str(), site.str()),
                       a.certificate));
  }
  SECTION("another site than its own") {
    auto other = new_site();
    check_refused(with(body(a.id.str(), other.str()), a.certificate));
    auto theirs = agent(2, other);
    check_refused(with(body(theirs.id.str(), site.str()), theirs.certificate));
  }
  SECTION("a node that is no site agent") {
    auto t = join(make_machine(3), mint_token().text());
    REQUIRE(joined(t));
    check_refused(call(member_of(t.answer)));
  }
  SECTION("revoked") {
    command(a.id, node::revoke_identity{time.now(), ""});
    check_refused(good);
  }
  SECTION("over") {
    time.advance(pki::max_node_lifetime);
    check_refused(good);
  }
  SECTION("retired") {
    retire(a.id);
    check_refused(good);
  }
  SECTION("the site is gone") {
    delete_site(site);
    check_refused(good);
  }
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: a body that is not well formed names its field",
                 "[actors]") {
  auto a = agent(1);
  auto out =
      ask(call_of(actors::daemon_request::boot_lease, "{}", a.certificate));
  CHECK(out.reply.status == 400);
  CHECK_FALSE(out.is_held);
  CHECK(out.reply.body.find("/protocol") != std::string::npos);
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: what another process did a moment ago counts",
                 "[actors]") {
  auto a = agent(1);
  auto late = std::make_shared<behind_ledger>(*journal, time);
  through = late;
  const auto before = std::make_shared<const node::state>(node(a.id));
  SECTION("a revocation") {
    command(a.id, node::revoke_identity{time.now(), ""});
    late->old = before;
    check_refused(call(a));
  }
  SECTION("a node of which nothing was known") {
    late->old = std::make_shared<const node::state>();
    CHECK(lease_for(a).held);
  }
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: of two agents at once one has it (UNAVAILABLE "
                 "for a journal that cannot tell)",
                 "[actors]") {
  auto a = agent(1), b = agent(2);
  auto between = std::make_shared<interrupted_ledger>(*journal, time);
  between->meanwhile = [&] {
    through = ledger;
    CHECK(lease_for(b).held);
    through = between;
  };
  through = between;
  auto got = lease_for(a);
  CHECK_FALSE(got.held);
  CHECK(got.holder == b.id.str());
  CHECK(count(name::boot_lease_acquired) == 1);
  between->fails = true;
  auto out = ask(call(a));
  CHECK(out.reply.status == 503);
  CHECK_FALSE(out.is_held);
}

TEST_CASE_METHOD(lease_world,
                 "boot lease: it does not outlive the agent's certificate",
                 "[actors]") {
  auto a = agent(1);
  time.advance(pki::max_node_lifetime - pki::backdating - seconds{1});
  const auto s = node(a.id);
  REQUIRE(node::session_certificate(s, as_bytes(a.certificate), time.now()) !=
          nullptr);
  auto got = lease_for(a);
  CHECK(got.held);
  CHECK(from_millis(got.expires_ms) <= s.certificates[0].cert.not_after);
}

}  // namespace bc::test
