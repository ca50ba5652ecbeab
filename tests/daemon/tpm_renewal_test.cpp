// spec: joining#renewal, joining#troubleshooting; ATTESTATION section 2.7;
// CASES 124. A certificate that names an AK is renewed by that TPM or not.
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
using end = renewal_attempt::end;

TEST_CASE("tpm renewal: the AK vouches for the new key, again and again") {
  tpm_world w;
  for (int i = 0; i < 3; ++i) {
    auto got = w.renew();
    INFO(got.why);
    REQUIRE(got.what == end::renewed);
    REQUIRE(got.renewed->key.blobs() != nullptr);
    CHECK_FALSE(got.renewed->key.pub() == w.me.key.pub());
    const auto& sent = w.server.requests.back();
    REQUIRE(sent.attestation);
    CHECK(named_ak(got.renewed->who.certificate_chain.front()) ==
          w.tpm->statement());
    w.me = std::move(*got.renewed);
  }
}

TEST_CASE("tpm renewal: attestor and EK stay in the identity") {
  tpm_world w;
  w.me.who.attestor = "tpm";
  w.me.who.ek_kind = "p256";
  auto got = w.renew();
  REQUIRE(got.renewed);
  CHECK(got.renewed->who.attestor == "tpm");
  CHECK(got.renewed->who.ek_kind == "p256");
}

TEST_CASE(
    "tpm renewal: a TPM that is away or another one sends nothing (case 124)") {
  tpm_world w;
  std::string detail;
  SECTION("away") {
    w.tpm->answers = false;
    detail = "No such device";
  }
  SECTION("cleared") {
    w.tpm->seed = 1;
    detail = "the TPM derives urn:bc:tpm-ak:";
  }
  SECTION("another board") {
    w.tpm->board = 1;
    detail = "the TPM derives urn:bc:tpm-ak:";
  }
  SECTION("none in the configuration") {
    w.keys = machine_keys{};
    detail = "there is no TPM";
  }
  auto got = w.renew();
  CHECK(got.what == end::no_key);
  CHECK(got.requests == 0);
  CHECK(w.server.requests.empty());
  CHECK_THAT(
      got.why,
      Catch::StartsWith("the TPM is unavailable or names another AK: ") &&
          Catch::Contains(detail) &&
          Catch::Contains("bcd join --reset --yes --attestor tpm"));
}

TEST_CASE("tpm renewal: a certificate that names two AKs fits no TPM") {
  tpm_world w;
  w.me.who.certificate_chain.front() = w.certificate(
      w.me.key.pub(),
      {w.tpm->statement(), "urn:bc:tpm-ak:sha256:" + std::string(64, 'a')});
  CHECK(w.renew().what == end::no_key);
  CHECK(w.server.requests.empty());
}

TEST_CASE("tpm renewal: without a statement the possession is enough") {
  tpm_world w{false};
  auto got = w.renew();
  REQUIRE(got.what == end::renewed);
  CHECK_FALSE(w.server.requests.back().attestation);
  CHECK(got.renewed->key.blobs() != nullptr);
  CHECK(w.tpm->called_so_far("certify") == 0);
  // The current key is in it: without the TPM nothing can be proved.
  w.tpm->answers = false;
  auto failed = w.renew();
  CHECK(failed.what == end::no_key);
  CHECK_THAT(failed.why, Catch::Contains("the node's key does not sign"));
  CHECK(w.server.requests.size() == 1);
}

TEST_CASE("tpm renewal: a key of a file goes on where the TPM is broken") {
  tpm_world w{false};
  w.me = w.server.identity();
  w.tpm->answers = false;
  auto got = w.renew();
  REQUIRE(got.what == end::renewed);
  CHECK(got.renewed->key.blobs() == nullptr);
  CHECK(w.warned.size() == 1);
}

TEST_CASE("tpm renewal: loud once, and renewed as soon as the TPM is back") {
  tpm_world w;
  auto config = w.server.gateway.config(w.folder);
  config.data_dir = w.folder / "data";
  auto store = identity_store::open(config.data_dir, w.tpm).value();
  REQUIRE(store.keep(w.me.key, w.me.who));
  std::vector<std::string> said;
  renewal_tools tools;
  tools.clocks = [&] { return w.time.clocks(); };
  tools.random = [] { return 500U; };
  tools.send = [&](std::string_view body, const node_identity* as) {
    return w.take(body, as);
  };
  tools.say = [&](const std::string& line) { said.push_back(line); };
  tools.keys = w.keys;
  renewal_loop loop{config, store, w.me.clone(), tools};
  auto run = [&](milliseconds time) {
    for (auto until = w.time.server + time; w.time.server < until;)
      w.time.pass(loop.step());
  };
  auto loud = [&] {
    return std::count_if(said.begin(), said.end(), [](const auto& line) {
      return line.starts_with(
          "renewal failed: the TPM is unavailable or names another AK");
    });
  };
  const bool gateway_away_first = GENERATE(false, true);
  w.server.reachable = !gateway_away_first;
  w.tpm->answers = gateway_away_first;
  run(std::chrono::hours{15});
  CHECK(loop.status().state == renewal_state::retrying);
  w.tpm->answers = false;
  w.server.reachable = true;
  run(std::chrono::hours{2});
  CHECK(w.server.requests.empty());
  CHECK(loud() == 1);
  CHECK(loop.status().state == renewal_state::retrying);
  w.tpm->answers = true;
  run(std::chrono::minutes{6});
  CHECK(loop.status().state == renewal_state::fine);
  CHECK(loud() == 1);
}
