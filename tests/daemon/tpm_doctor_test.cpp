// spec: ATTESTATION sections 2.2 and 2.8; joining#troubleshooting; CASES 120,
// 124, 126. What the doctor says about a TPM.
#include "daemon/tpm_doctor.hpp"

#include "daemon/rejoin_doctor.hpp"
#include "tests/daemon/tpm_support.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;

namespace {

struct world : tpm_world {
  explicit world(bool names_ak = true) : tpm_world(names_ak) {
    seen.is_there = true;
    seen.facts.manufacturer = "IBM";
    seen.facts.certificates = {"rsa-2048"};
    seen.ek = tpm::chosen_ek{"rsa-2048", bytes{1}, bytes{2}, {}, {}};
    seen.ak = this->tpm->statement();
  }
  tpm_look seen;
  config configured = server.gateway.config(folder);
  const node_identity* who = &me;

  // "ok", "warning", "failed" of one check, and its text.
  std::string said(const std::string& check) {
    auto all = judge_tpm(configured, who, seen);
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const auto& f) { return f.check == check; });
    if (found == all.end())
      return "nothing";
    if (found->how != verdict::ok)
      CHECK_FALSE(found->advice.empty());
    return std::string{verdict_text(found->how)} + ": " + found->message +
           (found->advice.empty() ? "" : "; " + found->advice);
  }
};

using Catch::Contains;
using Catch::StartsWith;

}  // namespace

TEST_CASE("tpm doctor: a TPM that is well") {
  world w;
  CHECK(w.said("tpm") == "ok: a TPM of IBM");
  CHECK_THAT(w.said("tpm-ek"), StartsWith("ok: EK rsa-2048 with a certific") &&
                                   Contains("EK certificates: rsa-2048"));
  CHECK(w.said("tpm-ak") ==
        "ok: " + w.tpm->statement() + ", as the certificate names it");
}

TEST_CASE("tpm doctor: none is fine where none is needed, else it fails") {
  world w{false};
  w.seen = {};
  CHECK_THAT(w.said("tpm"), StartsWith("failed: the node's key is in it"));
  CHECK(w.said("tpm-ek") == "nothing");
  w.me = w.server.identity();
  CHECK_THAT(w.said("tpm"), StartsWith("ok: none at device:/dev/tpmrm0"));
  w.configured.tpm.enabled = tpm_settings::use::always;
  CHECK_THAT(w.said("tpm"), StartsWith("failed: [tpm] enabled is \"true\""));
  w.configured.tpm.enabled = tpm_settings::use::never;
  CHECK_THAT(w.said("tpm"), StartsWith("ok: not used"));
  w.who = nullptr;
  CHECK_THAT(w.said("tpm"), StartsWith("ok: not used"));
  world attested;
  attested.configured.tpm.enabled = tpm_settings::use::never;
  CHECK_THAT(attested.said("tpm"),
             StartsWith("failed: the certificate names its AK, but [tpm]"));
}

TEST_CASE("tpm doctor: the helper that bcd node has it by") {
  world w;
  CHECK(w.said("tpm-helper") == "nothing");
  w.configured.helper = helper_settings{"bcd", "/run/bcd/helper.sock"};
  w.seen.helper = helper_look{{}, w.tpm->statement(), {}, {}};
  CHECK(w.said("tpm-helper") ==
        "ok: bcd helper at /run/bcd/helper.sock answers for bcd");
  SECTION("another AK") {
    w.seen.helper->ak = "urn:bc:tpm-ak:sha256:other";
    CHECK_THAT(w.said("tpm-helper"),
               StartsWith("failed: bcd helper at /run/bcd/helper.sock derives "
                          "urn:bc:tpm-ak:sha256:other, the certificate names"));
    w.me.who.certificate_chain.front() = w.certificate(w.me.key.pub(), {});
    CHECK_THAT(w.said("tpm-helper"),
               StartsWith("failed") &&
                   Contains("the TPM derives " + w.tpm->statement()));
  }
  SECTION("silent") {
    w.seen.helper = helper_look{{}, {}, "bcd helper does not answer", {}};
    CHECK_THAT(w.said("tpm-helper"),
               StartsWith("failed: bcd node has the TPM by it") &&
                   Contains("systemctl enable --now bcd-helper"));
    // Also where the doctor cannot open the TPM itself.
    w.seen.closed = "closed";
    CHECK_THAT(w.said("tpm-helper"), StartsWith("failed"));
    w.me = w.server.identity();
    CHECK_THAT(w.said("tpm-helper"), StartsWith("warning"));
  }
  SECTION("no hardware identifiers") {
    w.seen.helper->no_hardware = "it cannot read product_serial";
    CHECK_THAT(w.said("tpm-helper"),
               StartsWith("warning: bcd node has the hardware identifiers by "
                          "it, but it cannot read product_serial"));
  }
  SECTION("no TPM is used") {
    w.configured.tpm.enabled = tpm_settings::use::never;
    w.seen.helper = helper_look{};
    CHECK_THAT(w.said("tpm-helper"), StartsWith("ok: bcd helper at "));
    w.seen.helper->no_hardware = "bcd helper does not answer";
    CHECK_THAT(w.said("tpm-helper"), StartsWith("warning"));
  }
  SECTION("no such user") {
    w.seen.helper->no_user = "this machine has no user bcd";
    CHECK_THAT(w.said("tpm-helper"), StartsWith("failed: this machine has no"));
  }
}

TEST_CASE("tpm doctor: one that does not open") {
  world w;
  w.seen.closed = "/dev/tpmrm0 may not be opened";
  CHECK_THAT(w.said("tpm"),
             StartsWith("failed: the certificate names its AK") &&
                 Contains("may not be opened"));
  w.me = w.server.identity();
  CHECK_THAT(w.said("tpm"), StartsWith("warning: /dev/tpmrm0 may not be"));
}

TEST_CASE("tpm doctor: passwords of hierarchies that bcd is not given") {
  world w;
  w.seen.facts.owner_has_password = GENERATE(false, true);
  w.seen.facts.endorsement_has_password = GENERATE(false, true);
  const bool owner = w.seen.facts.owner_has_password;
  const bool endorsement = w.seen.facts.endorsement_has_password;
  const auto said = w.said("tpm");
  CAPTURE(said);
  CHECK(said.starts_with(owner || endorsement ? "failed" : "ok"));
  CHECK((said.find(" owner_auth_file") != std::string::npos) == owner);
  CHECK((said.find("endorsement_auth_file") != std::string::npos) ==
        endorsement);
  w.configured.tpm.owner_auth_file = "/etc/bcd/owner";
  w.configured.tpm.endorsement_auth_file = "/etc/bcd/endorsement";
  CHECK(w.said("tpm") == "ok: a TPM of IBM");
}

TEST_CASE("tpm doctor: lockout, and an EK certificate of another TPM") {
  world w;
  w.seen.facts.in_lockout = true;
  CHECK_THAT(w.said("tpm"), StartsWith("warning: ") && Contains("lockout"));
  w.seen.ek->warning = "the EK certificate at index 0x01c00002 is for no key";
  CHECK_THAT(w.said("tpm-ek"), StartsWith("warning: ") && Contains("no key"));
  w.seen.ek.reset();
  w.seen.no_ek = "0x9a2";
  CHECK_THAT(w.said("tpm-ek"), StartsWith("failed: no endorsement key: 0x9a2"));
}

TEST_CASE("tpm doctor: another AK than the certificate's (case 124)") {
  world w;
  w.seen.ak = "urn:bc:tpm-ak:sha256:" + std::string(64, 'a');
  CHECK_THAT(w.said("tpm-ak"),
             StartsWith("failed: the certificate names " + w.tpm->statement() +
                        ", the TPM derives ") &&
                 Contains("bcd join --reset --yes --attestor tpm"));
  w.seen.ak.clear();
  w.seen.no_ak = "0x9a2";
  CHECK_THAT(w.said("tpm-ak"), StartsWith("failed: no attestation key: 0x9a2"));
}

TEST_CASE("tpm doctor: a real TPM of software") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  config c;
  c.tpm.tcti = t->tcti();
  auto look = look_at_tpm(c, {});
  INFO(look.closed);
  REQUIRE(look.closed.empty());
  CHECK(look.facts.manufacturer == "IBM");
  CHECK_FALSE(look.facts.owner_has_password);
  CHECK_FALSE(look.facts.in_lockout);
  CHECK(look.facts.certificates ==
        std::vector<std::string>{"rsa-2048", "p384"});
  REQUIRE(look.ek);
  CHECK(look.ek->kind == "rsa-2048");
  CHECK_THAT(look.ak, StartsWith("urn:bc:tpm-ak:sha256:"));
  CHECK(look_at_tpm(c, {}).ak == look.ak);
  CHECK_FALSE(any_failed(judge_tpm(c, nullptr, look)));
  // TPM2_HierarchyChangeAuth of the owner: "secret".
  bytes parameters;
  pki::tpm::put_sized(parameters, as_bytes("secret"));
  REQUIRE(raw(*t, 0x129, 0x40000001, parameters) == 0);
  look = look_at_tpm(c, "rsa-2048");
  CHECK(look.facts.owner_has_password);
  CHECK(look.ak.empty());
  CHECK_THAT(look.no_ak, Contains("owner_auth_file"));
  temporary_folder folder;
  auto file = folder / "owner";
  write_text(file, "secret\n");
  c.tpm.owner_auth_file = file;
  std::filesystem::permissions(file, std::filesystem::perms{0644});
  CHECK_THAT(look_at_tpm(c, {}).closed, Contains("is open to others"));
  std::filesystem::permissions(file, std::filesystem::perms{0600});
  look = look_at_tpm(c, {});
  CHECK_THAT(look.ak, StartsWith("urn:bc:tpm-ak:sha256:"));
  CHECK(left_open(*t) == 0);
}

TEST_CASE("tpm doctor: what is not there is not opened") {
  config c;
  c.tpm.tcti = "device:/nowhere/tpmrm0";
  auto look = look_at_tpm(c, {});
  CHECK_FALSE(look.is_there);
  CHECK(look.closed.empty());
  c.tpm.tcti = "device:/dev/null";
  CHECK(look_at_tpm(c, {}).is_there);
  CHECK_FALSE(look_at_tpm(c, {}).closed.empty());
}

TEST_CASE("tpm doctor: what brings a machine back whose certificate is over") {
  world w;
  const auto end = w.me.who.not_after;
  std::optional<node_status> status;
  auto judged = [&](milliseconds after, bool running, bool may_use_tpm) {
    auto f = judge_rejoin({w.me, end + after, running, may_use_tpm, status});
    CHECK(f.check == "renewal");
    CHECK_FALSE(f.advice.empty());
    return std::string{verdict_text(f.how)} + ": " + f.message;
  };
  using std::chrono::hours;
  const auto late = hours{24 * 30};
  CHECK_THAT(judged(hours{1}, true, true),
             StartsWith("warning: bcd node joins again by its certificate"));
  CHECK_THAT(judged(late, true, true),
             StartsWith("warning: bcd node joins again by the TPM"));
  CHECK_THAT(judged(late, false, true),
             StartsWith("warning: with bcd node running, it would join"));
  CHECK_THAT(judged(late, true, false),
             StartsWith("failed: ") && Contains("takes root here"));
  // Of a request that waits for a person.
  status.emplace();
  status->state = renewal_state::rejoining;
  status->why = "a person must approve this machine first: request jreq_1";
  CHECK_THAT(
      judged(late, true, true),
      StartsWith("failed: it joins again by the TPM") && Contains("jreq_1"));
  // A certificate without a TPM.
  w.me.who.certificate_chain.front() = w.certificate(w.me.key.pub(), {});
  CHECK_THAT(judged(late, true, true),
             StartsWith("failed: ") && Contains("any more"));
}
