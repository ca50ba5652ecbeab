// spec: joining#join-flow step 1; ATTESTATION section 2.2
#include "daemon/node_key.hpp"

#include "daemon/identity_store.hpp"
#include "pki/csr.hpp"
#include "pki/tpm/key_file.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
namespace fs = std::filesystem;

TEST_CASE("node_key: of a file and of a TPM, it does the same") {
  auto tpm = std::make_shared<soft_keeper>();
  const bool in_tpm = GENERATE(false, true);
  auto key = in_tpm ? machine_keys{tpm, true}.make().value()
                    : machine_keys{}.make().value();
  CHECK((key.blobs() != nullptr) == in_tpm);
  auto digest = pki::sha256(as_bytes("message"));
  CHECK(key.pub().verify(digest, key.sign(digest).value()));
  auto proof = key.sign(pki::purpose::renew_pop, {as_bytes("a")}).value();
  CHECK(
      pki::verify(key.pub(), pki::purpose::renew_pop, {as_bytes("a")}, proof));
  auto csr = pki::parse_csr(key.csr().value());
  REQUIRE(csr);
  CHECK(csr.value().key == key.pub());
  CHECK(pki::self_signature_verifies(csr.value()));

  auto text = key.file_text();
  CHECK(pki::tpm::is_key_file(text.expose_text()) == in_tpm);
  auto again = node_key::read(text.expose_text(), tpm);
  REQUIRE(again);
  CHECK(again.value().pub() == key.pub());
  CHECK(key.pub().verify(digest, again.value().sign(digest).value()));
  CHECK(key.clone().file_text() == text);
}

TEST_CASE("node_key: what is no key is none") {
  auto tpm = std::make_shared<soft_keeper>();
  auto good = machine_keys{tpm, true}.make().value();
  auto text = std::string{good.file_text().expose_text()};
  CHECK_FALSE(node_key::read("", tpm));
  CHECK_FALSE(node_key::read(text.substr(0, text.size() / 2), tpm));
  auto blobs = *good.blobs();
  auto area = pki::tpm::parse_public(blobs.public_area).value();
  auto ecc = *area.ecc();
  ecc.curve = pki::tpm::curve::p384;
  area.parameters = ecc;
  blobs.public_area = pki::tpm::encode(area);
  CHECK_FALSE(node_key::in_tpm(blobs, tpm));
}

TEST_CASE("node_key: a TPM's key without a TPM says so") {
  auto tpm = std::make_shared<soft_keeper>();
  auto key = machine_keys{tpm, true}.make().value();
  auto alone = node_key::read(key.file_text().expose_text(), nullptr).value();
  auto digest = pki::sha256({});
  REQUIRE_FALSE(alone.sign(digest));
  CHECK(alone.sign(digest).error().code == errc::unavailable);
  tpm->answers = false;
  CHECK(key.sign(digest).error().code == errc::unavailable);
  tpm->answers = true;
  tpm->seed = 1;
  CHECK(key.sign(digest).error().code == errc::invalid_state);
  CHECK_FALSE(key.csr());
}

TEST_CASE("machine_keys: where the next key is made") {
  struct row {
    const char* name;
    bool there, answers, signs, required;
    std::optional<bool> in_tpm;  // nullopt: none is made
    bool warns;
  };
  const auto r = GENERATE(
      row{"a TPM that works", true, true, true, false, true, false},
      row{"none", false, false, false, false, false, false},
      row{"one that does not open", true, false, true, false, false, true},
      row{"one that does not sign", true, true, false, false, false, true},
      row{"required, and works", true, true, true, true, true, false},
      row{"required, and none", false, false, true, true, std::nullopt, false},
      row{"required, and does not open", true, false, true, true, std::nullopt,
          false});
  INFO(r.name);
  auto tpm = std::make_shared<soft_keeper>();
  tpm->there = r.there;
  tpm->answers = r.answers;
  tpm->signs = r.signs;
  std::vector<std::string> warned;
  machine_keys keys{tpm, r.required,
                    [&](const std::string& line) { warned.push_back(line); }};
  auto made = keys.make();
  CHECK(made.has_value() == r.in_tpm.has_value());
  if (made)
    CHECK((made.value().blobs() != nullptr) == *r.in_tpm);
  else
    CHECK(made.error().code == errc::unavailable);
  CHECK(warned.size() == (r.warns ? 1U : 0U));
  if (r.warns)
    CHECK_THAT(warned[0],
               Catch::Contains("the TPM cannot hold this node's key") &&
                   Catch::Contains(r.answers ? "lockout" : "No such device"));
}

TEST_CASE("machine_keys: a TPM that the service could not open is left out") {
  auto tpm = std::make_shared<soft_keeper>();
  std::vector<std::string> warned;
  auto warn = [&](const std::string& line) { warned.push_back(line); };
  machine_keys keys{tpm, false, warn, "its device is of group 119"};
  CHECK(keys.make().value().blobs() == nullptr);
  REQUIRE(warned.size() == 1);
  CHECK_THAT(warned[0], Catch::Contains("group 119"));
  CHECK(tpm->calls.empty());
  // Unless it must be, or is asked for by name.
  CHECK(keys.make_in_tpm().value().blobs() != nullptr);
  machine_keys required{tpm, true, warn, "its device is of group 119"};
  CHECK(required.make().value().blobs() != nullptr);
}

TEST_CASE("identity_store: a key in the TPM is kept, loaded and renewed") {
  tpm_world w;
  auto data = w.folder / "data";
  {
    auto store = identity_store::open(data, w.tpm).value();
    REQUIRE(store.keep(w.me.key, w.me.who));
    auto next = w.keys.make_in_tpm().value();
    auto who = w.me.who;
    who.attestor = "tpm";
    who.ek_kind = "p256";
    who.certificate_chain.front() = w.certificate(next.pub(), {});
    REQUIRE(store.renew(next, who));
    auto found = store.look().value();
    REQUIRE(found.pair);
    CHECK(found.pair->key.pub() == next.pub());
    CHECK(found.pair->key.sign(pki::sha256({})));
  }
  // A look from outside loads it without the TPM.
  auto look = look_at_identity(data).value();
  REQUIRE(look.pair);
  CHECK(look.pair->who.attestor == "tpm");
  CHECK(look.pair->who.ek_kind == "p256");
  CHECK_FALSE(look.pair->key.sign(pki::sha256({})));
  CHECK_THAT(read_text(data / "node.key"),
             Catch::StartsWith("-----BEGIN TSS2 PRIVATE KEY-----"));
}

TEST_CASE("identity_store: a pending key in the TPM waits as it is (case 14)") {
  tpm_world w;
  auto data = w.folder / "data";
  auto make = [&] { return w.keys.make_in_tpm(); };
  bytes first;
  {
    auto store = identity_store::open(data, w.tpm).value();
    first = store.pending(make, true).value().csr;
  }
  auto store = identity_store::open(data, w.tpm).value();
  auto again = store.pending(make, true).value();
  CHECK(again.csr == first);
  CHECK(again.from_earlier_run);
  CHECK(again.key.sign(pki::sha256({})));
  // One of a file does not do where the TPM must have it.
  store.forget_pending();
  auto plain = store.pending().value();
  CHECK(plain.key.blobs() == nullptr);
  auto other = store.pending(make, true).value();
  CHECK_FALSE(other.from_earlier_run);
  CHECK(other.key.blobs() != nullptr);
  CHECK(other.csr != plain.csr);
  // What cannot be made is the answer, and leaves nothing.
  store.forget_pending();
  w.tpm->answers = false;
  CHECK(store.pending(make, true).error().code == errc::unavailable);
  CHECK_FALSE(fs::exists(data / "csr.pending"));
}
