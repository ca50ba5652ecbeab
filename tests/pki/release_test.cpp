// Release manifests: what a release key signed, and nothing else.
// spec: joining#generate-the-install-script
#include "pki/release.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/signature.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::pki;

namespace {

release sample() {
  release r;
  r.version = "0.1.0";
  r.created_at = "2026-11-29T18:09:21.000Z";
  r.files = {{"amd64", sha256(as_bytes("a")), 10},
             {"arm64", sha256(as_bytes("b")), 20}};
  return r;
}

std::string manifest_of(const private_key& key, const std::string& body,
                        purpose p = purpose::release) {
  json::writer out;
  return out.begin_object()
      .field("body", to_base64(as_bytes(body)))
      .field("signingKey", to_base64(key.pub().spki()))
      .field("sig", to_base64(sign(key, p, {as_bytes(body)})))
      .end_object()
      .str();
}

const std::string hex(64, 'a');

std::string file_text(const std::string& arch, const std::string& digest,
                      const std::string& size = "1",
                      const std::string& os = "linux") {
  return R"({"os":")" + os + R"(","arch":")" + arch + R"(","sha256":")" +
         digest + R"(","size":)" + size + "}";
}

std::string body_text(const std::string& files,
                      const std::string& version = "0.1.0",
                      const std::string& product = "bcd") {
  return R"({"product":")" + product + R"(","version":")" + version +
         R"(","createdAt":"2026-11-29T18:09:21.000Z","files":[)" + files + "]}";
}

}  // namespace

TEST_CASE("release: what was signed comes back", "[pki]") {
  auto key = private_key::generate();
  auto manifest = sign_release(key, sample());
  REQUIRE(manifest);
  auto other = private_key::generate().pub().pin();
  auto opened = open_release(manifest.value(), {other, key.pub().pin()});
  REQUIRE(opened);
  CHECK(opened.value().version == "0.1.0");
  CHECK(opened.value().created_at == sample().created_at);
  CHECK(opened.value().files == sample().files);
}

TEST_CASE("release: another key's manifest is not believed", "[pki]") {
  auto key = private_key::generate();
  auto manifest = sign_release(key, sample()).value();
  auto pins =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"sha256/"},
               std::vector{private_key::generate().pub().pin()});
  auto opened = open_release(manifest, pins);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::access_denied);
}

TEST_CASE(
    "release: a changed byte of the body, and a signature for another "
    "purpose, do not verify",
    "[pki]") {
  auto key = private_key::generate();
  const std::vector<std::string> pins{key.pub().pin()};
  auto doc = std::move(json::parse_object(sign_release(key, sample()).value()))
                 .value();
  json::reader from{doc};
  auto body = from.base64("body").value();
  for (std::size_t i = 0; i < body.size(); i += 7) {
    auto changed = body;
    changed[i] ^= 1;
    json::writer out;
    out.begin_object()
        .field("body", to_base64(changed))
        .field("signingKey", from.text("signingKey").value())
        .field("sig", from.text("sig").value())
        .end_object();
    auto opened = open_release(out.str(), pins);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == errc::access_denied);
  }
  auto elsewhere = open_release(
      manifest_of(key, body_text(file_text("amd64", hex)), purpose::command),
      pins);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().code == errc::access_denied);
  CHECK(
      open_release(manifest_of(key, body_text(file_text("amd64", hex))), pins));
}

TEST_CASE("release: a signed body that is not well formed is refused",
          "[pki]") {
  auto key = private_key::generate();
  const auto good = file_text("amd64", hex);
  auto body = GENERATE_COPY(
      as<std::string>{}, "", "[]", "{}", body_text(""),
      body_text(good, "0.1.0", "other"), body_text(good, ""),
      body_text(good, "../x"), body_text(good, "1..2"),
      body_text(good, std::string(65, '1')), body_text(good + "," + good),
      body_text("7"), body_text("{}"), body_text(file_text("riscv64", hex)),
      body_text(file_text("amd64", hex.substr(1))),
      body_text(file_text("amd64", hex.substr(2))),
      body_text(file_text("amd64", hex + "aa")),
      body_text(file_text("amd64", std::string(64, 'g'))),
      body_text(file_text("amd64", hex, "0")),
      body_text(file_text("amd64", hex, "-1")),
      body_text(file_text("amd64", hex, "1.5")),
      body_text(file_text("amd64", hex, "1", "plan9")),
      R"({"product":"bcd","version":"1","createdAt":"x","files":{}})");
  INFO(body);
  auto opened = open_release(manifest_of(key, body), {key.pub().pin()});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::invalid_input);
}

TEST_CASE("release: a manifest of another form is refused", "[pki]") {
  auto key = private_key::generate();
  auto text = GENERATE(as<std::string>{}, "", "{}", "[]",
                       R"({"body":"","signingKey":"","sig":""})",
                       R"({"body":"e30=","sig":"AA=="})",
                       R"({"body":7,"signingKey":"AA==","sig":"AA=="})");
  auto opened = open_release(text, {key.pub().pin()});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::invalid_input);
  auto huge = open_release(std::string(max_release_manifest + 1, ' '), {});
  REQUIRE_FALSE(huge);
  CHECK(huge.error().code == errc::invalid_input);
}

TEST_CASE("release: only a well-formed release is signed", "[pki]") {
  auto key = private_key::generate();
  auto r = sample();
  r.version = "a/b";
  CHECK_FALSE(sign_release(key, r));
  r = sample();
  r.files.clear();
  CHECK_FALSE(sign_release(key, r));
  r = sample();
  r.files[1].arch = "amd64";
  CHECK_FALSE(sign_release(key, r));
}

TEST_CASE("release: versions are parts of paths", "[pki]") {
  for (const auto* good : {"0.1.0", "1", "1.2.3-rc.1+build_7", "a"})
    CHECK(is_release_version(good));
  for (const auto* bad : {"", ".", "..", ".1", "-1", "+1", "1..2", "1/2", "1 2",
                          "1%2f", "1\n", "\xc3\xa9"})
    CHECK_FALSE(is_release_version(bad));
}
