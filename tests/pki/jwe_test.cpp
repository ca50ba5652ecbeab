// spec: joining#join-flow step 2; CASES 73 to 84 and appendix A
#include "pki/jwe.hpp"

#include "base/json.hpp"
#include "craft_seal.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

using namespace bc;
using namespace bc::pki;
using namespace bc::pki::test;

TEST_CASE("jwe: a seal opens with its key, CSR and time") {
  auto seal = seal_token(recipient().pub(), token, csr_a, noon);
  CHECK(refusal(seal) == "");
  CHECK(seal.size() < 700);
  CHECK(seal != seal_token(recipient().pub(), token, csr_a, noon));
  auto empty = seal_token(recipient().pub(), "", csr_a, noon);
  CHECK(open_seal(recipient(), empty, csr_a, noon).value().empty());
  CHECK(refusal(craft{}.seal()) == "");
}

TEST_CASE("jwe: 2,000 fresh keys, JWK and seal round trip (case 73)") {
  int short_coordinate = 0;
  for (int i = 0; i < 2000; ++i) {
    auto key = private_key::generate();
    short_coordinate += key.pub().sec1()[1] == 0 || key.pub().sec1()[33] == 0;
    auto jwk = from_jwk(to_jwk(key.pub()));
    REQUIRE(jwk.has_value());
    REQUIRE(jwk.value() == key.pub());
    auto seal = seal_token(jwk.value(), token, csr_a, noon);
    auto opened = open_seal(key, seal, csr_a, noon);
    REQUIRE(opened.has_value());
    REQUIRE(opened.value().expose_text() == token);
  }
  CHECK(short_coordinate > 0);
}

TEST_CASE("jwe: vectors A1 and A2 seal, their 31-byte forms do not (case 73)") {
  struct row {
    const char *scalar, *x, *y, *short_x, *short_y;
  };
  auto v = GENERATE(row{"017b", "AFVDiUrz0A7X10Cr29dclrBod7eH219w7qeLkKjXwAo",
                        "u0yFo9jqKe-q-iRAaRLdhNWxTcMr9lbvbGvVil2UP5I",
                        "VUOJSvPQDtfXQKvb11yWsGh3t4fbX3Dup4uQqNfACg",
                        "u0yFo9jqKe-q-iRAaRLdhNWxTcMr9lbvbGvVil2UP5I"},
                    row{"2b", "mGriUG8f8QTQQjCGHY9LSY9LxMbQCbMPdUTcEpuC0o0",
                        "ADzMwKZGDgrjKKTZfTx7YdhvxiicGJ8lJREMRBuwfpc",
                        "mGriUG8f8QTQQjCGHY9LSY9LxMbQCbMPdUTcEpuC0o0",
                        "PMzApkYOCuMopNl9PHth2G_GKJwYnyUlEQxEG7B-lw"});
  auto key = key_of(v.scalar);
  CHECK(to_jwk(key.pub()) == jwk_of(v.x, v.y));
  auto read = from_jwk(jwk_of(v.x, v.y));
  REQUIRE(read.has_value());
  auto seal = seal_token(read.value(), token, csr_a, noon);
  CHECK(open_seal(key, seal, csr_a, noon));

  auto refused = from_jwk(jwk_of(v.short_x, v.short_y));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("coordinate length") == 0);

  // As an ephemeral key: the very same seal but for the spelling.
  craft c;
  c.ephemeral = key_of(v.scalar);
  c.epk = jwk_of(v.x, v.y);
  CHECK(refusal(c.seal()) == "");
  c.epk = jwk_of(v.short_x, v.short_y);
  CHECK(refusal(c.seal()).find("epk: coordinate length") == 0);
}

TEST_CASE("jwe: vector A3, Z keeps its leading zero (cases 74, 75)") {
  auto ephemeral = key_of("04c1");  // 1217
  auto z = recipient().ecdh(ephemeral.pub());
  CHECK(to_hex(z.expose()) ==
        "008f8d6cef0da134ad6880ba340151870fb3fb4e0099057c53525136c49611aa");
  CHECK(z == ephemeral.ecdh(recipient().pub()));
  // 95b12668… would be Z without its zero, d6a95712… the name of the enc.
  CHECK(to_hex(derive_kek(z).expose()) ==
        "0202a15ceda06bf62b6bf915b0fb5de92126f83db3e330e330ab7988050e498c");
  auto seal = seal_token_with(recipient().pub(), ephemeral, bytes(32, 1),
                              bytes(12, 2), token, csr_a, noon);
  CHECK(refusal(seal) == "");
}

TEST_CASE("jwe: seals go to another implementation and back (case 75)") {
  std::ifstream file{BC_SOURCE_DIR "/tests/golden/jwe/seals.json"};
  std::stringstream text;
  text << file.rdbuf();
  auto document = json::parse_object(text.str());
  REQUIRE(document.has_value());
  json::reader golden{document.value()};
  auto key = private_key::from_scalar(
      from_hex(golden.text("recipientScalar").value()).value());
  auto at = from_millis(golden.integer("iat").value() * 1000);
  auto csr = sha256(as_bytes("a certificate request"));
  CHECK(golden.text("csr").value() == to_base64url(csr));
  auto plain = golden.text("token").value();

  auto peer = open_seal(key.value(), golden.text("peer").value(), csr, at);
  REQUIRE(peer.has_value());
  CHECK(peer.value().expose_text() == plain);

  bytes cek(32), iv(12);
  for (std::size_t i = 0; i < cek.size(); ++i)
    cek[i] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 0; i < iv.size(); ++i)
    iv[i] = static_cast<std::uint8_t>(i);
  // The peer opened these very bytes (tests/golden/jwe/peer.py).
  CHECK(seal_token_with(key.value().pub(), key_of("04c1"), cek, iv, plain, csr,
                        at) == golden.text("ours").value());
}

TEST_CASE("jwe: an ephemeral key that is none is refused (case 77, A4)") {
  craft c;
  auto good = c.epk;
  auto at_epk = [&](std::string epk) {
    c.epk = std::move(epk);
    return refusal(c.seal());
  };
  CHECK(at_epk(good) == "");
  for (auto [x, y] : {std::pair{0, 0}, {0, 2}, {1, 1}, {2, 2}})
    CHECK(at_epk(jwk_of_point(tiny_point(static_cast<std::uint8_t>(x),
                                         static_cast<std::uint8_t>(y)))) ==
          "epk: the point is not on P-256");
  CHECK(at_epk(jwk_of("_____wAAAAEAAAAAAAAAAAAAAAD_______________8",
                      "ZkhceA4vg9ckM71dhKBrtlQcKvMdrocXKL-FahdPk_Q")) ==
        "epk: a coordinate is not below the prime");
  auto replaced = [&](std::string_view from, std::string_view to) {
    auto text = good;
    text.replace(text.find(from), from.size(), to);
    return at_epk(text);
  };
  constexpr auto not_ours = "epk: not a JWK of an EC P-256 key";
  CHECK(replaced("P-256", "P-384") == not_ours);
  CHECK(replaced("P-256", "secp256k1") == not_ours);
  CHECK(replaced("\"EC\"", "\"OKP\"") == not_ours);
  CHECK(replaced("\"y\"", "\"z\"") == "epk: the JWK has no coordinate y");
  CHECK(replaced("}", ",\"d\":\"AQ\"}") == "epk has another member");
  CHECK(replaced("}", ",\"kid\":\"1\"}") == "epk has another member");
  CHECK(replaced("\"y\":\"", "\"y\":\"=") ==
        "epk: the coordinate y is not base64url");
  CHECK(at_epk("\"text\"") == "epk is not an object");
  CHECK(at_epk("") == "epk is not an object");
}

TEST_CASE("jwe: a zip header is refused, whatever it would hold (case 78)") {
  craft c;
  c.extra = R"(,"zip":"DEF")";
  CHECK(refusal(c.seal()) == "the header has another parameter");
  CHECK(refusal(c.seal(std::string(200'000, 'x'))) == "it is over 4096 bytes");
}

TEST_CASE("jwe: other algorithms and types are refused (case 79)") {
  for (const char* alg : {"\"dir\"", "\"RSA-OAEP-256\"", "\"A256KW\"",
                          "\"ECDH-ES\"", "\"PBES2-HS512+A256KW\"", "\"none\"",
                          "\"ecdh-es+a256kw\"", "null", "7", ""}) {
    craft c;
    c.alg = alg;
    c.extra = R"(,"p2c":2147483648)";
    CHECK(refusal(c.seal()) == "alg is not ECDH-ES+A256KW");
  }
  for (const char* enc : {"\"A128GCM\"", "\"A256CBC-HS512\"", "\"\"", ""}) {
    craft c;
    c.enc = enc;
    CHECK(refusal(c.seal()) == "enc is not A256GCM");
  }
  for (const char* typ : {"\"JWT\"", "\"BCJT+JWE\"", "\"bcjt+jwe \"",
                          "\"bcjt+jwe\\u0000\"", "[\"bcjt+jwe\"]", ""}) {
    craft c;
    c.typ = typ;
    CHECK(refusal(c.seal()) != "");
  }
  for (const char* extra :
       {R"(,"crit":["exp"],"exp":1)", R"(,"crit":[])", R"(,"apu":"QQ")",
        R"(,"apv":"QQ")", R"(,"kid":"1")", R"(,"jku":"https://x")"}) {
    craft c;
    c.extra = extra;
    CHECK(refusal(c.seal()) == "the header has another parameter");
  }
  craft c;
  c.extra = R"(,"alg":"ECDH-ES+A256KW")";
  CHECK(refusal(c.seal()) == "the header is not a JSON object");
  CHECK(refusal("eyJhbGciOiJub25lIn0.e30.") == "it is not five parts");
  CHECK(refusal(R"({"protected":"x","ciphertext":"y"})") ==
        "it is not five parts");
}

TEST_CASE("jwe: padding, blanks, parts and sizes are strict (case 80)") {
  auto good = craft{}.seal();
  REQUIRE(refusal(good) == "");
  auto parts = split(good);
  REQUIRE(parts.size() == 5);
  auto with = [&](std::size_t at, std::string value) {
    auto changed = parts;
    changed[at] = std::move(value);
    return refusal(join(changed));
  };
  constexpr auto not_base64 = "a part is not base64url";
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(with(i, parts[i] + "=") == not_base64);
    CHECK(with(i, parts[i].substr(0, 3) + " " + parts[i].substr(3)) ==
          not_base64);
    CHECK(with(i, parts[i].substr(0, 3) + "+" + parts[i].substr(4)) ==
          not_base64);
  }
  CHECK(refusal(good + "\n") == not_base64);
  CHECK(refusal("\n" + good) == not_base64);
  CHECK(refusal(good + ".") == "it is not five parts");
  CHECK(refusal(good + ".QQ") == "it is not five parts");
  CHECK(refusal(join({parts[0], parts[1], parts[2], parts[3]})) ==
        "it is not five parts");
  CHECK(refusal("") == "it is not five parts");
  CHECK(refusal("....") == "the encrypted key is not 40 bytes");
  CHECK(with(1, "") == "the encrypted key is not 40 bytes");
  CHECK(with(2, to_base64url(bytes(11, 9))) == "the IV is not 12 bytes");
  CHECK(with(2, to_base64url(bytes(13, 9))) == "the IV is not 12 bytes");
  auto tag = from_base64url(parts[4]).value();
  tag.resize(12);
  CHECK(with(4, to_base64url(tag)) == "the tag is not 16 bytes");
  tag.resize(17);
  CHECK(with(4, to_base64url(tag)) == "the tag is not 16 bytes");
  CHECK(with(4, "") == "the tag is not 16 bytes");
  CHECK(with(0, std::string(1 << 20, 'A')) == "it is over 4096 bytes");
  CHECK(with(0, "") == "the header is not a JSON object");
  CHECK(refusal(good + std::string(4097 - good.size(), 'A')) ==
        "it is over 4096 bytes");
}

TEST_CASE("jwe: no bit of a seal can be changed") {
  auto good = craft{}.seal();
  auto parts = split(good);
  for (std::size_t part = 0; part < 5; ++part) {
    auto octets = from_base64url(parts[part]).value();
    for (std::size_t at = 0; at < octets.size(); ++at) {
      auto changed = parts;
      auto other = octets;
      other[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
      changed[part] = to_base64url(other);
      REQUIRE(refusal(join(changed)) != "");
    }
  }
}

TEST_CASE("jwe: a seal that binds claims opens for these alone") {
  const auto claims = sha256(as_bytes("claims"));
  auto seal = seal_token(recipient().pub(), token, {csr_a, claims}, noon);
  CHECK(open_seal(recipient(), seal, {csr_a, claims}, noon));
  for (const auto& other : {seal_binding{csr_a}, seal_binding{csr_a, csr_b},
                            seal_binding{csr_a, csr_a}}) {
    auto opened = open_seal(recipient(), seal, other, noon);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().detail == "claims are another request's");
  }
  // One that binds none is what the protocol asks for at least.
  auto plain = seal_token(recipient().pub(), token, csr_a, noon);
  CHECK(open_seal(recipient(), plain, {csr_a, claims}, noon));
}

TEST_CASE("jwe: a seal for another CSR is refused (case 82)") {
  craft c;
  CHECK(refusal(c.seal(), csr_b) == "csr is another request's");
  c.csr = '"' + to_base64url(csr_b) + '"';
  CHECK(refusal(c.seal()) == "csr is another request's");
  for (const char* csr : {"\"\"", "null", ""}) {
    c.csr = csr;
    CHECK(refusal(c.seal()) == "csr is another request's");
  }
  c.csr = '"' + to_base64(csr_a) + '"';
  CHECK(refusal(c.seal()) == "csr is another request's");
  // The same seal twice opens twice; spending is the token's matter.
  auto seal = craft{}.seal();
  CHECK(refusal(seal) == "");
  CHECK(refusal(seal) == "");
}

TEST_CASE("jwe: iat is an integer within a day of now (case 83)") {
  craft c;
  auto at = [&](std::string iat) {
    c.iat = std::move(iat);
    return refusal(c.seal());
  };
  auto from_now = [&](std::int64_t s) {
    return at(std::to_string(unix_noon() + s));
  };
  CHECK(from_now(180) == "");
  CHECK(from_now(-180) == "");
  CHECK(from_now(86'400) == "");
  CHECK(from_now(-86'400) == "");
  CHECK(from_now(86'401) == "iat is out of the window");
  CHECK(from_now(-86'401) == "iat is out of the window");
  CHECK(from_now(-3 * 86'400) == "iat is out of the window");
  CHECK(at("0") == "iat is out of the window");
  CHECK(at("4294967296") == "iat is out of the window");  // 2106
  CHECK(at("-1") == "iat is out of the window");
  CHECK(at("9223372036854775807") == "iat is out of the window");
  CHECK(at("-9223372036854775808") == "iat is out of the window");
  CHECK(at("9223372036854775808") == "iat is not an integer");
  CHECK(at(std::to_string(unix_noon()) + ".0") == "iat is not an integer");
  CHECK(at("1.8e9") == "iat is not an integer");
  CHECK(at("\"" + std::to_string(unix_noon()) + "\"") ==
        "iat is not an integer");
  CHECK(at("") == "iat is not an integer");
}

TEST_CASE("jwe: a seal to a key that was rotated does not open (case 84)") {
  auto old_key = private_key::generate();
  auto seal = seal_token(old_key.pub(), token, csr_a, noon);
  CHECK(refusal(seal) == "the key does not unwrap");
  CHECK(open_seal(old_key, seal, csr_a, noon));
}

TEST_CASE("jwe: a JWK holds a public P-256 key and its members may be more") {
  auto key = private_key::generate();
  auto good = to_jwk(key.pub());
  auto more = good;
  more.replace(more.size() - 1, 1, R"(,"use":"enc","kid":"1"})");
  CHECK(from_jwk(more).value() == key.pub());
  auto with_d = good;
  with_d.replace(with_d.size() - 1, 1, R"(,"d":"AQ"})");
  CHECK_FALSE(from_jwk(with_d));
  CHECK_FALSE(from_jwk(good + "x"));
  CHECK_FALSE(from_jwk("[]"));
  CHECK_FALSE(from_jwk(""));
  CHECK_FALSE(from_jwk(R"({"kty":"EC"})"));
}
