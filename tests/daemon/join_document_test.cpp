// spec: joining#the-join-key-and-its-fallback; CASES 84, 174
#include "daemon/join_document.hpp"

#include "base/encoding.hpp"
#include "tests/daemon/fake_gateway.hpp"
#include "tests/daemon/tls_server.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

using namespace bc;
using daemon::parse_join_document;
namespace fs = std::filesystem;

namespace {

struct world {
  temporary_folder folder;
  fake_gateway gateway;
  pki::bundle_pins pins = pki::pins_of(gateway.keys);
  fs::path file = folder / "etc/bcd/config.toml";

  [[nodiscard]] std::string document(
      const std::string& url = "https://gw.example.com") const {
    return R"({"name":"better-compute","version":"0.1.0","later":[1],)"
           R"("basePath":"/api/compute","protocol":{"min":1,"max":1},)"
           R"("join":{"encryptionJwk":)" +
           pki::to_jwk(gateway.keys.join_encryption.pub()) +
           R"(,"encryptionKeyPin":")" + pins.join_encryption +
           R"(","signingCertificate":")" +
           to_base64(gateway.keys.join_signing.certificate) +
           R"(","signingKeyPin":")" + pins.join_signing +
           R"("},"gateway":{"url":")" + url + R"(","servingCaPin":")" +
           pins.serving_ca + R"("}})";
  }
  [[nodiscard]] daemon::given_pins given() const {
    return {pins.serving_ca, pins.join_signing, pins.join_encryption};
  }
};

std::string replaced(std::string text, const std::string& from,
                     const std::string& to) {
  auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

}  // namespace

TEST_CASE("join document: what a machine takes from it") {
  world w;
  auto read = parse_join_document(w.document());
  REQUIRE(read);
  CHECK(read.value().encryption_key == w.gateway.keys.join_encryption.pub());
  CHECK(read.value().signing_pin == w.pins.join_signing);
  CHECK(read.value().gateway_url == "https://gw.example.com");
  CHECK(read.value().serving_ca_pin == w.pins.serving_ca);
}

TEST_CASE("join document: one that is missing something, or contradicts") {
  world w;
  auto other = pki::private_key::generate().pub();
  auto whole = w.document();
  CHECK(parse_join_document(replaced(whole, "\"join\"", "\"joint\""))
            .error()
            .code == errc::invalid_config);
  const std::string bad[] = {
      "",
      "[]",
      "{}x",
      replaced(whole, "encryptionJwk", "encryption"),
      replaced(whole, w.pins.join_encryption, other.pin()),
      replaced(whole, w.pins.join_signing, other.pin()),
      replaced(whole, "signingCertificate\":\"M", "signingCertificate\":\"A"),
      replaced(whole, "\"kty\":\"EC\"", "\"kty\":\"RSA\""),
      replaced(whole, "\"url\":\"https://gw.example.com\"", "\"url\":7")};
  for (const auto& text : bad) {
    INFO(text);
    REQUIRE_FALSE(parse_join_document(text));
    CHECK(parse_join_document(text).error().code == errc::invalid_input);
  }
}

TEST_CASE(
    "join document: the pins decide, whatever the document says "
    "(cases 84, 174)") {
  world w;
  auto document = parse_join_document(w.document()).value();
  auto site = std::string{fake_gateway::site};
  auto made = daemon::make_config(document, w.given(), site, w.file);
  REQUIRE(made);
  CHECK(made.value().join_encryption_jwk ==
        w.folder / "etc/bcd/join-encryption.jwk");

  auto other = pki::private_key::generate().pub().pin();
  const std::pair<std::string daemon::given_pins::*, std::string> rows[] = {
      {&daemon::given_pins::serving_ca, "--serving-ca-pin"},
      {&daemon::given_pins::join_signing, "--join-signing-pin"},
      {&daemon::given_pins::join_encryption, "--join-encryption-pin"}};
  for (const auto& [field, flag] : rows) {
    auto pins = w.given();
    pins.*field = other;
    auto refused = daemon::make_config(document, pins, site, w.file);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::access_denied);
    CHECK_THAT(refused.error().message, Catch::Contains(flag));
  }
  CHECK(daemon::make_config(document, std::nullopt, site, w.file));

  document.gateway_url.clear();
  CHECK(daemon::make_config(document, w.given(), site, w.file).error().code ==
        errc::invalid_config);
  document.gateway_url = "https://gw.example.com\"\ndata_dir = \"/etc";
  CHECK_FALSE(daemon::make_config(document, w.given(), site, w.file));
}

TEST_CASE("join document: what is written loads again") {
  world w;
  auto document = parse_join_document(w.document()).value();
  auto c = daemon::make_config(document, w.given(),
                               std::string{fake_gateway::site}, w.file)
               .value();
  c.data_dir = GENERATE("/var/lib/bcd", "/srv/a \"b\" \\c\n\x01/d");
  auto before = ::umask(0077);
  REQUIRE(daemon::prepare_config_folder(w.file));
  REQUIRE(daemon::write_config(c, document, w.file));
  ::umask(before);
  auto read = daemon::load_config(w.file);
  INFO(read_text(w.file));
  REQUIRE(read);
  CHECK(read.value().gateway_url == c.gateway_url);
  CHECK(read.value().site == c.site);
  CHECK(read.value().serving_ca_spki_pin == c.serving_ca_spki_pin);
  CHECK(read.value().join_signing_key_pin == c.join_signing_key_pin);
  CHECK(read.value().join_encryption_key_pin == c.join_encryption_key_pin);
  CHECK(read.value().data_dir == c.data_dir);
  auto key = pki::from_jwk(read_text(read.value().join_encryption_jwk));
  REQUIRE(key);
  CHECK(key.value().pin() == c.join_encryption_key_pin);
  struct stat about {};
  REQUIRE(::stat(w.file.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  REQUIRE(::stat(c.join_encryption_jwk.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0644);
}

TEST_CASE("join document: fetched over TLS that a root vouches for") {
  world w;
  auto ca = w.folder / "ca.pem";
  write_text(ca, pki::certificate_pem(w.gateway.keys.serving_ca.certificate));
  // Valid by the machine's clock, which counts here.
  auto server =
      pki::issue_server_certificate(w.gateway.keys.serving_ca, {"localhost"},
                                    system_clock{}.now())
          .value();
  const bytes& ca_der = w.gateway.keys.serving_ca.certificate;
  SECTION("from the path of the server") {
    tls_server s{server, ca_der, answer(200, w.document())};
    auto got = daemon::fetch_join_document({s.url("localhost") + "/x/", ca});
    s.finish();
    INFO((got ? "" : got.error().message));
    REQUIRE(got);
    CHECK_THAT(s.request,
               Catch::StartsWith("GET /x/.well-known/better-compute HTTP/1.1"));
  }
  SECTION("no root vouches for it") {
    tls_server s{server, ca_der, answer(200, w.document())};
    auto got = daemon::fetch_join_document({s.url("localhost"), {}});
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::access_denied);
    CHECK_FALSE(s.handshake_done);
  }
  SECTION("another name") {
    tls_server s{server, ca_der, answer(200, w.document())};
    CHECK(daemon::fetch_join_document({s.url("127.0.0.1"), ca}).error().code ==
          errc::access_denied);
  }
  SECTION("an answer that is no document") {
    tls_server s{server, ca_der, answer(200, "<html>")};
    CHECK(daemon::fetch_join_document({s.url("localhost"), ca}).error().code ==
          errc::unavailable);
  }
  SECTION("an error") {
    tls_server s{server, ca_der, answer(503, "{}")};
    auto got = daemon::fetch_join_document({s.url("localhost"), ca});
    CHECK(got.error().code == errc::unavailable);
    CHECK_THAT(got.error().message, Catch::Contains("HTTP 503"));
  }
}

TEST_CASE(
    "join document: plain HTTP is for the build for trials, on loopback") {
  for (const auto* url : {"http://127.0.0.1:1", "http://compute.example.com",
                          "ftp://127.0.0.1", "127.0.0.1"}) {
    auto got = daemon::fetch_join_document({url, {}});
    REQUIRE_FALSE(got);
    CHECK(got.error().code == errc::access_denied);
  }
  // Nobody listens there, but it is tried.
  CHECK(daemon::fetch_join_document({"http://127.0.0.1:1", {}, true})
            .error()
            .code == errc::unavailable);
  CHECK(daemon::fetch_join_document({"http://compute.example.com", {}, true})
            .error()
            .code == errc::access_denied);
}

TEST_CASE("join: the key is fetched only where its file is missing (case 84)") {
  world w;
  fake_machine machine;
  auto config = w.gateway.config(w.folder);
  auto options = w.gateway.options();
  int fetched = 0;
  auto key = w.gateway.keys.join_encryption.pub();
  options.fetch_key = [&]() -> result<pki::public_key> {
    ++fetched;
    return key;
  };
  auto join = [&] {
    return daemon::run_join(config, machine, secret_bytes{fake_gateway::token},
                            options);
  };
  SECTION("the file is there") {
    CHECK(join().exit_code == daemon::join_exit::joined);
    CHECK(fetched == 0);
  }
  SECTION("the file is there and is another key's") {
    write_text(config.join_encryption_jwk,
               pki::to_jwk(pki::private_key::generate().pub()));
    CHECK(join().exit_code == daemon::join_exit::untrusted);
    CHECK(fetched == 0);
  }
  SECTION("it is missing") {
    fs::remove(config.join_encryption_jwk);
    CHECK(join().exit_code == daemon::join_exit::joined);
    CHECK(fetched == 1);
    // Joined already: nothing to fetch.
    CHECK(join().already_joined);
    CHECK(fetched == 1);
  }
  SECTION("it is missing, and the document's key is another") {
    fs::remove(config.join_encryption_jwk);
    key = pki::private_key::generate().pub();
    CHECK(join().exit_code == daemon::join_exit::untrusted);
    CHECK(w.gateway.requests.empty());
  }
  SECTION("it is missing, and nobody answers") {
    fs::remove(config.join_encryption_jwk);
    const std::pair<errc, daemon::join_exit> rows[] = {
        {errc::unavailable, daemon::join_exit::unreachable},
        {errc::access_denied, daemon::join_exit::untrusted},
        {errc::invalid_config, daemon::join_exit::server_config}};
    for (const auto& [code, exit] : rows) {
      options.fetch_key = [code = code]() -> result<pki::public_key> {
        return fail(code, "no");
      };
      CHECK(join().exit_code == exit);
    }
    CHECK(w.gateway.requests.empty());
  }
}
