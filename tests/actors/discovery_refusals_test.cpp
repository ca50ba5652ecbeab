// Every reason of the `discovery` attestor: one answer, nothing spent, whom it
// is told to; and what happens while a request is judged (spec: ATTESTATION
// section 4, 8.5, 8.10).
#include "events/event_names.hpp"
#include "tests/actors/discovery_refusing.hpp"

namespace bc::test {
namespace {

namespace name = events::name;
namespace node = events::node;
using actors::discovery_approval;
using events::refusal_reason;

}  // namespace

TEST_CASE_METHOD(refusal_world,
                 "discovery: every reason, one answer, nothing spent",
                 "[actors]") {
  SECTION("role") {
    for (const auto* role : {"node", "site", "node-tenant"})
      check(good([&](auto& r) { r.role = role; }),
            refusal_reason::discovery_role, root);
  }
  SECTION("vouch-missing") {
    auto r = good();
    r.discovery.reset();
    check(r, refusal_reason::discovery_vouch_missing, root);
    r = good();
    r.discovery->vouch.clear();
    check(r, refusal_reason::discovery_vouch_missing, root);
  }
  SECTION("vouch-malformed") {
    auto r = good();
    r.discovery->vouch += "A";
    check(r, refusal_reason::discovery_vouch_malformed, root);
    r.discovery->vouch = "a.b.c";
    check(r, refusal_reason::discovery_vouch_malformed, root);
  }
  SECTION("vouch-expired, at the very second; and from the future") {
    auto r = good(
        {}, [&](auto& says) { says.expires_at = says.issued_at + seconds{1}; });
    time.advance(seconds{1});
    check(r, refusal_reason::discovery_vouch_expired, root);
    check(good({},
               [&](auto& says) {
                 says.issued_at += pki::vouch::clock_skew + seconds{1};
                 says.expires_at += pki::vouch::clock_skew + seconds{1};
               }),
          refusal_reason::discovery_vouch_expired, root);
  }
  SECTION("vouch-signer: nobody who ever had the lease") {
    auto b = new_agent(901);
    check(good({}, {}, &b), refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signer: an agent of another site") {
    auto elsewhere = new_site();
    auto b = new_agent(901, elsewhere);
    lease_to(b, elsewhere);
    check(good({}, {}, &b), refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signer: a site that no agent ever had") {
    auto elsewhere = new_site();
    check(good([&](auto& r) { r.site_id = elsewhere.str(); }),
          refusal_reason::discovery_vouch_signer, root);
    auto nowhere = pki::mint<site_id>(time.now());
    check(good([&](auto& r) { r.site_id = nowhere.str(); }),
          refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signer: revoked") {
    command(a.id, node::revoke_identity{time.now(), ""});
    check(good(), refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signer: of the site's agent, but never issued to it") {
    auto forged =
        pki::issue_node_certificate(keys->node_ca, {a.key.pub(),
                                                    "compute.example.test",
                                                    site.str(),
                                                    a.id.str(),
                                                    pki::certificate_role::site,
                                                    {},
                                                    time.now(),
                                                    pki::max_node_lifetime,
                                                    {1, 2, 3}});
    site_agent other{a.id, a.key.clone(), forged.der};
    check(good({}, {}, &other), refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signer: the site is gone") {
    auto r = good();
    delete_site(site);
    const auto before = head();
    check_refused(*this, join(r), before,
                  refusal_reason::discovery_vouch_signer, root);
  }
  SECTION("vouch-signature") {
    site_agent other{a.id, pki::private_key::generate(), a.certificate};
    check(good({}, {}, &other), refusal_reason::discovery_vouch_signature,
          root);
  }
  SECTION("vouch-csr") {
    auto r = good();
    auto other = ramdisk(1);
    r.csr = other.csr;
    check(r, refusal_reason::discovery_vouch_csr, root);
  }
  SECTION("vouch-claims: whatever a gateway may change") {
    auto r = good();
    SECTION("hardware") {
      r.hardware.product_serial = "SN-OTHER";
    }
    SECTION("a MAC") {
      r.hardware.macs.push_back(mac_of(2));
    }
    SECTION("the node") {
      r.node_id = a.id.str();
    }
    check(r, refusal_reason::discovery_vouch_claims, root);
  }
  SECTION("lease: given up") {
    release(a);
    check(good(), refusal_reason::discovery_lease, owner);
  }
  SECTION("lease: over") {
    time.advance(events::boot_lease::default_ttl);
    check(good(), refusal_reason::discovery_lease, owner);
  }
  SECTION("lease: another agent's since") {
    auto b = new_agent(901);
    auto r = good();
    release(a);
    lease_to(b);
    check(r, refusal_reason::discovery_lease, owner);
  }
  SECTION("lease: an epoch behind, and one ahead") {
    auto r = good();
    release(a);
    lease_to(a);
    check(r, refusal_reason::discovery_lease, owner);
    check(good({}, [](auto& says) { ++says.boot_lease_epoch; }),
          refusal_reason::discovery_lease, owner);
  }
  SECTION("mac: none of the machine's own NICs") {
    check(good([](auto& r) { r.hardware.macs.clear(); }),
          refusal_reason::discovery_mac, owner);
    check(good([](auto& r) { r.hardware.macs = {mac_of(2)}; }),
          refusal_reason::discovery_mac, owner);
    // As a virtual machine's.
    check(good([](auto& r) { r.hardware.macs = {"52:54:00:00:00:01"}; },
               [](auto& says) { says.mac = "52:54:00:00:00:01"; }),
          refusal_reason::discovery_mac, owner);
  }
  SECTION("token: of another kind, site, MAC; spent, over, revoked, unknown") {
    auto with = [&](const minted& other) {
      auto r = ask(m);
      r.discovery->sealed_token = seal_for(r, other.text());
      r.discovery->vouch = vouch_for(r, mac_of(1), a);
      return r;
    };
    const auto refused = refusal_reason::discovery_token;
    check(with(mint_token()), refused, owner);
    check(with(discovery_token(2)), refused, owner);
    check(with(discovery_token(1, [&](auto& t) { t.site = new_site(); })),
          refused, owner);
    check(with(discovery_token(1, [](auto& t) { t.expect = {}; })), refused,
          owner);
    auto spent = discovery_token(1);
    use_up(spent);
    check(with(spent), refused, owner);
    auto revoked = discovery_token(1);
    revoke(revoked);
    check(with(revoked), refused, owner);
    check(with(discovery_token(1, [&](auto& t) { t.expires_at = time.now(); })),
          refused, owner);
    auto unknown = discovery_token(1);
    unknown.token.id = pki::mint<join_token_id>(time.now());
    check(with(unknown), refused, owner);
    auto guessed = discovery_token(1);
    guessed.secret = to_base64url(bytes(32, 7));
    check(with(guessed), refused, owner);
  }
  SECTION("token: not sealed for this request, and no token") {
    auto r = ask(m);
    auto other = ask(ramdisk(1));
    for (const auto& sealed :
         {std::string{"a.b.c.d.e"}, seal_for(other, token.text()),
          seal_for(r, "bcjt_nothing")}) {
      r.discovery->sealed_token = sealed;
      r.discovery->vouch = vouch_for(r, mac_of(1), a);
      check(r, refusal_reason::discovery_token, owner);
    }
  }
  SECTION("workflow: none is live") {
    check(good({}, [](auto& says) { says.workflow = "wf_7"; }),
          refusal_reason::discovery_workflow, owner);
  }
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: a request that was refused for nothing of its own "
                 "is admitted next",
                 "[actors]") {
  check(good({}, [](auto& says) { says.workflow = "wf_7"; }),
        refusal_reason::discovery_workflow, owner);
  REQUIRE(joined(join(good())));
  CHECK(uses_left(token) == 0);
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: what a refusal compared is the site owner's to "
                 "read",
                 "[actors]") {
  auto t = join(good([](auto& r) { r.hardware.macs = {mac_of(2)}; }));
  REQUIRE(t.reports.size() == 1);
  const auto& details = t.reports.front().details;
  CHECK(details.find("mac " + mac_of(1)) != std::string::npos);
  CHECK(details.find("mac " + mac_of(2)) != std::string::npos);
  release(a);
  t = join(good());
  CHECK(t.reports.front().details.find("a lease that is free") !=
        std::string::npos);
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: no place is left, and one that is freed",
                 "[actors]") {
  discovery->approval = discovery_approval::unknown_machines;
  discovery->pending_places = 2;
  auto wait = [&](int n) { return join(vouched(ramdisk(n), n)); };
  const auto first = deferred_request(wait(1));
  deferred_request(wait(2));
  const auto before = head();
  auto t = wait(3);
  check_refused(*this, t, before, refusal_reason::discovery_enrollment_full,
                owner);
  CHECK(without_time(t.answer) == one_answer());
  reject(first, pool);
  deferred_request(wait(3));
}

TEST_CASE_METHOD(refusal_world,
                 "discovery: an approval for one pool, a token for another",
                 "[actors]") {
  discovery->approval = discovery_approval::always;
  const auto id = deferred_request(join(vouched(m, 1)));
  const auto other = new_pool(owner, site, events::pool::agent::bcd);
  approve(id, other);
  const auto before = head();
  auto t = join(good());
  check_refused(*this, t, before, refusal_reason::discovery_token, owner);
  REQUIRE(joined(join(vouched(m, 1))));
}

}  // namespace bc::test
