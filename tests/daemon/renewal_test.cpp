// spec: joining#renewal; CASES 104, 105, 111. One attempt.
#include "daemon/renewal.hpp"

#include "daemon/printable.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using end = daemon::renewal_attempt::end;
using daemon::exchange;

namespace {

struct world {
  temporary_folder folder;
  virtual_world time;
  fake_renewals server{time};
  daemon::node_identity me = server.identity();
  daemon::config config = server.gateway.config(folder);
  std::vector<bool> with_certificate;

  daemon::renewal_attempt attempt() {
    return daemon::attempt_renewal(
        config, me, [this] { return time.clocks().wall; },
        [this](std::string_view body, const daemon::node_identity* as) {
          with_certificate.push_back(as != nullptr);
          return server.take(body, as);
        });
  }
  void answer(fake_renewals::reply reply) {
    server.script.push_back(std::move(reply));
  }
};

}  // namespace

TEST_CASE("renewal: a new key, a new certificate, the same node") {
  world w;
  w.time.pass(seconds{60'000});
  auto got = w.attempt();
  INFO(got.why);
  REQUIRE(got.what == end::renewed);
  REQUIRE(got.renewed);
  CHECK(got.requests == 1);
  CHECK(*got.server_time == w.time.server);
  CHECK_FALSE(got.renewed->key.pub() == w.me.key.pub());
  CHECK(got.renewed->who.node_id == w.me.who.node_id);
  CHECK(got.renewed->who.role == w.me.who.role);
  CHECK(got.renewed->who.not_after > w.me.who.not_after);
  CHECK(w.server.requests[0].certificate_chain == w.me.who.certificate_chain);
  // Another attempt makes another key.
  REQUIRE(w.attempt().what == end::renewed);
  CHECK(w.server.requests[0].csr != w.server.requests[1].csr);
}

TEST_CASE(
    "renewal: a clock that is off is corrected by the signed time, once "
    "(cases 104, 111)") {
  world w;
  const seconds off{GENERATE(-1'700'000'000, -72'000, -61, 61, 72'000)};
  w.time.wall_off = off;
  auto got = w.attempt();
  INFO(got.why);
  REQUIRE(got.what == end::renewed);
  CHECK(got.requests == 2);
  CHECK(from_millis(w.server.requests[0].client_time_ms) ==
        w.time.server + off);
  CHECK(from_millis(w.server.requests[1].client_time_ms) == w.time.server);
  // The proof covers the time.
  CHECK(w.server.requests[0].pop_signature !=
        w.server.requests[1].pop_signature);
}

TEST_CASE("renewal: a clock within a minute asks once (cases 104, 107)") {
  world w;
  w.time.wall_off = seconds{GENERATE(-60, 0, 60)};
  w.server.revoked = true;
  auto got = w.attempt();
  CHECK(got.what == end::refused);
  CHECK(got.requests == 1);
}

TEST_CASE("renewal: refused with the clock corrected stays refused") {
  world w;
  w.server.revoked = true;
  w.time.wall_off = seconds{7'200};
  auto got = w.attempt();
  CHECK(got.what == end::refused);
  CHECK(got.requests == 2);
}

TEST_CASE(
    "renewal: a gateway that does not take the certificate: the signed time "
    "tells why (case 108)") {
  world w;
  w.time.pass(pki::max_node_lifetime);
  auto got = w.attempt();
  CHECK(got.what == end::refused);
  CHECK(w.with_certificate == std::vector<bool>{true, false});
  REQUIRE(got.server_time);
  CHECK(*got.server_time >= w.me.who.not_after);
  CHECK_THAT(got.why, Catch::Contains("certificate expired"));
}

// Each row breaks one thing that the rest of the answer leaves whole.
TEST_CASE("renewal: an answer that fails a check changes nothing (case 176)") {
  world w;
  std::string check;
  SECTION("signed for a join") {
    check = "signature";
    w.answer([](auto& s, const auto& r) {
      return s.signed_with(r, s.body_for(r), pki::purpose::join_response);
    });
  }
  SECTION("time not signed for this CSR") {
    check = "signature";
    w.answer([](auto& s, const auto& r) {
      auto other = r;
      other.csr = pki::build_csr(pki::private_key::generate());
      return s.refused(other);
    });
  }
  SECTION("another CSR's answer") {
    check = "csr_sha256";
    w.answer([](auto& s, const auto& r) {
      auto body = s.body_for(r);
      body.csr_sha256[0] ^= 1;
      return s.signed_with(r, body);
    });
  }
  SECTION("another key's leaf") {
    check = "key";
    w.answer([](auto& s, const auto& r) {
      auto body = s.body_for(r);
      auto key = pki::private_key::generate().pub();
      body.certificate_chain[0] = s.issue(key, r.node_id).der;
      return s.signed_with(r, body);
    });
  }
  SECTION("another node") {
    check = "SPIFFE SAN";
    w.answer([](auto& s, const auto& r) {
      auto other = r;
      other.node_id = "node_01k5w000000000000000000001";
      return s.signed_with(r, s.body_for(other));
    });
  }
  SECTION("another role, also the other kind of node agent") {
    check = "role";
    auto role = GENERATE(pki::certificate_role::node_tenant,
                         pki::certificate_role::site);
    w.answer([role](auto& s, const auto& r) {
      return s.signed_with(r, s.body_for(r, role));
    });
  }
  SECTION("a certificate that is over by the signed time") {
    check = "validity";
    w.answer([&w](auto& s, const auto& r) {
      auto body = s.body_for(r);
      w.time.pass(pki::max_node_lifetime);
      return s.signed_with(r, body);
    });
  }
  auto got = w.attempt();
  CHECK(got.what == end::untrusted);
  CHECK_FALSE(got.renewed);
  CHECK_THAT(got.why, Catch::Contains(check));
}

TEST_CASE("renewal: another trust domain is not ours") {
  world w;
  w.me.who.trust_domain = "other.example.com";
  auto got = w.attempt();
  CHECK(got.what == end::untrusted);
  CHECK_THAT(got.why, Catch::Contains("SPIFFE"));
}

TEST_CASE("renewal: a join's answer is none, nor is a deferral") {
  world w;
  auto kind = GENERATE(wire::join_answer::kind::joined,
                       wire::join_answer::kind::deferred);
  w.answer([kind](auto& s, const auto& r) {
    auto e = s.renewed(r);
    auto a = wire::decode_join_answer(e.status, e.body).value();
    a.what = kind;
    return s.answered(a);
  });
  auto got = w.attempt();
  CHECK(got.what == end::untrusted);
  CHECK_THAT(got.why, Catch::Contains("not to a renewal"));
}

TEST_CASE("renewal: errors that may pass, and what cannot be read") {
  world w;
  SECTION("UNAVAILABLE, INVALID_CONFIG, INVALID_INPUT, signed or not") {
    auto code = GENERATE(errc::unavailable, errc::invalid_config,
                         errc::invalid_input, errc::internal);
    w.answer([code](auto& s, const auto& r) {
      return s.failed(r, code, "\x1b[2Jlater");
    });
    auto got = w.attempt();
    CHECK(got.what == end::unavailable);
    CHECK_THAT(got.why, Catch::Contains(std::string{wire_text(code)}) &&
                            Catch::Contains("?[2Jlater"));
  }
  SECTION("a refusal without a signature") {
    w.answer([](auto& s, const auto&) {
      wire::join_answer a;
      a.code = errc::access_denied;
      a.message = "Renew refused";
      return s.answered(a);
    });
    CHECK(w.attempt().what == end::untrusted);
  }
  SECTION("no JSON at all") {
    w.answer([](auto& s, const auto& r) {
      auto e = s.renewed(r);
      e.body = "<html>";
      return e;
    });
    CHECK(w.attempt().what == end::untrusted);
  }
  SECTION("a lost answer") {
    w.answer([](auto&, const auto&) {
      return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
    });
    auto got = w.attempt();
    CHECK(got.what == end::lost);
    CHECK(got.requests == 1);
  }
  SECTION("nobody there") {
    w.server.reachable = false;
    auto got = w.attempt();
    CHECK(got.what == end::unreachable);
    CHECK(got.requests == 0);
  }
  SECTION("a gateway whose certificate is over by the signed time") {
    w.time.pass(seconds{100 * 86'400});
    w.me = w.server.identity();
    auto got = w.attempt();
    CHECK(got.what == end::untrusted);
    CHECK_THAT(got.why, Catch::Contains("gateway's certificate"));
  }
}
