// spec: ATTESTATION sections 2.2 and 8.3; CASES 116, 125, 126, 130
#include "daemon/tpm/ek_store.hpp"
#include "daemon/tpm/machine_tpm.hpp"
#include "pki/bundle.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/judge.hpp"
#include "pki/tpm/templates.hpp"
#include "tests/daemon/tpm_support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon::tpm;
using bc::pki::tpm::put_number;
using namespace bc::testing;

namespace {

const std::array<std::uint8_t, 16> nonce{7};

}  // namespace

TEST_CASE("tpm: a machine proves itself by its TPM, and renews by it") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  auto now = system_clock{}.now() + seconds{3600};
  auto keys = pki::tpm::challenge_keys(
      std::move(pki::make_bundle("example.test", now)).value());
  machine_tpm m{connect(*t)};
  auto ek = m.choose_ek();
  REQUIRE(ek);
  CHECK(ek.value().kind == "rsa-2048");
  CHECK_FALSE(ek.value().certificate.empty());
  CHECK(ek.value().warning.empty());
  auto ak = m.ak_public();
  auto key = m.create_node_key();
  REQUIRE(ak);
  REQUIRE(key);
  auto csr = m.csr(key.value());
  REQUIRE(csr);

  auto given = std::get<pki::tpm::challenge_answer>(pki::tpm::answer_challenge(
      {ek.value().public_area, ak.value(), pki::sha256(csr.value())}, keys[0],
      nonce, now));
  auto secret =
      m.activate(ek.value(), given.credential_blob, given.encrypted_secret);
  REQUIRE(secret);
  auto certified = m.certify(key.value(), csr.value());
  REQUIRE(certified);

  pki::tpm::evidence e;
  e.repeated = given.given;
  e.activation = to_bytes(secret.value().expose());
  e.ek_public = ek.value().public_area;
  e.ek_certificate = ek.value().certificate;
  e.ak_public = ak.value();
  e.node_key_public = key.value().public_area;
  e.certify_info = certified.value().info;
  e.certify_signature = certified.value().signature;
  pki::tpm::judge_config config;
  config.ek_roots = {t->root()};
  config.ek_intermediates = {t->intermediate()};
  config.require_ek_certificate = true;
  auto verdict = pki::tpm::judge(
      e, config, {pki::certificate_role::node, csr.value(), {}, keys, now});
  REQUIRE(std::holds_alternative<pki::tpm::admitted>(verdict));
  auto statement = std::get<pki::tpm::admitted>(verdict).statement;

  // After a restart of bcd: a new key, the same AK.
  machine_tpm again{connect(*t)};
  auto next = again.create_node_key().value();
  auto next_csr = again.csr(next).value();
  auto next_certified = again.certify(next, next_csr).value();
  CHECK_FALSE(pki::tpm::check_renewal(
      {statement},
      pki::tpm::key_attestation{again.ak_public().value(), next.public_area,
                                next_certified.info, next_certified.signature},
      next_csr));
  // And the key of before still signs.
  auto digest = pki::sha256(as_bytes("proof"));
  auto signature = again.sign(key.value(), digest);
  REQUIRE(signature);
  CHECK(pki::parse_csr(csr.value())
            .value()
            .key.verify(digest, signature.value()));
  CHECK(left_open(*t) == 0);
}

TEST_CASE(
    "tpm: a cleared TPM derives another AK and loads no old key "
    "(case 124)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  bytes ak, ek;
  device::key_blobs key;
  {
    machine_tpm m{connect(*t)};
    ak = m.ak_public().value();
    ek = m.choose_ek().value().public_area;
    key = m.create_node_key().value();
    CHECK(m.ak_public().value() == ak);
  }
  CHECK(raw(*t, 0x126, 0x4000000c, {}) == 0);  // TPM2_Clear by the platform
  machine_tpm m{connect(*t)};
  CHECK(m.ak_public().value() != ak);
  CHECK(m.choose_ek().value().public_area == ek);
  auto lost = m.csr(key);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == errc::invalid_state);
  CHECK(lost.error().message.find("cleared") != std::string::npos);
}

TEST_CASE("tpm: which EK, and that it stays the one (case 120)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  for (const auto& kind : pki::tpm::ek_kinds) {
    machine_tpm m{connect(*t)};
    auto chosen = m.choose_ek(std::string{kind.name});
    INFO(kind.name);
    REQUIRE(chosen);
    CHECK(chosen.value().kind == kind.name);
    bool certified = kind.name == "rsa-2048" || kind.name == "p384";
    CHECK(chosen.value().certificate.empty() != certified);
    CHECK(left_open(*t) == 0);
  }
  machine_tpm m{connect(*t)};
  auto unknown = m.choose_ek("rsa-1024");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == errc::invalid_state);
}

TEST_CASE("tpm: every kind of EK opens its challenge") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  auto now = from_millis(1'800'000'000'000);
  auto keys = pki::tpm::challenge_keys(
      std::move(pki::make_bundle("example.test", now)).value());
  for (const auto& kind : pki::tpm::ek_kinds) {
    machine_tpm m{connect(*t)};
    auto ek = m.choose_ek(std::string{kind.name}).value();
    auto ak = m.ak_public().value();
    auto answered = pki::tpm::answer_challenge({ek.public_area, ak, {}, {}},
                                               keys[0], nonce, now);
    INFO(kind.name);
    REQUIRE(std::holds_alternative<pki::tpm::challenge_answer>(answered));
    const auto& given = std::get<pki::tpm::challenge_answer>(answered);
    auto opened = m.activate(ek, given.credential_blob, given.encrypted_secret);
    REQUIRE(opened);
    auto area = *pki::tpm::parse_public(ak);
    auto evidence =
        pki::tpm::tpm_evidence(ek.public_area, pki::tpm::name_of(area, ak), {});
    CHECK(opened.value() == pki::tpm::challenge_secret(keys[0], given.given,
                                                       {"tpm", {}, evidence}));
    auto garbled = given.credential_blob;
    garbled.back() ^= 1;
    CHECK_FALSE(m.activate(ek, garbled, given.encrypted_secret));
  }
  CHECK(left_open(*t) == 0);
}

TEST_CASE(
    "tpm: certificates are read in pieces that the TPM takes "
    "(case 116)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  auto whole = read_ek_store(*std::make_unique<device>(connect(*t)))
                   .value()
                   .certificates;
  REQUIRE(whole.size() == 2);
  for (std::uint32_t most : {64u, 512u, 768u, 1024u, 2048u}) {
    int reads = 0;
    device d{std::make_unique<watched>(
        connect(*t), [&](byte_view command) -> std::optional<bytes> {
          auto code = word(command, 6);
          // TPM_CAP_TPM_PROPERTIES, TPM_PT_NV_BUFFER_MAX
          if (code == 0x17a && word(command, 14) == 0x12c) {
            bytes out{0x80, 0x01, 0, 0, 0, 27};
            for (auto [value, size] :
                 {std::pair{0u, 4}, {0u, 1}, {6u, 4}, {1u, 4}, {0x12cu, 4}})
              put_number(out, value, static_cast<std::size_t>(size));
            put_number(out, most, 4);
            out[5] = static_cast<std::uint8_t>(out.size());
            return out;
          }
          if (code != 0x14e)
            return std::nullopt;
          ++reads;
          auto size = word(command, command.size() - 4) >> 16;
          CHECK(size <= most);
          return size > most ? std::optional{answer_of(0x1c4)} : std::nullopt;
        })};
    CHECK(read_ek_store(d).value().certificates == whole);
    CHECK(reads >= 2);
  }
}

TEST_CASE(
    "tpm: certificates are read without the owner's password "
    "(case 130)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  bytes password;
  pki::tpm::put_sized(password, as_bytes("owner's"));
  CHECK(raw(*t, 0x129, 0x40000001, password) == 0);
  machine_tpm without{connect(*t)};
  CHECK(without.choose_ek().value().certificate.size() > 500);
  auto refused = without.ak_public();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::invalid_state);
  CHECK(refused.error().message.find("owner_auth_file") != std::string::npos);
  CHECK(refused.error().message.find("owner's") == std::string::npos);
  machine_tpm with{connect(*t),
                   {secret_bytes{std::string_view{"owner's"}}, {}}};
  CHECK(with.ak_public());
  CHECK(with.create_node_key());
}

TEST_CASE("tpm: our keys work while the TPM is in lockout (case 126)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  machine_tpm before{connect(*t)};
  auto key = before.create_node_key().value();
  // With no failure allowed the TPM is in lockout at once.
  bytes parameters;
  for (std::uint32_t value : {0u, 1000u, 1000u})
    put_number(parameters, value, 4);
  CHECK(raw(*t, 0x13a, 0x4000000a, parameters) == 0);
  machine_tpm m{connect(*t)};
  auto csr = m.csr(key);
  REQUIRE(csr);
  CHECK(m.certify(key, csr.value()));
  CHECK(response_text(0x921) == "0x921 (TPM in lockout)");
  CHECK(response_text(0xb0921) == "0xb0921 (TPM in lockout)");
}

TEST_CASE(
    "tpm: nothing is left in the TPM, and a full one is named "
    "(case 125)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  {
    machine_tpm m{connect(*t)};
    auto key = m.create_node_key().value();
    for (int i = 0; i < 200; ++i) {
      auto csr = m.csr(key);
      REQUIRE(csr);
      REQUIRE(m.certify(key, csr.value()));
    }
  }
  CHECK(left_open(*t) == 0);
  // Another program holds the slots.
  {
    device other{connect(*t)};
    std::vector<held> slots;
    for (int i = 0; i < 3; ++i)
      slots.emplace_back(
          other, other.create_primary(0x40000001, {}, pki::tpm::ak_template())
                     .value()
                     .at);
    auto full = other.create_primary(0x40000001, {}, pki::tpm::ak_template());
    REQUIRE_FALSE(full);
    CHECK(full.error().code == errc::unavailable);
    CHECK(full.error().message.find("0x902") != std::string::npos);
    CHECK(full.error().message.find("another program") != std::string::npos);
  }
  CHECK(left_open(*t) == 0);
}

TEST_CASE("tpm: a busy TPM is asked again, and not for ever") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  int busy = 5, asked = 0;
  device d{std::make_unique<watched>(
      connect(*t), [&](byte_view) -> std::optional<bytes> {
        ++asked;
        // Every other time by way of a resource manager.
        auto code = asked % 2 == 0 ? 0x922u : 0xb0922u;
        return busy-- > 0 ? std::optional{answer_of(code)} : std::nullopt;
      })};
  CHECK(d.most_read());
  CHECK(asked == 6);
  busy = 1'000'000;
  auto never = d.most_read();
  REQUIRE_FALSE(never);
  CHECK(never.error().code == errc::unavailable);
}

TEST_CASE("tpm: whatever a TPM answers, it is read or refused") {
  class canned final : public transport {
   public:
    explicit canned(bytes answer) : answer_(std::move(answer)) {}
    result<secret_bytes> exchange(byte_view) override {
      return secret_bytes{byte_view{answer_}};
    }

   private:
    bytes answer_;
  };
  for (bytes answer :
       {bytes{}, bytes(9), bytes{0x80, 0x01, 0, 0, 0, 11, 0, 0, 0, 0},
        bytes{0x80, 0x01, 0, 0, 0, 10, 0, 0, 0, 0},
        bytes{0x80, 0x02, 0, 0, 0, 14, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
        bytes{0x80, 0x02, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xff}}) {
    auto one = [&] { return device{std::make_unique<canned>(answer)}; };
    CHECK_FALSE(one().handles(0x80000000));
    CHECK_FALSE(one().read_index(0x01c00002, 512));
    machine_tpm m{std::make_unique<canned>(answer)};
    CHECK_FALSE(m.choose_ek());
    CHECK_FALSE(m.csr({}));
  }
}

TEST_CASE("tpm: what is missing is named") {
  auto none = open_tcti("device:/dev/no-such-tpm");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::unavailable);
  CHECK(none.error().message.find("/dev/no-such-tpm") != std::string::npos);
  auto unknown = open_tcti("no-such-tcti:x");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == errc::unavailable);
}
