// The `discovery` attestor: what admits, what a ramdisk becomes, each approval
// mode with and without a token, failover, lost answers (spec: ATTESTATION
// section 4, 8.10; joining#join-requests-and-approvals).
#include "events/event_names.hpp"
#include "tests/actors/discovery_world.hpp"
#include "tests/actors/renew_world.hpp"

namespace bc::test {
namespace {

namespace name = events::name;
namespace node = events::node;
using actors::discovery_approval;

/// `never`, and a pool for the site.
struct open_world : discovery_world {
  open_world() {
    discovery->approval = discovery_approval::never;
    discovery->pools = {{site, pool}};
  }
};

struct token_world : discovery_world {
  /// The nth machine's request, with this token beside the vouch.
  wire::join_request with_token(const machine& m, int n,
                                const minted& token) const {
    auto r = ask(m);
    r.discovery->sealed_token = seal_for(r, token.text());
    r.discovery->vouch = vouch_for(r, mac_of(n), a);
    return r;
  }
};

}  // namespace

TEST_CASE_METHOD(open_world,
                 "discovery: a vouch is enough where nobody is asked",
                 "[actors]") {
  auto m = ramdisk(1);
  auto t = join(vouched(m, 1));
  REQUIRE(joined(t));
  CHECK(t.reports.empty());
  auto body = wire::decode_joined_body(t.answer.body).value();
  CHECK(body.role == "ramdisk");
  CHECK(body.site_id == site.str());
  auto leaf = pki::parse_certificate(body.certificate_chain.front()).value();
  CHECK(leaf.role == pki::certificate_role::ramdisk);
  CHECK(leaf.uris.size() == 1);
  CHECK(from_millis(body.not_after_ms) <=
        time.now() + pki::max_ramdisk_lifetime);

  const auto s = node(node_of(t.answer));
  CHECK(s.node->attestor == "discovery");
  CHECK(s.node->tenant == owner);
  CHECK(s.node->pool == pool);
  CHECK(s.node->hardware_key_trusted);
  CHECK(s.node->token.empty());
  CHECK(s.node->node_key == "unattested");
  CHECK(s.node->cert.role == pki::certificate_role::ramdisk);
  CHECK(s.node->cert.allowed_kinds == actors::ramdisk_kinds());
  CHECK_FALSE(s.node->cert.allowed_kinds.empty());
  CHECK(count(name::join_request_opened) == 0);
}

TEST_CASE_METHOD(open_world,
                 "discovery: a ramdisk's certificate stays short, and its "
                 "kinds, at each renewal",
                 "[actors]") {
  lifetime = GENERATE(pki::max_node_lifetime, seconds{3600});
  discovery->allowed_kinds = {"inspect.*"};
  auto m = ramdisk(1);
  auto t = join(vouched(m, 1));
  REQUIRE(joined(t));
  auto body = wire::decode_joined_body(t.answer.body).value();
  const auto most = std::min(lifetime, pki::max_ramdisk_lifetime);
  CAPTURE(body.not_after_ms - to_millis(time.now()), lifetime.count());
  CHECK(body.not_after_ms <= to_millis(time.now() + most));

  time.advance(seconds{1800});
  auto env = std::make_shared<actors::renew_environment>();
  env->keys = keys;
  env->root_tenant = root;
  env->certificate_lifetime = lifetime;
  member me{node_of(t.answer), m.key.clone(), body.certificate_chain};
  auto next = pki::private_key::generate();
  auto r = renewal_of(me, next, time.now());
  wire::join_answer answer;
  actors::run_renew(env, ledger, call_of(r, me.leaf()),
                    [&](wire::join_answer got) { answer = std::move(got); });
  CAPTURE(wire::encode(answer));
  REQUIRE(answer.what == wire::join_answer::kind::renewed);
  const auto s = node(me.id);
  REQUIRE(s.certificates.size() == 2);
  const auto& newest = s.certificates.back().cert;
  CHECK(newest.role == pki::certificate_role::ramdisk);
  CHECK(newest.not_after <= time.now() + most);
  CHECK(newest.allowed_kinds == std::vector<std::string>{"inspect.*"});
}

TEST_CASE_METHOD(discovery_world,
                 "discovery: unknown machines wait for a person, who sees who "
                 "vouched",
                 "[actors]") {
  auto m = ramdisk(1);
  const auto r = vouched(m, 1);
  auto t = join(r);
  const auto id = deferred_request(t);
  auto body = wire::decode_deferred_body(t.answer.body).value();
  CHECK(body.retry_after_seconds == 30);
  CHECK(body.csr_sha256 == to_bytes(m.csr_sha256()));
  CHECK(wire::http_status(t.answer) == 202);
  CHECK(t.reports.empty());
  CHECK(count(name::node_joined) == 1);  // the agent's own

  const auto s = request_of(id);
  CHECK(s.request->tenant == owner);
  CHECK(s.request->site == site);
  CHECK_FALSE(s.request->pool);
  CHECK(s.request->attestor == "discovery");
  CHECK(s.request->place);
  const auto& seen = s.request->seen;
  CHECK(seen.trusted);
  CHECK(s.request->subject == "hw:" + seen.hardware_key);
  REQUIRE(seen.vouch);
  CHECK(seen.vouch->mac == mac_of(1));
  CHECK(seen.vouch->ip == "10.0.0.17");
  CHECK(seen.vouch->by == a.id);
  CHECK(seen.vouch->boot_lease_epoch == 1);
  CHECK_FALSE(seen.vouch->workflow);
  CHECK(seen.csr_sha256 == to_hex(m.csr_sha256()));

  // The same again appends nothing; a fresh vouch neither.
  const auto before = head();
  time.advance(seconds{30});
  CHECK(deferred_request(join(vouched(m, 1))) == id);
  CHECK(head() == before);

  approve(id, pool);
  auto admitted = join(vouched(m, 1));
  REQUIRE(joined(admitted));
  CHECK(request_of(id).stored == events::join_request::status::consumed);
  CHECK(request_of(id).node == node_of(admitted.answer));
  CHECK(node(node_of(admitted.answer)).node->pool == pool);
}

TEST_CASE_METHOD(discovery_world, "discovery: a rejected CSR stays so",
                 "[actors]") {
  auto m = ramdisk(1);
  const auto id = deferred_request(join(vouched(m, 1)));
  reject(id, pool);
  const auto before = head();
  check_refused(*this, join(vouched(m, 1)), before,
                events::refusal_reason::discovery_rejected, owner);
  // Nor does another way in make it a yes.
  discovery->approval = discovery_approval::never;
  discovery->pools = {{site, pool}};
  check_refused(*this, join(vouched(m, 1)), before,
                events::refusal_reason::discovery_rejected, owner);
}

TEST_CASE_METHOD(discovery_world,
                 "discovery: an approval ends, and admits one join alone",
                 "[actors]") {
  auto m = ramdisk(1);
  const auto id = deferred_request(join(vouched(m, 1)));
  approve(id, pool, seconds{60});
  SECTION("another CSR of the same machine waits again") {
    auto other = ramdisk(1);
    const auto second = deferred_request(join(vouched(other, 1)));
    CHECK(second != id);
    CHECK(request_of(id).stored == events::join_request::status::approved);
  }
  SECTION("over, it waits again") {
    time.advance(seconds{60});
    CHECK(deferred_request(join(vouched(m, 1))) != id);
  }
}

TEST_CASE_METHOD(token_world,
                 "discovery: a token of the boot admits what is not known",
                 "[actors]") {
  auto m = ramdisk(1);
  auto token = discovery_token(1);
  auto t = join(with_token(m, 1, token));
  REQUIRE(joined(t));
  CHECK(uses_left(token) == 0);
  const auto s = node(node_of(t.answer));
  CHECK(s.node->token == token.token.id.str());
  CHECK(s.node->attestor == "discovery");
  CHECK(s.node->pool == pool);
}

TEST_CASE_METHOD(token_world, "discovery: its token is no way round the vouch",
                 "[actors]") {
  auto m = ramdisk(1);
  auto token = discovery_token(1);
  auto alone = request(m, token.text());
  alone.role = "ramdisk";
  const auto before = head();
  auto t = join(alone);
  check_refused(*this, t, before, events::refusal_reason::token_role_mismatch,
                owner);
  CHECK(uses_left(token) == 1);
  CHECK(t.reports.front().details.find("attestor discovery") !=
        std::string::npos);
  // Where no vouch is taken it is a token like another.
  discovery.reset();
  CHECK(joined(join(alone)));
}

TEST_CASE_METHOD(token_world,
                 "discovery: each approval mode, with a token and without",
                 "[actors]") {
  using enum discovery_approval;
  struct row {
    discovery_approval mode;
    bool token, trusted;
    bool admitted;
  };
  const auto r = GENERATE(values<row>({{never, false, true, true},
                                       {never, true, true, true},
                                       {never, false, false, false},
                                       {never, true, false, true},
                                       {unknown_machines, false, true, false},
                                       {unknown_machines, true, true, true},
                                       {unknown_machines, false, false, false},
                                       {unknown_machines, true, false, true},
                                       {always, false, true, false},
                                       {always, true, true, false},
                                       {always, false, false, false},
                                       {always, true, false, false}}));
  CAPTURE(approval_text(r.mode), r.token, r.trusted);
  discovery->approval = r.mode;
  discovery->pools = {{site, pool}};
  auto m = ramdisk(1);
  if (!r.trusted) {
    m.claims.product_uuid.clear();
    m.claims.product_serial = "To Be Filled By O.E.M.";
  }
  auto token = discovery_token(1);
  auto again = [&] {
    return join(r.token ? with_token(m, 1, token) : vouched(m, 1));
  };
  auto t = again();
  CHECK(joined(t) == r.admitted);
  CHECK(deferred(t) == !r.admitted);
  CHECK(uses_left(token) == (r.admitted && r.token ? 0 : 1));
  if (r.admitted) {
    CHECK(node(node_of(t.answer)).node->hardware_key_trusted == r.trusted);
    return;
  }
  const auto id = deferred_request(t);
  const auto waiting = request_of(id);
  CHECK(waiting.request->subject ==
        (r.trusted ? "hw:" + waiting.request->seen.hardware_key
                   : "mac:" + site.str() + ":" + mac_of(1)));
  CHECK((waiting.request->pool == pool) == r.token);
  approve(id, pool);
  auto admitted = again();
  REQUIRE(joined(admitted));
  // What it showed beside the approval is spent with it.
  CHECK(uses_left(token) == (r.token ? 0 : 1));
  CHECK(request_of(id).stored == events::join_request::status::consumed);
}

TEST_CASE_METHOD(discovery_world,
                 "discovery: another agent may vouch for the retry (failover)",
                 "[actors]") {
  auto b = new_agent(901);
  auto m = ramdisk(1);
  const auto id = deferred_request(join(vouched(m, 1)));
  approve(id, pool);
  release(a);
  lease_to(b);
  // The old agent's word counts no more.
  const auto before = head();
  check_refused(*this, join(vouched(m, 1, &a)), before,
                events::refusal_reason::discovery_lease, owner);
  REQUIRE(joined(join(vouched(m, 1, &b))));
}

TEST_CASE_METHOD(open_world,
                 "discovery: a lost answer is given again, to a fresh vouch",
                 "[actors]") {
  auto m = ramdisk(1);
  const auto first = vouched(m, 1);
  auto t = join(first);
  REQUIRE(joined(t));
  const auto before = head();
  // The very same request too, as a relay may send it twice.
  for (const auto& r : {first, vouched(m, 1)}) {
    auto again = join(r);
    REQUIRE(joined(again));
    CHECK(again.answer.body == t.answer.body);
    CHECK(again.answer.signature == t.answer.signature);
  }
  CHECK(head() == before);
  time.advance(seconds{601});
  lease_to(a);
  auto late = join(vouched(m, 1));
  CHECK_FALSE(joined(late));
}

TEST_CASE_METHOD(open_world,
                 "discovery: an answer that is void, and its vouch again",
                 "[actors]") {
  auto m = ramdisk(1);
  const auto r = vouched(m, 1);
  auto t = join(r);
  REQUIRE(joined(t));
  command(node_of(t.answer), node::revoke_identity{time.now(), ""});
  const auto before = head();
  check_refused(*this, join(r), before,
                events::refusal_reason::discovery_vouch_replayed, owner);
}

TEST_CASE_METHOD(open_world,
                 "discovery: a ramdisk that boots again is the same node",
                 "[actors]") {
  auto t = join(vouched(ramdisk(1), 1));
  REQUIRE(joined(t));
  const auto id = node_of(t.answer);
  time.advance(seconds{700});
  lease_to(a);
  auto again = join(vouched(ramdisk(1), 1));
  REQUIRE(joined(again));
  CHECK(node_of(again.answer) == id);
  const auto s = node(id);
  CHECK(s.generation == 2);
  CHECK(s.node->reclaim);
  REQUIRE(s.certificates.size() == 2);
  CHECK(s.certificates[0].revoked_for == node::revocation::reclaimed);
}

TEST_CASE_METHOD(open_world,
                 "discovery: a node that has an operating system is not a "
                 "ramdisk's to take",
                 "[actors]") {
  auto m = ramdisk(1);
  auto os = join(m, mint_token().text());
  REQUIRE(joined(os));
  const auto before = head();
  check_refused(*this, join(vouched(ramdisk(1), 1)), before,
                events::refusal_reason::join_reclaim, owner);
}

TEST_CASE_METHOD(open_world,
                 "discovery: a deploy makes a ramdisk's node one of an "
                 "operating system, and no way leads back",
                 "[actors]") {
  auto m = ramdisk(1);
  auto t = join(vouched(m, 1));
  REQUIRE(joined(t));
  const auto id = node_of(t.answer);
  auto provisioned = mint_token([&](events::join_token::created& c) {
    c.token_role = events::join_token::role::provisioned;
    c.node = id;
  });
  auto os = ramdisk(1);
  auto r = request(os, provisioned.text());
  r.node_id = id.str();
  auto deployed = join(r);
  REQUIRE(joined(deployed));
  CHECK(node_of(deployed.answer) == id);
  const auto s = node(id);
  CHECK(s.generation == 2);
  CHECK(s.node->cert.role == pki::certificate_role::node);
  CHECK(s.node->attestor == "join-token");
  CHECK(s.node->cert.allowed_kinds.empty());
  const auto before = head();
  check_refused(*this, join(vouched(ramdisk(1), 1)), before,
                events::refusal_reason::join_reclaim, owner);
}

TEST_CASE_METHOD(open_world,
                 "discovery: the pool's own rules hold for a vouch too",
                 "[actors]") {
  auto m = ramdisk(1);
  SECTION("a pool that does not list it") {
    discovery->pools = {{site, new_pool(owner, site, events::pool::agent::bcd,
                                        {{"join-token"}, false, {}})}};
    auto before = head();
    check_refused(*this, join(vouched(m, 1)), before,
                  events::refusal_reason::join_pool_attestor, owner);
  }
  SECTION("a pool that is not there, and none") {
    discovery->pools = {{site, pki::mint<pool_id>(time.now())}};
    auto before = head();
    check_refused(*this, join(vouched(m, 1)), before,
                  events::refusal_reason::join_pool, owner);
    discovery->pools.clear();
    check_refused(*this, join(vouched(m, 1)), before,
                  events::refusal_reason::join_pool, owner);
  }
  SECTION("an archived pool") {
    archive(pool);
    auto before = head();
    check_refused(*this, join(vouched(m, 1)), before,
                  events::refusal_reason::join_pool, owner);
  }
  SECTION("a pool of another site") {
    discovery->pools = {
        {site, new_pool(owner, new_site(), events::pool::agent::bcd)}};
    auto before = head();
    check_refused(*this, join(vouched(m, 1)), before,
                  events::refusal_reason::join_site, owner);
  }
  SECTION("a machine that names another site") {
    auto r = ask(m);
    r.site_id = new_site().str();
    r.discovery->vouch =
        vouch_for(r, mac_of(1), a, [&](auto& v) { v.site = site; });
    auto before = head();
    check_refused(*this, join(r), before, events::refusal_reason::join_site,
                  owner);
  }
  SECTION("a key that is in use") {
    auto other = ramdisk(2);
    REQUIRE(joined(join(vouched(m, 1))));
    other.key = m.key.clone();
    other.csr = pki::build_csr(other.key);
    auto before = head();
    check_refused(*this, join(vouched(other, 2)), before,
                  events::refusal_reason::join_csr, owner);
  }
}

TEST_CASE_METHOD(open_world, "discovery: not configured, its name is unknown",
                 "[actors]") {
  discovery.reset();
  auto before = head();
  auto t = join(vouched(ramdisk(1), 1));
  check_refused(*this, t, before, events::refusal_reason::join_attestor, root);
  CHECK(t.reports.front().attestor == "unknown");
}

}  // namespace bc::test
