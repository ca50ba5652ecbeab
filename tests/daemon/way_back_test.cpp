// spec: ATTESTATION sections 2 and 3; CASES 108, 124. The ways back of a
// machine whose certificate names its TPM's AK: by the certificate with that
// AK's word, then by the TPM, then a person.
#include "daemon/rejoin.hpp"
#include "tests/daemon/fake_attestor.hpp"
#include "tests/daemon/fake_rejoins.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
using std::chrono::hours;
using std::chrono::minutes;
using end = renewal_attempt::end;

namespace {

struct world : tpm_world {
  config configured = server.gateway.config(folder);
  identity_store store = identity_store::open(folder / "data", tpm).value();
  fake_attestor attestor{server.gateway};
  int by_certificate = 0;  // asked for, and refused
  time_point now = me.who.not_after + hours{1};
  bool has_tpm = true;

  rejoin_tools tools() {
    rejoin_tools out;
    out.post = [this](std::string_view path, std::string_view body) {
      if (path == "/v1/join")
        return attestor.join(wire::decode_join_request(body).value());
      auto asked = wire::decode_challenge_request(body).value();
      if (asked.tpm)
        return attestor.post(path, body);
      ++by_certificate;
      return server.gateway.answered(
          attestor.failed(errc::access_denied, asked.csr_sha256));
    };
    out.hardware = [] { return fake_machine{}.read(); };
    out.keys = keys;
    if (has_tpm)
      out.tpm = tpm;
    return out;
  }
  way_back ways() { return {configured, store, tools()}; }
};

}  // namespace

TEST_CASE("way back: by the certificate, with the AK's word on the new key") {
  tpm_world w;
  w.time.pass(hours{30});
  w.server.gateway.server =
      pki::issue_server_certificate(w.server.gateway.keys.serving_ca,
                                    {"gw.example.com"}, w.time.server)
          .value();
  auto config = w.server.gateway.config(w.folder);
  auto store = identity_store::open(w.folder / "data", w.tpm).value();
  fake_rejoins back{w.time, w.server};
  auto tools = back.tools();
  tools.keys = w.keys;
  bool vouched = false;
  back.join_script.push_back([&](auto& g, const auto& r) {
    vouched =
        r.x509pop->attestation && !w.judged(w.me.who.certificate_chain.front(),
                                            r.x509pop->attestation, r.csr);
    return g.judged(r);
  });
  auto got = attempt_rejoin(config, store, w.me, tools);
  INFO(got.why);
  CHECK(got.what == end::renewed);
  CHECK(vouched);
  CHECK(got.renewed->key.blobs() != nullptr);
  CHECK(got.renewed->key.sign(pki::sha256({})));

  const bool cleared = GENERATE(false, true);
  w.tpm->answers = cleared;
  w.tpm->seed = cleared ? 1 : 0;
  const auto sent = back.challenges.size();
  auto failed = attempt_rejoin(config, store, w.me, tools);
  CHECK(failed.what == end::no_key);
  CHECK(failed.requests == 0);
  CHECK(back.challenges.size() == sent);
  CHECK_THAT(failed.why, Catch::StartsWith(std::string{wrong_tpm_text}));
}

TEST_CASE("way back: refused by the certificate, the TPM brings it back") {
  world w;
  w.me.who.attestor = "tpm";
  w.me.who.ek_kind = "p256";
  auto got = w.ways().attempt(w.me, w.now);
  INFO(got.why);
  REQUIRE(got.what == end::renewed);
  CHECK(w.by_certificate == 1);
  CHECK(w.attestor.verdicts == std::vector<std::string>{"admitted"});
  CHECK(w.attestor.joins[0].node_id == fake_gateway::node);
  CHECK(w.tpm->called_so_far("ek p256") == 1);
  CHECK(got.renewed->who.attestor == "tpm");
  CHECK(got.renewed->who.ek_kind == "p256");
  CHECK(named_ak(got.renewed->who.certificate_chain.front()) ==
        w.tpm->statement());
}

TEST_CASE("way back: after seven days the TPM alone is asked") {
  world w;
  w.now = w.me.who.not_after + rejoin_window + seconds{1};
  auto ways = w.ways();
  CHECK(ways.is_open(w.me, w.now));
  CHECK(ways.attempt(w.me, w.now).what == end::renewed);
  CHECK(w.by_certificate == 0);
}

TEST_CASE("way back: a person is waited for with the same CSR") {
  world w;
  auto ways = w.ways();
  for (int i = 0; i < 3; ++i)
    w.attestor.join_script.push_back(
        [](auto& s, const auto& r) { return s.deferred(r); });
  for (int i = 0; i < 3; ++i) {
    auto got = ways.attempt(w.me, w.now);
    CHECK(got.what == end::unavailable);
    CHECK_THAT(got.why, Catch::Contains("a person must approve") &&
                            Catch::Contains("jreq_"));
  }
  CHECK(ways.attempt(w.me, w.now).what == end::renewed);
  // The certificate was refused once, and not again while the request waits.
  CHECK(w.by_certificate == 1);
  for (const auto& r : w.attestor.joins)
    CHECK(r.csr == w.attestor.joins[0].csr);
}

TEST_CASE("way back: refused by both, both are asked the next time") {
  world w;
  auto ways = w.ways();
  for (int i = 0; i < 2; ++i)
    w.attestor.challenge_script.push_back([](auto& s, const auto& asked) {
      return s.gateway.answered(
          s.failed(errc::access_denied, asked.csr_sha256));
    });
  for (int i = 1; i <= 2; ++i) {
    CHECK(ways.attempt(w.me, w.now).what == end::refused);
    CHECK(w.by_certificate == i);
    CHECK(w.attestor.challenges.size() == static_cast<std::size_t>(i));
  }
  CHECK(ways.attempt(w.me, w.now).what == end::renewed);
}

TEST_CASE("way back: where the helper has the TPM, nobody proves it") {
  world w;
  w.has_tpm = false;
  auto ways = w.ways();
  CHECK(ways.attempt(w.me, w.now).what == end::refused);
  CHECK(w.attestor.challenges.empty());
  CHECK(ways.is_open(w.me, w.now));
  CHECK_FALSE(
      ways.is_open(w.me, w.me.who.not_after + rejoin_window + seconds{1}));
}

TEST_CASE("way back: another TPM than the certificate's sends nothing") {
  world w;
  const bool in_window = GENERATE(false, true);
  w.now = w.me.who.not_after + (in_window ? hours{1} : hours{24 * 8});
  SECTION("cleared") {
    w.tpm->seed = 1;
  }
  SECTION("another board") {
    w.tpm->board = 1;
  }
  SECTION("away") {
    w.tpm->answers = false;
  }
  auto got = w.ways().attempt(w.me, w.now);
  CHECK(got.what == end::no_key);
  CHECK(w.by_certificate == 0);
  CHECK(w.attestor.challenges.empty());
  CHECK_THAT(got.why, Catch::StartsWith(std::string{wrong_tpm_text}));
}

TEST_CASE("way back: only a node's certificate comes back by a TPM") {
  world w;
  const auto over = w.me.who.not_after + hours{24 * 30};
  auto ways = w.ways();
  CHECK(ways.is_open(w.me, over));
  w.me.who.certificate_chain.front() = w.certificate(
      w.me.key.pub(), {w.tpm->statement()}, pki::certificate_role::site);
  CHECK_FALSE(ways.is_open(w.me, over));
  w.me.who.certificate_chain.front() = w.certificate(w.me.key.pub(), {});
  CHECK_FALSE(ways.is_open(w.me, over));
}

TEST_CASE(
    "way back: an answer that was lost for too long costs its CSR alone") {
  world w;
  auto ways = w.ways();
  const auto pending = w.folder / "data/csr.pending";
  w.attestor.join_script.push_back([](auto& s, const auto& r) {
    (void)s.judged(r);
    return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
  });
  CHECK(ways.attempt(w.me, w.now).what == end::lost);
  const auto refused = [](auto& s, const wire::join_request& r) {
    return s.gateway.answered(
        s.failed(errc::access_denied, to_bytes(pki::sha256(r.csr))));
  };
  // The server may have the answer still: the same again.
  w.attestor.join_script.push_back(refused);
  CHECK(ways.attempt(w.me, w.now).what == end::refused);
  CHECK(std::filesystem::exists(pending));
  // It has not: from now on another one.
  std::filesystem::last_write_time(
      pending, std::filesystem::file_time_type::clock::now() - minutes{11});
  w.attestor.join_script.push_back(refused);
  CHECK(ways.attempt(w.me, w.now).what == end::refused);
  CHECK_FALSE(std::filesystem::exists(pending));
  CHECK(ways.attempt(w.me, w.now).what == end::renewed);
  REQUIRE(w.attestor.joins.size() == 4);
  CHECK(w.attestor.joins[2].csr == w.attestor.joins[0].csr);
  CHECK(w.attestor.joins[3].csr != w.attestor.joins[0].csr);
}

TEST_CASE("way back: a request that waits keeps its CSR for as long") {
  world w;
  auto ways = w.ways();
  for (int i = 0; i < 2; ++i) {
    w.attestor.join_script.push_back(
        [](auto& s, const auto& r) { return s.deferred(r); });
    CHECK(ways.attempt(w.me, w.now).what == end::unavailable);
    CHECK(w.store.pending_is_recent());
    std::filesystem::last_write_time(
        w.folder / "data/csr.pending",
        std::filesystem::file_time_type::clock::now() - hours{1});
  }
}

TEST_CASE(
    "way back: a pending key that the TPM does not sign with sends nothing") {
  world w;
  const auto first = w.store.pending([&w] { return w.keys.make(); }).value();
  REQUIRE(first.key.blobs() != nullptr);
  SECTION("of a certificate that names its AK") {}
  SECTION("of one that does not") {
    w.me.who.certificate_chain.front() = w.certificate(w.me.key.pub(), {});
  }
  w.tpm->signs = false;
  auto got = w.ways().attempt(w.me, w.now);
  CHECK(got.what == end::no_key);
  CHECK(w.by_certificate == 0);
  CHECK(w.attestor.challenges.empty());
  // Made anew once it is known to be gone.
  w.tpm->signs = true;
  w.tpm->seed = 1;
  auto second = w.store.pending([&w] { return w.keys.make(); });
  REQUIRE(second);
  CHECK_FALSE(second.value().key.pub() == first.key.pub());
}
