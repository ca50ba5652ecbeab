// spec: ATTESTATION section 2.2; CASES 120. The key of a join with a token,
// where the machine has a TPM.
#include "tests/daemon/tpm_join_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
namespace fs = std::filesystem;

TEST_CASE("join: a token's key is made in the TPM where there is one") {
  tpm_join_world w;
  auto options = w.gateway.options();
  options.keys = machine_keys{w.tpm, false};
  auto got = run_join(w.configured, w.machine,
                      secret_bytes{fake_gateway::token}, options);
  REQUIRE(got.exit_code == join_exit::joined);
  auto look = look_at_identity(w.folder / "data", w.tpm).value();
  REQUIRE(look.pair);
  CHECK(look.pair->key.blobs() != nullptr);
  CHECK(look.pair->who.attestor == "join-token");
  CHECK_FALSE(named_ak(look.pair->who.certificate_chain.front()));
}

TEST_CASE("join: a TPM without our kind of key (case 120)") {
  tpm_join_world w;
  w.tpm->has_ecc = false;
  // By a token: the key is in a file, and it says so.
  auto options = w.gateway.options();
  std::vector<std::string> warned;
  options.keys = machine_keys{
      w.tpm, false, [&](const auto& line) { warned.push_back(line); }};
  options.say = [&](const std::string& line) { w.said.push_back(line); };
  REQUIRE(run_join(w.configured, w.machine, secret_bytes{fake_gateway::token},
                   options)
              .exit_code == join_exit::joined);
  REQUIRE(warned.size() == 1);
  CHECK_THAT(warned[0], Catch::Contains("does not have this kind of key"));
  CHECK(look_at_identity(w.folder / "data").value().pair->key.blobs() ==
        nullptr);
  // By the TPM: not at all, and nothing is set aside or sent.
  w.reset = true;
  auto got = w.join();
  CHECK(got.exit_code == join_exit::local);
  CHECK_THAT(got.message, Catch::Contains("does not have this kind of key"));
  CHECK(w.server.challenges.empty());
  CHECK(fs::exists(w.folder / "data/identity.json"));
}

TEST_CASE("join: a TPM that is required and fails ends a token's join") {
  tpm_join_world w;
  w.tpm->answers = false;
  auto options = w.gateway.options();
  options.keys = machine_keys{w.tpm, true};
  auto got = run_join(w.configured, w.machine,
                      secret_bytes{fake_gateway::token}, options);
  CHECK(got.exit_code == join_exit::local);
  CHECK(w.gateway.requests.empty());
}

TEST_CASE("join: a pending key whose TPM is away spends no token") {
  tpm_join_world w;
  auto options = w.gateway.options();
  options.keys = machine_keys{w.tpm, false};
  int asked = 0;
  options.send = [&](std::string_view) -> exchange {
    ++asked;
    return {exchange::fate::lost, 0, "", {}, "cable cut"};
  };
  auto join = [&] {
    return run_join(w.configured, w.machine, secret_bytes{fake_gateway::token},
                    options);
  };
  REQUIRE(join().exit_code == join_exit::unreachable);
  REQUIRE(w.pending());
  const auto sent = asked;
  SECTION("away") {
    w.tpm->answers = false;
  }
  SECTION("in lockout") {
    w.tpm->signs = false;
  }
  auto got = join();
  CHECK(got.exit_code == join_exit::local);
  CHECK_THAT(got.message, Catch::StartsWith("the TPM, which has the key") &&
                              Catch::Contains("nothing was sent"));
  CHECK(asked == sent);
  CHECK(w.pending());
  w.tpm->answers = w.tpm->signs = true;
  CHECK(join().exit_code == join_exit::unreachable);
  CHECK(asked > sent);
}

TEST_CASE("join: it says whether it held the data folder") {
  tpm_join_world w;
  CHECK(w.join().held_folder);
  CHECK(w.join().held_folder);  // joined already
  w.configured.data_dir = w.folder / "other";
  fs::create_directory(w.configured.data_dir);
  fs::permissions(w.configured.data_dir, fs::perms{0755});
  CHECK_FALSE(w.join().held_folder);
}
