// spec: ATTESTATION sections 2.2 and 2.8; CASES 121, 130
#include "daemon/tpm/machine_tpm.hpp"
#include "pki/bundle.hpp"
#include "pki/tpm/evp.hpp"
#include "pki/tpm/judge.hpp"
#include "pki/tpm/templates.hpp"
#include "tests/daemon/tpm_support.hpp"
#include "tests/support/ek_certificates.hpp"

using namespace bc;
using namespace bc::daemon::tpm;
using namespace bc::testing;
using namespace bc::pki::tpm;

// A response may hold an activated secret: it is wiped wherever it ends.
static_assert(std::is_same_v<decltype(std::declval<transport&>().exchange({})),
                             result<secret_bytes>>);

namespace {

// What a vendor left in the NV indices, over a TPM whose own are not seen.
struct vendor_nv {
  std::map<handle, bytes> content;
  std::map<handle, std::uint32_t> refusals;

  std::optional<bytes> answer(byte_view command) const {
    auto code = word(command, 6);
    if (code == 0x17a && word(command, 10) == 1 &&
        word(command, 14) == 0x01c00000)
      return handles();
    if (code != 0x169 && code != 0x14e)
      return std::nullopt;
    auto index = word(command, 10);
    if (code == 0x14e && refusals.contains(index))
      return answer_of(refusals.at(index));
    const auto& all = content.at(index);
    bytes body;
    if (code == 0x169) {
      bytes area(12);
      put_number(area, all.size(), 2);
      put_sized(body, area);
      put_sized(body, {});
      return whole(0x8001, body);
    }
    auto size = word(command, command.size() - 4) >> 16;
    auto offset = word(command, command.size() - 4) & 0xffff;
    bytes data;
    put_sized(data, byte_view{all}.subspan(offset, size));
    put_number(body, data.size(), 4);
    put(body, data);
    put(body, bytes(5));
    return whole(0x8002, body);
  }

  machine_tpm machine(const software_tpm& t) const {
    return machine_tpm{std::make_unique<watched>(
        connect(t), [nv = *this](byte_view c) { return nv.answer(c); })};
  }

 private:
  static bytes whole(std::uint16_t tag, const bytes& body) {
    bytes out;
    put_number(out, tag, 2);
    put_number(out, 10 + body.size(), 4);
    put_number(out, 0, 4);
    put(out, body);
    return out;
  }
  bytes handles() const {
    bytes body{0};
    put_number(body, 1, 4);
    put_number(body, content.size(), 4);
    for (const auto& [index, unused] : content)
      put_number(body, index, 4);
    return whole(0x8001, body);
  }
};

const ek_issuer& vendor() {
  static const auto one = make_ek_ca("Vendor root", 1);
  return one;
}

bytes certificate_for(const public_area& ek) {
  soft_pkey key{load_public(ek).release(), evp_pkey_free{}};
  return make_ek_certificate({std::move(key), ek}, vendor());
}

// The key that this TPM makes of a template.
public_area made_of(const software_tpm& t, const public_area& from) {
  device d{connect(t)};
  auto made = d.create_primary(hierarchy::endorsement, {}, from).value();
  held slot{d, made.at};
  return *parse_public(made.public_area);
}

public_area with_unique(public_area area, byte_view front) {
  auto* rsa = std::get_if<rsa_parameters>(&area.parameters);
  auto& place = rsa != nullptr ? rsa->modulus
                               : std::get<ecc_parameters>(area.parameters).x;
  std::copy(front.begin(), front.end(), place.begin());
  return area;
}

// The machine proves that it holds the EK.
bool opens(machine_tpm& m, const chosen_ek& ek) {
  auto now = from_millis(1'800'000'000'000);
  static const auto keys =
      challenge_keys(std::move(pki::make_bundle("example.test", now)).value());
  auto answered = answer_challenge({ek.public_area, m.ak_public().value(), {}},
                                   keys[0], {7}, now);
  const auto* given = std::get_if<challenge_answer>(&answered);
  return given != nullptr &&
         m.activate(ek, given->credential_blob, given->encrypted_secret);
}

// TPM2_EvictControl: makes a key persistent at the EK's place, or the one that
// is there none.
std::uint32_t evict(const software_tpm& t, handle object) {
  bytes packet{0x80, 0x02};
  put_number(packet, 35, 4);
  put_number(packet, 0x120, 4);
  put_number(packet, hierarchy::owner, 4);
  put_number(packet, object, 4);
  put_number(packet, 9, 4);
  put_number(packet, 0x40000009, 4);
  put(packet, bytes(5));
  put_number(packet, persistent_ek, 4);
  auto got = connect(t)->exchange(packet);
  REQUIRE(got);
  return word(got.value().expose(), 6);
}

// In the place of the EK that swtpm_setup left.
void persist(const software_tpm& t, const public_area& from) {
  device d{connect(t)};
  auto made = d.create_primary(hierarchy::endorsement, {}, from).value();
  held slot{d, made.at};
  REQUIRE(evict(t, persistent_ek) == 0);
  REQUIRE(evict(t, made.at) == 0);
}

}  // namespace

TEST_CASE(
    "tpm choice: the key that the certificate is for, however it was made "
    "(case 121)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  const auto rsa = *ek_template("rsa-2048"), p256 = *ek_template("p256");
  const auto high = *ek_template("p256-high");
  const bytes nonce(32, 0x5a), short_nonce(16, 0xa5), other(20, 0x33);
  const auto own = with_unique(p256, other);
  struct row {
    const char* what;
    const char* kind;
    public_area made_from;
    handle certificate;
    std::map<handle, bytes> hints;
    bool persistent = false;
  };
  const row rows[] = {
      {"low range", "p256", p256, 0x01c0000a, {}},
      {"high range", "p256-high", high, 0x01c0000a, {}},
      {"high range at its own index", "p256-high", high, 0x01c00014, {}},
      {"a nonce",
       "p256-nonce",
       with_unique(p256, nonce),
       0x01c0000a,
       {{0x01c0000b, nonce}}},
      {"an RSA key's nonce",
       "rsa-2048-nonce",
       with_unique(rsa, short_nonce),
       0x01c00002,
       {{0x01c00003, short_nonce}}},
      {"a nonce at the template's index",
       "p256-nonce",
       with_unique(p256, short_nonce),
       0x01c0000a,
       {{0x01c0000c, short_nonce}}},
      {"a template",
       "p256-nv",
       own,
       0x01c0000a,
       {{0x01c0000c, encode(own)}, {0x01c0000b, nonce}}},
      {"a template at the nonce's index",
       "p256-nv",
       own,
       0x01c0000a,
       {{0x01c0000b, encode(own)}}},
      {"two nonces, and the second is it",
       "p256-nonce",
       with_unique(p256, short_nonce),
       0x01c0000a,
       {{0x01c0000b, short_nonce}, {0x01c0000c, nonce}}},
      {"hints that lead nowhere",
       "p256",
       p256,
       0x01c0000a,
       {{0x01c0000b, bytes(33, 1)}, {0x01c0000c, encode(own)}}},
      {"a persistent key",
       "p256-persistent",
       with_unique(p256, bytes(32, 0x77)),
       0x01c0000a,
       {},
       true},
  };
  for (const auto& r : rows) {
    INFO(r.what);
    if (r.persistent)
      persist(*t, r.made_from);
    const auto expected = made_of(*t, r.made_from);
    vendor_nv nv{r.hints, {}};
    nv.content[r.certificate] = certificate_for(expected);
    auto m = nv.machine(*t);
    auto chosen = m.choose_ek();
    REQUIRE(chosen);
    const auto& ek = chosen.value();
    CHECK(ek.kind == r.kind);
    CHECK(ek.public_area == encode(expected));
    CHECK(ek.certificate == nv.content[r.certificate]);
    CHECK(ek.warning.empty());
    // By its name alone, after a restart.
    auto again = nv.machine(*t);
    auto recorded = again.choose_ek(ek.kind);
    REQUIRE(recorded);
    CHECK(recorded.value().public_area == ek.public_area);
    CHECK(recorded.value().certificate == ek.certificate);
    CHECK(opens(again, recorded.value()));
    // What was recorded and is no longer there is no other key.
    if (!r.hints.empty() && ek.kind != "p256") {
      auto emptied = vendor_nv{}.machine(*t);
      auto lost = emptied.choose_ek(ek.kind);
      REQUIRE_FALSE(lost);
      CHECK(lost.error().code == errc::invalid_state);
      CHECK_FALSE(opens(emptied, ek));
    }
    CHECK(left_open(*t) == 0);
  }
}

TEST_CASE(
    "tpm choice: a certificate for no key here is told of, by its index") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  vendor_nv nv;
  nv.content[0x01c0000a] = certificate_for(make_ek(key_kind::p256).area);
  auto m = nv.machine(*t);
  auto bare = m.choose_ek().value();
  CHECK(bare.kind == "rsa-2048");
  CHECK(bare.certificate.empty());
  CHECK(bare.warning ==
        "the EK certificate at index 0x01c0000a is for no key of this TPM");
  // No key of that kind is asked for.
  CHECK(m.choose_ek("rsa-2048").value().warning.empty());
  CHECK_FALSE(m.choose_ek("p256").value().warning.empty());
  // Another index has one that is.
  nv.content[0x01c00016] = certificate_for(made_of(*t, *ek_template("p384")));
  auto whole = nv.machine(*t).choose_ek().value();
  CHECK(whole.kind == "p384");
  CHECK_FALSE(whole.certificate.empty());
  CHECK(whole.warning.empty());
}

// Another EK is another machine: one is passed over only when this TPM will
// never have it.
TEST_CASE("tpm choice: what may pass chooses no other EK") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  REQUIRE(evict(*t, persistent_ek) == 0);
  vendor_nv nv;
  nv.content[0x01c00002] =
      certificate_for(made_of(*t, *ek_template("rsa-2048")));
  nv.content[0x01c0000a] = certificate_for(made_of(*t, *ek_template("p256")));
  auto with_answer = [&](std::uint32_t code) {
    return machine_tpm{std::make_unique<watched>(
        connect(*t), [&nv, code](byte_view c) -> std::optional<bytes> {
          // The type of a template follows the handle, the password, an empty
          // sensitive part and a size.
          bool rsa = word(c, 6) == 0x131 && word(c, 35) >> 16 == alg::rsa;
          return rsa ? std::optional{answer_of(code)} : nv.answer(c);
        })};
  };
  for (std::uint32_t code :
       {0x902u, 0x905u, 0x910u, 0x921u, 0x923u, 0xb0902u, 0xc0902u, 0xb0923u}) {
    INFO(std::hex << code);
    auto got = with_answer(code).choose_ek();
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::unavailable);
  }
  for (std::uint32_t code : {0x101u, 0x9a2u, 0x98eu, 0x100u, 0x12fu, 0x185u}) {
    INFO(std::hex << code);
    auto got = with_answer(code).choose_ek();
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::invalid_state);
  }
  for (std::uint32_t code : {0x2c1u, 0x2c2u, 0x2c3u, 0x2c4u, 0x2c7u, 0x2cau,
                             0x2d2u, 0x2d6u, 0x2e6u, 0xb02c4u}) {
    INFO(std::hex << code);
    auto got = with_answer(code).choose_ek();
    REQUIRE(got);
    CHECK(got.value().kind == "p256");
  }
}

TEST_CASE("tpm choice: an index counts for nothing by its own state alone") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  vendor_nv nv;
  nv.content[0x01c0000a] = certificate_for(made_of(*t, *ek_template("p256")));
  auto got = [&](std::uint32_t code) {
    nv.refusals[0x01c0000a] = code;
    return nv.machine(*t).choose_ek();
  };
  for (std::uint32_t code :
       {0x149u, 0x14au, 0x12fu, 0x182u, 0x18bu, 0x98eu, 0x9a2u, 0xb014au}) {
    INFO(std::hex << code);
    REQUIRE(got(code));
    CHECK(got(code).value().certificate.empty());
  }
  for (std::uint32_t code : {0x923u, 0x902u, 0xc0923u, 0x921u}) {
    INFO(std::hex << code);
    REQUIRE_FALSE(got(code));
    CHECK(got(code).error().code == errc::unavailable);
  }
  for (std::uint32_t code : {0x101u, 0x148u, 0x146u}) {
    INFO(std::hex << code);
    REQUIRE_FALSE(got(code));
    CHECK(got(code).error().code == errc::invalid_state);
  }
}

// By a TPM's own words: never written, and read by its owner alone.
TEST_CASE("tpm choice: indices that a TPM does not let us read (case 130)") {
  auto t = software_tpm::make();
  if (t == nullptr)
    return;
  auto define = [&](handle index, std::uint32_t attributes) {
    bytes area, parameters;
    put_number(area, index, 4);
    put_number(area, alg::sha256, 2);
    put_number(area, attributes, 4);
    put_sized(area, {});
    put_number(area, 64, 2);
    put_sized(parameters, {});
    put_sized(parameters, area);
    return raw(*t, 0x12a, hierarchy::owner, parameters);
  };
  constexpr std::uint32_t owner_write = 1u << 1, owner_read = 1u << 17,
                          auth_read = 1u << 18;
  CHECK(define(0x01c0000a, owner_write | auth_read) == 0);
  CHECK(define(0x01c00014, owner_write | owner_read) == 0);
  device d{connect(*t)};
  CHECK_FALSE(d.read_index(0x01c0000a, 512));
  CHECK(d.last_code() == 0x14a);
  CHECK_FALSE(d.read_index(0x01c00014, 512));
  CHECK(is_of_index(d.last_code()));
  CHECK_FALSE(d.read_index(0x01c0001c, 512));
  CHECK(is_of_index(d.last_code()));
  machine_tpm m{connect(*t)};
  auto chosen = m.choose_ek();
  REQUIRE(chosen);
  CHECK(chosen.value().kind == "rsa-2048");
  CHECK_FALSE(chosen.value().certificate.empty());
}
