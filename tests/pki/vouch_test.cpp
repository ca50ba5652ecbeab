// spec: ATTESTATION section 4 (the vouch), sections 8.9 and 8.10
#include "pki/vouch.hpp"

#include "base/json.hpp"
#include "support.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/swapped.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <random>
#include <set>

using namespace bc;
using bc::test::swapped;
using namespace bc::pki;
using bc::pki::test::key_of;
using bc::pki::test::noon;

namespace {

const bytes certificate = to_bytes(as_bytes("the site agent's certificate"));

vouch::claims good_claims() {
  vouch::claims out;
  out.site = site_id::parse("site_01k5w000000000000000000000").value();
  out.mac = "3c:ec:ef:00:00:01";
  out.ip = "10.0.0.17";
  out.boot_lease_epoch = 7;
  out.csr_sha256 = sha256(as_bytes("csr"));
  out.claims_sha256 = sha256(as_bytes("claims"));
  out.issued_at = noon;
  out.expires_at = noon + seconds{120};
  out.jti = "AAECAwQFBgcICQoLDA0ODw";
  return out;
}

vouch::signer signing(const private_key& key) {
  return [&key](const sha256_digest& digest) -> result<raw_signature> {
    return key.sign(digest);
  };
}

std::string made(const vouch::claims& says) {
  const auto key = key_of("0707");
  auto out = vouch::make(says, certificate, signing(key));
  REQUIRE(out);
  return out.value();
}

bool is_malformed(std::string_view compact) {
  auto got = vouch::read(compact);
  return std::holds_alternative<vouch::code>(got) &&
         std::get<vouch::code>(got) == vouch::code::malformed;
}

/// The vouch with these parts instead; its signature fits no more, which read()
/// does not judge.
std::string with_parts(std::string_view header, std::string_view payload) {
  const auto whole = made(good_claims());
  return to_base64url(as_bytes(header)) + '.' +
         to_base64url(as_bytes(payload)) + whole.substr(whole.rfind('.'));
}

std::string part_of(const std::string& compact, int which) {
  auto first = compact.find('.');
  auto second = compact.find('.', first + 1);
  auto text = which == 0 ? compact.substr(0, first)
                         : compact.substr(first + 1, second - first - 1);
  return std::string{as_text(from_base64url(text).value())};
}

}  // namespace

TEST_CASE("vouch: what was made is read, and its signature holds") {
  const auto key = key_of("0707");
  auto says = good_claims();
  const auto workflow = GENERATE(false, true);
  if (workflow)
    says.workflow = "wf_01.deploy:a-b";
  auto got = vouch::read(made(says));
  REQUIRE(std::holds_alternative<vouch::vouch>(got));
  const auto& v = std::get<vouch::vouch>(got);
  CHECK(v.says == says);
  CHECK(v.certificate == sha256(certificate));
  CHECK(vouch::is_signed_by(v, key.pub()));
  CHECK_FALSE(vouch::is_signed_by(v, key_of("0708").pub()));
}

TEST_CASE("vouch: the text that is signed is as published") {
  auto says = good_claims();
  says.workflow = "wf_7";
  const auto whole = made(says);
  bc::testing::check_golden("attest/vouch-parts.txt",
                            part_of(whole, 0) + '\n' + part_of(whole, 1));
}

TEST_CASE(
    "vouch: another program's vouches are read, and their signatures "
    "hold") {
  std::ifstream in{std::string{BC_SOURCE_DIR} +
                   "/tests/golden/attest/vouches.json"};
  auto doc = json::parse(std::string{std::istreambuf_iterator<char>{in}, {}});
  REQUIRE(doc);
  REQUIRE(doc.value().Size() == 2);
  for (const auto& item : doc.value().GetArray()) {
    json::reader one{item};
    INFO(one.text("name").value());
    auto got = vouch::read(one.text("vouch").value());
    REQUIRE(std::holds_alternative<vouch::vouch>(got));
    const auto& v = std::get<vouch::vouch>(got);
    CHECK(vouch::is_signed_by(v, key_of(one.text("scalar").value()).pub()));
    CHECK(v.certificate == sha256(as_bytes(one.text("certificate").value())));
    auto payload = one.object("payload").value();
    CHECK(v.says.site.str() == payload.text("siteId").value());
    CHECK(v.says.mac == payload.text("mac").value());
    CHECK(v.says.ip == payload.text("ip").value());
    CHECK(v.says.workflow == payload.optional_text("workflowId").value());
    CHECK(v.says.boot_lease_epoch == payload.integer("bootLeaseEpoch").value());
    CHECK(to_hex(v.says.csr_sha256) == payload.text("csrSha256").value());
    CHECK(to_hex(v.says.claims_sha256) == payload.text("claimsSha256").value());
    CHECK(to_millis(v.says.issued_at) == payload.integer("iat").value() * 1000);
    CHECK(to_millis(v.says.expires_at) ==
          payload.integer("exp").value() * 1000);
    CHECK(v.says.jti == payload.text("jti").value());
  }
}

TEST_CASE("vouch: an empty text is missing, not malformed") {
  auto got = vouch::read("");
  REQUIRE(std::holds_alternative<vouch::code>(got));
  CHECK(std::get<vouch::code>(got) == vouch::code::missing);
}

TEST_CASE("vouch: anything but the one form is malformed") {
  const auto good = made(good_claims());
  const auto header = part_of(good, 0);
  const auto payload = part_of(good, 1);
  REQUIRE_FALSE(is_malformed(with_parts(header, payload)));
  CHECK(is_malformed("."));
  CHECK(is_malformed(".."));
  CHECK(is_malformed("a.b.c"));
  CHECK(is_malformed(good + "."));
  CHECK(is_malformed(good + ".AAAA"));
  CHECK(is_malformed(good + "="));
  CHECK(is_malformed(" " + good));
  CHECK(is_malformed(good + "\n"));
  CHECK(is_malformed(good.substr(0, good.rfind('.'))));
  CHECK(is_malformed(good.substr(0, good.size() - 4)));
  CHECK(is_malformed(good + "AAAA"));
  CHECK(is_malformed(good + std::string(vouch::max_size, 'A')));

  const std::pair<const char*, const char*> headers[] = {
      {"ES256", "none"},
      {"ES256", "HS256"},
      {"bc-vouch", "JWT"},
      {"x5t#S256", "x5t"},
      {"}", R"(,"kid":"a"})"},
      {"}", R"(,"alg":"ES256"})"},
      {"}", R"(,"jwk":{}})"},
      {R"("x5t#S256":")", R"("x5t#S256":"A)"},
      {"{", "[{"},
  };
  for (const auto& [part, instead] : headers)
    CHECK(is_malformed(with_parts(swapped(header, part, instead), payload)));

  const std::pair<const char*, const char*> payloads[] = {
      {"site_01k5w", "site_01K5W"},
      {R"("siteId")", R"("site")"},
      {"3c:ec:ef:00:00:01", "3C:EC:EF:00:00:01"},
      {"3c:ec:ef:00:00:01", "3c-ec-ef-00-00-01"},
      {"3c:ec:ef:00:00:01", "3c:ec:ef:00:00:0"},
      {"3c:ec:ef:00:00:01", "3c:ec:ef:00:00:01:02"},
      {"10.0.0.17", "010.0.0.17"},
      {"10.0.0.17", "10.0.0.256"},
      {"10.0.0.17", "10.0.0.17/24"},
      {"10.0.0.17", "2001:DB8::1"},
      {"10.0.0.17", "fe80::1%eth0"},
      {"10.0.0.17", "host.example"},
      {"10.0.0.17", ""},
      {R"("bootLeaseEpoch":7)", R"("bootLeaseEpoch":0)"},
      {R"("bootLeaseEpoch":7)", R"("bootLeaseEpoch":-7)"},
      {R"("bootLeaseEpoch":7)", R"("bootLeaseEpoch":7.0)"},
      {R"("bootLeaseEpoch":7)", R"("bootLeaseEpoch":"7")"},
      {R"("bootLeaseEpoch":7)", R"("bootLeaseEpoch":9007199254740992)"},
      {R"("csrSha256":")", R"("csrSha256":"00)"},
      {R"("claimsSha256":")", R"("claimsSha256":"G)"},
      {R"("jti":"AAEC)", R"("jti":")"},
      {R"("jti":"AAEC)", R"("jti":"AAECAAAA)"},
      {R"(DA0ODw")", R"(DA0ODx")"},
      {"}", R"(,"aud":"x"})"},
      {"}", R"(,"jti":"AAECAwQFBgcICQoLDA0ODw"})"},
      {"}", R"(,"workflowId":""})"},
      {"}", R"(,"workflowId":"a b"})"},
      {"}", R"(,"workflowId":null})"},
      {R"("iat":)", R"("iat":-)"},
      {R"("iat":)", R"("nbf":)"},
  };
  for (const auto& [part, instead] : payloads) {
    INFO(part << " -> " << instead);
    CHECK(is_malformed(with_parts(header, swapped(payload, part, instead))));
  }
}

TEST_CASE("vouch: it lasts one second to two minutes") {
  auto says = good_claims();
  for (auto [lasts, good] : {std::pair{1, true},
                             {120, true},
                             {121, false},
                             {0, false},
                             {-1, false},
                             {1'000'000'000, false}}) {
    says.expires_at = says.issued_at + seconds{lasts};
    const auto key = key_of("0707");
    CHECK(vouch::make(says, certificate, signing(key)).has_value() == good);
  }
  const auto good = made(good_claims());
  auto longer =
      swapped(part_of(good, 1), "\"exp\":1795953720", "\"exp\":1795953721");
  CHECK(is_malformed(with_parts(part_of(good, 0), longer)));
}

TEST_CASE("vouch: live from its issue, a clock's error before, to its end") {
  const auto says = good_claims();
  CHECK(vouch::is_live(says, noon));
  CHECK(vouch::is_live(says, noon - vouch::clock_skew));
  CHECK_FALSE(vouch::is_live(says, noon - vouch::clock_skew - milliseconds{1}));
  CHECK(vouch::is_live(says, says.expires_at - milliseconds{1}));
  CHECK_FALSE(vouch::is_live(says, says.expires_at));
}

TEST_CASE(
    "vouch: what read() would refuse is not made, and a key that fails "
    "is told") {
  const auto key = key_of("0707");
  auto check_bad = [&](auto change) {
    auto says = good_claims();
    change(says);
    auto out = vouch::make(says, certificate, signing(key));
    REQUIRE_FALSE(out);
    CHECK(out.error().code == errc::invalid_input);
  };
  check_bad([](vouch::claims& c) { c.mac = "3C:EC:EF:00:00:01"; });
  check_bad([](vouch::claims& c) { c.ip = "10.0.0"; });
  check_bad([](vouch::claims& c) { c.ip = std::string{"10.0.0.1\0", 9}; });
  check_bad([](vouch::claims& c) { c.workflow = std::string(129, 'w'); });
  check_bad([](vouch::claims& c) { c.boot_lease_epoch = 0; });
  check_bad([](vouch::claims& c) { c.issued_at += milliseconds{1}; });
  check_bad([](vouch::claims& c) { c.jti = "short"; });
  check_bad([](vouch::claims& c) { c.site = {}; });
  auto failing = [](const sha256_digest&) -> result<raw_signature> {
    return fail(errc::unavailable, "the TPM is busy");
  };
  auto out = vouch::make(good_claims(), certificate, failing);
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::unavailable);
}

TEST_CASE("vouch: any claims go through, and any other bit ends it") {
  std::mt19937 random{20261130};
  auto below = [&](std::size_t n) { return random() % n; };
  const auto key = key_of("0707");
  std::set<std::string> jtis;
  for (int round = 0; round < 200; ++round) {
    auto says = good_claims();
    says.jti = vouch::new_jti();
    CHECK(jtis.insert(says.jti).second);
    says.boot_lease_epoch = 1 + static_cast<std::int64_t>(below(1u << 30));
    for (auto& b : says.csr_sha256)
      b = static_cast<std::uint8_t>(below(256));
    says.ip = std::to_string(below(256)) + ".0." + std::to_string(below(256)) +
              "." + std::to_string(below(256));
    if (below(2) == 0)
      says.workflow = std::string(1 + below(128), 'w');
    says.expires_at =
        says.issued_at + seconds{1 + static_cast<int>(below(120))};
    const auto whole = made(says);
    auto got = vouch::read(whole);
    REQUIRE(std::holds_alternative<vouch::vouch>(got));
    REQUIRE(std::get<vouch::vouch>(got).says == says);
    auto bent = whole;
    auto& c = bent[below(bent.size())];
    c = static_cast<char>(c ^ (1 << below(7)));
    auto other = vouch::read(bent);
    INFO(bent);
    if (const auto* v = std::get_if<vouch::vouch>(&other))
      CHECK_FALSE(vouch::is_signed_by(*v, key.pub()));
  }
}

TEST_CASE("vouch: each code has the text of its reason") {
  using vouch::code;
  CHECK(text_of(code::missing) == "vouch-missing");
  CHECK(text_of(code::malformed) == "vouch-malformed");
  CHECK(text_of(code::expired) == "vouch-expired");
  CHECK(text_of(code::signature) == "vouch-signature");
  CHECK(text_of(code::csr) == "vouch-csr");
  CHECK(text_of(code::claims) == "vouch-claims");
}
