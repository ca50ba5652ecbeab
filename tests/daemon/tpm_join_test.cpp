// spec: ATTESTATION section 2.1; joining#join-requests-and-approvals; CASES 14,
// 124. `bcd join --attestor tpm`, against the real rules.
#include "base/encoding.hpp"
#include "tests/daemon/tpm_join_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
namespace fs = std::filesystem;

TEST_CASE("tpm join: without a token, by the TPM alone") {
  tpm_join_world w;
  auto got = w.join();
  INFO(got.message);
  REQUIRE(got.exit_code == join_exit::joined);
  CHECK(w.server.verdicts == std::vector<std::string>{"admitted"});
  REQUIRE(w.server.joins.size() == 1);
  const auto& sent = w.server.joins[0];
  CHECK(sent.attestor == "tpm");
  CHECK(sent.role == "node");
  CHECK_FALSE(sent.sealed_token);
  CHECK(w.server.challenges[0].tpm->claims_sha256 ==
        to_bytes(pki::claims_digest(sent)));
  auto look = look_at_identity(w.folder / "data", w.tpm).value();
  REQUIRE(look.pair);
  CHECK(look.pair->who.attestor == "tpm");
  CHECK(look.pair->who.ek_kind == "p256");
  CHECK(named_ak(look.pair->who.certificate_chain.front()) ==
        w.tpm->statement());
  CHECK(look.pair->key.blobs() != nullptr);
  CHECK(look.pair->key.sign(pki::sha256({})));
  CHECK_FALSE(w.pending());
}

TEST_CASE("tpm join: nothing is opened for a challenge that is not ours") {
  struct row {
    const char* name;
    std::function<void(wire::challenge_body&)> change;
    const char* which;
  };
  const auto r = GENERATE(values<row>(
      {{"another CSR", [](auto& b) { b.csr_sha256 = bytes(32, 1); },
        "csr_sha256"},
       {"other claims", [](auto& b) { b.claims_sha256 = bytes(32, 1); },
        "claims_sha256"},
       {"no claims", [](auto& b) { b.claims_sha256.clear(); }, "claims_sha256"},
       {"over", [](auto& b) { b.expires_ms -= 120'000; }, "validity"},
       {"of another attestor",
        [](auto& b) {
          b.encrypted_secret.clear();
          b.payload = bytes(32, 7);
        },
        "form"}}));
  INFO(r.name);
  tpm_join_world w;
  w.challenge([&](auto& s, const auto& asked) {
    auto body = s.challenge_for(asked);
    r.change(body);
    return s.gateway.answered(s.signed_challenge(body, asked.csr_sha256));
  });
  auto got = w.join();
  CHECK(got.exit_code == join_exit::untrusted);
  CHECK_THAT(got.message, Catch::Contains(r.which));
  CHECK(w.tpm->called_so_far("activate") == 0);
  CHECK(w.tpm->called_so_far("certify") == 0);
  CHECK(w.server.joins.empty());
}

TEST_CASE("tpm join: a challenge signed for another purpose or by another") {
  tpm_join_world w;
  const bool other_key = GENERATE(false, true);
  w.challenge([&](auto& s, const auto& asked) {
    auto a = s.challenge(asked);
    const auto& key = other_key ? s.gateway.keys.command_signing
                                : s.gateway.keys.join_signing.key;
    auto sig = pki::sign(
        key,
        other_key ? pki::purpose::join_challenge : pki::purpose::join_response,
        {as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    return s.gateway.answered(a);
  });
  CHECK(w.join().exit_code == join_exit::untrusted);
  CHECK(w.tpm->called_so_far("activate") == 0);
}

TEST_CASE("tpm join: what a challenge may be answered with, and the exit") {
  struct row {
    errc code;
    join_exit exit;
    std::size_t asked;
  };
  const auto r =
      GENERATE(row{errc::access_denied, join_exit::refused, 1},
               row{errc::unavailable, join_exit::unavailable, 4},
               row{errc::rate_limited, join_exit::unavailable, 4},
               row{errc::invalid_config, join_exit::server_config, 1});
  tpm_join_world w;
  for (int i = 0; i < 4; ++i)
    w.challenge([&](auto& s, const auto& asked) {
      return s.gateway.answered(s.failed(r.code, asked.csr_sha256));
    });
  auto got = w.join();
  INFO(got.message);
  CHECK(got.exit_code == r.exit);
  CHECK(w.server.challenges.size() == r.asked);
  CHECK(w.server.joins.empty());
}

TEST_CASE("tpm join: a gateway that is away for a moment is tried again") {
  tpm_join_world w;
  w.challenge([](auto&, const auto&) {
    return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
  });
  w.challenge([](auto& s, const auto& asked) {
    return s.gateway.answered(s.failed(errc::unavailable, asked.csr_sha256));
  });
  w.server.join_script.push_back([](auto&, const auto&) {
    return exchange{exchange::fate::lost, 0, "", {}, "cable cut"};
  });
  CHECK(w.join().exit_code == join_exit::joined);
  REQUIRE(w.server.joins.size() == 2);
  // The same CSR, by another challenge: an activation is used once.
  CHECK(w.server.joins[0].csr == w.server.joins[1].csr);
  CHECK(w.server.joins[0].tpm->nonce != w.server.joins[1].tpm->nonce);
}

TEST_CASE("tpm join: it waits for a person with the same key and CSR") {
  tpm_join_world w;
  w.until_decided = true;
  w.defer(5);
  auto got = w.join();
  REQUIRE(got.exit_code == join_exit::joined);
  REQUIRE(w.server.joins.size() == 6);
  for (const auto& r : w.server.joins)
    CHECK(r.csr == w.server.joins[0].csr);
  CHECK(w.said_so("request jreq_01k5w000000000000000000000") == 1);
  CHECK(w.said_so("CSR " +
                  to_hex(pki::sha256(w.server.joins[0].csr)).substr(0, 16)) ==
        1);
  CHECK(w.waits.size() == 5);
  for (auto wait : w.waits)
    CHECK(wait >= seconds{30});
  CHECK(w.tpm->called_so_far("create") == 1);
}

TEST_CASE("tpm join: --no-wait ends, and the next run goes on (case 14)") {
  tpm_join_world w;
  w.defer(1);
  auto first = w.join();
  CHECK(first.exit_code == join_exit::refused);
  CHECK_THAT(first.message, Catch::Contains("a person must approve") &&
                                Catch::Contains("jreq_"));
  CHECK(w.pending());
  CHECK_FALSE(fs::exists(w.folder / "data/identity.json"));
  auto second = w.join();
  REQUIRE(second.exit_code == join_exit::joined);
  CHECK(w.server.joins[0].csr == w.server.joins[1].csr);
}

TEST_CASE("tpm join: killed while it waits, the next run has the same CSR") {
  tpm_join_world w;
  w.until_decided = true;
  w.defer(100);
  w.while_waiting = [] { throw std::runtime_error("killed"); };
  CHECK_THROWS(w.join());
  CHECK(w.pending());
  w.while_waiting = {};
  w.server.join_script.clear();
  REQUIRE(w.join().exit_code == join_exit::joined);
  CHECK(w.server.joins.front().csr == w.server.joins.back().csr);
}

TEST_CASE("tpm join: a rejected request ends it, and the next is a new one") {
  tpm_join_world w;
  w.until_decided = true;
  w.defer(1);
  w.server.join_script.push_back([](auto& s, const auto& r) {
    return s.gateway.answered(s.gateway.failed(errc::access_denied, r));
  });
  auto got = w.join();
  CHECK(got.exit_code == join_exit::refused);
  CHECK_FALSE(w.pending());
  REQUIRE(w.join().exit_code == join_exit::joined);
  CHECK(w.server.joins.front().csr != w.server.joins.back().csr);
}

TEST_CASE("tpm join: no TPM: nothing is sent and nothing is set aside") {
  tpm_join_world w;
  w.reset = GENERATE(false, true);
  if (w.reset)
    REQUIRE(w.join().exit_code == join_exit::joined);
  const auto sent = w.server.challenges.size();
  w.tpm->answers = false;
  auto got = w.join();
  CHECK(got.exit_code == join_exit::local);
  CHECK_THAT(got.message,
             Catch::Contains("the TPM: ") && Catch::Contains("No such device"));
  CHECK(w.server.challenges.size() == sent);
  CHECK(fs::exists(w.folder / "data/identity.json") == w.reset);
}

TEST_CASE("tpm join: an EK that cannot be made leaves the identity in place") {
  tpm_join_world w;
  REQUIRE(w.join().exit_code == join_exit::joined);
  w.tpm->has_ek = false;
  w.reset = true;
  auto got = w.join();
  CHECK(got.exit_code == join_exit::local);
  CHECK_THAT(got.message, Catch::StartsWith("the TPM: ") &&
                              Catch::Contains("nothing was sent"));
  CHECK(fs::exists(w.folder / "data/identity.json"));
  CHECK(w.server.challenges.size() == 1);
}

TEST_CASE("tpm join: away while a person is waited for, it is waited for too") {
  tpm_join_world w;
  w.until_decided = true;
  w.defer(1);
  w.while_waiting = [&w] { w.tpm->answers = w.waits.size() > 6; };
  auto got = w.join();
  INFO(got.message);
  REQUIRE(got.exit_code == join_exit::joined);
  CHECK(w.waits.size() == 7);
  CHECK(w.said_so("the TPM: /dev/tpmrm0: No such device; trying again") == 1);
  CHECK(w.server.joins.front().csr == w.server.joins.back().csr);
}

TEST_CASE(
    "tpm join: away before anybody was asked, a few tries, then it ends") {
  tpm_join_world w;
  w.challenge([&](auto& s, const auto& asked) {
    w.tpm->answers = false;
    return s.gateway.answered(s.challenge(asked));
  });
  auto got = w.join();
  CHECK(got.exit_code == join_exit::local);
  CHECK_THAT(got.message, Catch::StartsWith("the TPM: "));
  CHECK(w.waits.size() == 3);
  CHECK(w.server.joins.empty());
}

TEST_CASE("tpm join: cleared while a person is waited for, it ends") {
  tpm_join_world w;
  w.until_decided = true;
  w.defer(1);
  w.while_waiting = [&w] { w.tpm->seed = 1; };
  CHECK(w.join().exit_code == join_exit::local);
  CHECK(w.waits.size() == 1);
}

TEST_CASE("tpm join: the EK of a reset that waits is the next run's too") {
  tpm_join_world w;
  REQUIRE(w.join().exit_code == join_exit::joined);
  w.tpm->seed = 1;
  w.reset = true;
  w.recorded = "p256";
  w.defer(1);
  REQUIRE(w.join().exit_code == join_exit::refused);
  CHECK(pending_ek(w.folder / "data") == "p256");
  w.reset = false;
  REQUIRE(w.join().exit_code == join_exit::joined);
  CHECK(pending_ek(w.folder / "data").empty());
}

TEST_CASE("tpm join: cleared, a reset joins by the same EK (case 124)") {
  tpm_join_world w;
  REQUIRE(w.join().exit_code == join_exit::joined);
  const auto ek = w.server.joins[0].tpm->ek_public;
  const auto before = w.tpm->statement();
  w.tpm->seed = 1;
  w.reset = true;
  w.recorded = "p256";
  w.tpm->calls.clear();
  REQUIRE(w.join().exit_code == join_exit::joined);
  CHECK(w.tpm->called_so_far("ek p256") == 1);
  CHECK(w.server.joins[1].tpm->ek_public == ek);
  CHECK(w.tpm->statement() != before);
  auto look = look_at_identity(w.folder / "data", w.tpm).value();
  CHECK(named_ak(look.pair->who.certificate_chain.front()) ==
        w.tpm->statement());
}

TEST_CASE("tpm join: the EK kind of before is no more: another, and it says") {
  tpm_join_world w;
  w.recorded = "rsa-2048";
  REQUIRE(w.join().exit_code == join_exit::joined);
  CHECK(w.said_so("warning: this TPM makes no EK of kind rsa-2048") == 1);
  CHECK(look_at_identity(w.folder / "data").value().pair->who.ek_kind ==
        "p256");
}

TEST_CASE("tpm join: cleared while it waits, a new key is made") {
  tpm_join_world w;
  w.defer(1);
  CHECK(w.join().exit_code == join_exit::refused);
  w.tpm->seed = 1;
  auto got = w.join();
  INFO(got.message);
  REQUIRE(got.exit_code == join_exit::joined);
  CHECK(w.server.joins[0].csr != w.server.joins[1].csr);
  CHECK(w.server.verdicts.back() == "admitted");
}

TEST_CASE("tpm join: a gateway that changes what is claimed gains nothing") {
  tpm_join_world w;
  w.server.join_script.push_back([](auto& s, wire::join_request r) {
    r.hardware.product_serial = "STOLEN";
    return s.judged(r);
  });
  CHECK(w.join().exit_code == join_exit::refused);
  CHECK(w.server.verdicts == std::vector<std::string>{"activation"});
}
