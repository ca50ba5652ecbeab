// The install script: what goes into it, and what is refused when it is made.
// spec: joining#generate-the-install-script
#include "ops/cli/install_script.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/jwe.hpp"
#include "pki/release.hpp"
#include "tests/support/cli_shell.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace bc;
using namespace bc::cli;
using bc::testing::shell;

namespace {

const std::string pool = "pool_01k5w3c9t8e4m2v6h0a7n1p5qd";
const std::string site = "site_01k5w3c9t8e4m2v6h0a7n1p5qd";
const std::string digest(64, 'a');

// A key that is the same in every run.
machine_keys sample_keys() {
  auto key = pki::private_key::from_scalar(bytes(32, 7));
  REQUIRE(key);
  const auto& pub = key.value().pub();
  return {pub.pin(), pub.pin(), pub.pin(), pki::to_jwk(pub)};
}

install_values sample() {
  return {pool,
          site,
          "https://gw.eu.example.com",
          "https://compute.example.com",
          "/api/compute",
          "0.1.0",
          {{"amd64", digest}},
          sample_keys()};
}

std::string pins_json(const machine_keys& k) {
  return R"({"servingCaPin":")" + k.serving_ca_pin + R"(","joinSigningPin":")" +
         k.join_signing_pin + R"(","joinEncryptionPin":")" +
         k.join_encryption_pin + R"(","joinEncryptionJwk":)" +
         k.join_encryption_jwk + "}";
}

std::string document_json(const machine_keys& k) {
  return R"({"join":{"encryptionJwk":)" + k.join_encryption_jwk +
         R"(,"encryptionKeyPin":")" + k.join_encryption_pin +
         R"(","signingKeyPin":")" + k.join_signing_pin +
         R"("},"gateway":{"url":"https://gw","servingCaPin":")" +
         k.serving_ca_pin + R"("}})";
}

// The start of an ELF program of 64 bits for a machine.
std::string program_for(char machine) {
  std::string out{
      "\x7f"
      "ELF\x02\x01\x01",
      7};
  out.resize(18, '\0');
  out += machine;
  out += '\0';
  return out + std::string(40, 'x');
}

std::vector<std::string> script_words(const std::string& pins_file) {
  return {"daemon",        "install-script",
          "--pool",        pool,
          "--site",        site,
          "--gateway-url", "https://gw.eu.example.com",
          "--base-url",    "https://compute.example.com",
          "--pins",        pins_file};
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("install script: the script of one pool", "[ops]") {
  auto script = install_script(sample());
  REQUIRE(script);
  const auto& text = script.value();
  auto keys = sample_keys();
  auto from = text.find("  version=");
  CHECK(text.substr(from, text.find("\n\n", from) - from) ==
        "  version='0.1.0'\n"
        "  site='" +
            site +
            "'\n"
            "  gateway_url='https://gw.eu.example.com'\n"
            "  download_url='https://compute.example.com/api/compute/downloads/"
            "bcd/0.1.0'\n"
            "  sha256_amd64='" +
            digest +
            "'\n"
            "  sha256_arm64=''\n"
            "  serving_ca_pin='" +
            keys.serving_ca_pin +
            "'\n"
            "  join_signing_pin='" +
            keys.join_signing_pin +
            "'\n"
            "  join_encryption_pin='" +
            keys.join_encryption_pin +
            "'\n"
            "  join_encryption_jwk='" +
            keys.join_encryption_jwk + "'");
  CHECK(text.starts_with("#!/bin/sh\n# Installs bcd 0.1.0 "));
  CHECK(text.find("\nExecStart=/usr/local/bin/bcd node ") != std::string::npos);
  CHECK(script.value().find("{{") == std::string::npos);
  CHECK(script.value().ends_with("\n{ bcd_install \"$@\"; exit; }\n"));
}

TEST_CASE("install script: a value that could leave its quotes is refused",
          "[ops]") {
  using change = std::function<void(install_values&)>;
  const std::vector<change> changes{
      [](auto& v) { v.pool = "pool_x"; },
      [](auto& v) { v.pool = site; },
      [](auto& v) { v.site = "site_'; rm -rf /; '"; },
      [](auto& v) { v.site = pool; },
      [](auto& v) { v.gateway_url = "http://gw.example.com"; },
      [](auto& v) { v.gateway_url = "https://gw'.example.com"; },
      [](auto& v) { v.gateway_url = "https://gw.example.com/path"; },
      [](auto& v) { v.base_url = "http://compute.example.com"; },
      [](auto& v) { v.base_url = "https://a'b"; },
      [](auto& v) { v.base_url = "https://a$(b)"; },
      [](auto& v) { v.base_url = "https://a\nb"; },
      [](auto& v) { v.base_url = "ftp://a"; },
      [](auto& v) { v.base_url = "https://a/b"; },
      [](auto& v) { v.base_path = "api"; },
      [](auto& v) { v.base_path = "/api/"; },
      [](auto& v) { v.base_path = "/a'b"; },
      [](auto& v) { v.base_path = "/a b"; },
      [](auto& v) { v.version = ""; },
      [](auto& v) { v.version = "../x"; },
      [](auto& v) { v.version = "1'"; },
      [](auto& v) { v.digests.clear(); },
      [](auto& v) { v.digests["amd64"] = digest.substr(1); },
      [](auto& v) { v.digests["arm64"] = std::string(64, 'g'); }};
  for (const auto& make : changes) {
    auto v = sample();
    make(v);
    auto script = install_script(v);
    REQUIRE_FALSE(script);
    CHECK(script.error().code == errc::invalid_input);
  }
}

TEST_CASE("install script: plain HTTP for downloads on loopback alone",
          "[ops]") {
  auto v = sample();
  v.base_url = "http://127.0.0.1:7780/";
  auto script = install_script(v);
  REQUIRE(script);
  CHECK(script.value().find("download_url='http://127.0.0.1:7780/api/compute/"
                            "downloads/bcd/0.1.0'") != std::string::npos);
}

TEST_CASE("install script: digests as they are given (case 164)", "[ops]") {
  auto both = parse_digests("amd64=" + std::string(64, 'A') +
                            ",arm64=" + std::string(64, '1'));
  REQUIRE(both);
  CHECK(both.value() == program_digests{{"amd64", std::string(64, 'a')},
                                        {"arm64", std::string(64, '1')}});
  for (const auto& bad : std::vector<std::string>{
           "", ",", digest, "amd64=", "=" + digest, "amd64=" + digest.substr(1),
           "amd64=" + digest + "a", "amd64=" + std::string(63, 'a') + "g",
           "x86_64=" + digest, "amd64=" + digest + ",",
           "," + ("amd64=" + digest), "amd64=" + digest + ",amd64=" + digest,
           "amd64= " + digest, "AMD64=" + digest}) {
    INFO(bad);
    auto read = parse_digests(bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_input);
  }
}

TEST_CASE("install script: keys of `pki show` and of the document", "[ops]") {
  auto keys = sample_keys();
  for (const auto& text : {pins_json(keys), document_json(keys)}) {
    auto read = parse_machine_keys(text);
    REQUIRE(read);
    CHECK(read.value().serving_ca_pin == keys.serving_ca_pin);
    CHECK(read.value().join_encryption_jwk == keys.join_encryption_jwk);
  }
}

TEST_CASE("install script: keys that do not fit are refused", "[ops]") {
  auto keys = sample_keys();
  auto other = pki::private_key::from_scalar(bytes(32, 8)).value().pub().pin();
  std::vector<std::string> texts{"", "{}", "[]", R"({"join":{}})"};
  for (auto member :
       {&machine_keys::serving_ca_pin, &machine_keys::join_signing_pin,
        &machine_keys::join_encryption_pin}) {
    auto changed = keys;
    changed.*member = "sha256/'";
    texts.push_back(pins_json(changed));
    texts.push_back(document_json(changed));
  }
  // The pin of another key than the one that tokens would be sealed to.
  auto changed = keys;
  changed.join_encryption_pin = other;
  texts.push_back(pins_json(changed));
  changed = keys;
  changed.join_encryption_jwk = R"({"kty":"EC"})";
  texts.push_back(pins_json(changed));
  // A deployment that names no gateway has no pin for it.
  auto document = document_json(keys);
  texts.push_back(document.substr(0, document.find(",\"gateway\"")) + "}");
  for (const auto& text : texts) {
    INFO(text);
    auto read = parse_machine_keys(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_input);
  }
}

TEST_CASE("daemon: a signed release becomes a script", "[ops]") {
  shell s{"http://127.0.0.1:9"};
  write_text(s.folder + "/amd64", program_for('\x3e'));
  write_text(s.folder + "/arm64", program_for('\xb7'));
  write_text(s.folder + "/pins", pins_json(sample_keys()));
  const auto key = s.folder + "/key";
  const auto manifest = s.folder + "/manifest.json";

  auto made =
      s.run_alone({"daemon", "release-key", "--out", key, "--output", "json"});
  REQUIRE(made.exit_code == 0);
  auto doc = std::move(json::parse_object(made.out)).value();
  const std::string pin = doc["releasePin"].GetString();
  CHECK(std::filesystem::status(key).permissions() ==
        static_cast<std::filesystem::perms>(0600));
  CHECK(s.run_alone({"daemon", "release-key", "--out", key}).exit_code == 1);
  CHECK(s.run_alone({"daemon", "release-key", "--key", key}).out.find(pin) !=
        std::string::npos);

  const std::vector<std::string> release{"daemon",
                                         "release",
                                         "--version",
                                         "0.1.0",
                                         "--key",
                                         key,
                                         "amd64=" + s.folder + "/amd64",
                                         "arm64=" + s.folder + "/arm64",
                                         "--out",
                                         manifest};
  auto signed_one = s.run_alone(release);
  INFO(signed_one.err);
  REQUIRE(signed_one.exit_code == 0);
  CHECK(signed_one.out.find(pin) != std::string::npos);
  auto again = s.run_alone(release);
  CHECK(again.exit_code == 1);
  CHECK(again.err.find("ALREADY_EXISTS") != std::string::npos);

  auto words = with(script_words(s.folder + "/pins"),
                    {"--release-manifest", manifest, "--release-pins", pin});
  auto script = s.run_alone(words);
  INFO(script.err);
  REQUIRE(script.exit_code == 0);
  auto opened = pki::open_release(read_text(manifest), {pin});
  REQUIRE(opened);
  for (const auto& f : opened.value().files)
    CHECK(script.out.find("sha256_" + f.arch + "='" + to_hex(f.sha256) + "'") !=
          std::string::npos);
  CHECK(script.out.find("version='0.1.0'") != std::string::npos);

  auto other = pki::private_key::generate().pub().pin();
  words.back() = other;
  auto refused_one = s.run_alone(words);
  CHECK(refused_one.exit_code == 1);
  CHECK(refused_one.out.empty());
  CHECK(refused_one.err.find("ACCESS_DENIED") != std::string::npos);
  words.back() = other + "," + pin;
  CHECK(s.run_alone(words).exit_code == 0);
  CHECK(s.run_alone(with(words, {"--bcd-version", "0.2.0"})).exit_code == 2);
  CHECK(s.run_alone(with(words, {"--bcd-version", "0.1.0"})).exit_code == 0);
}

TEST_CASE("daemon: a release holds programs of its architectures", "[ops]") {
  temporary_folder folder;
  auto file = [&](const std::string& name, const std::string& content) {
    write_text(folder / name, content);
    return (folder / name).string();
  };
  auto amd64 = file("amd64", program_for('\x3e'));
  shell s{"http://127.0.0.1:9"};
  const auto key = s.folder + "/key";
  REQUIRE(s.run_alone({"daemon", "release-key", "--out", key}).exit_code == 0);
  auto code = [&](const std::vector<std::string>& programs) {
    return s
        .run_alone(with({"daemon", "release", "--version", "1", "--key", key},
                        programs))
        .exit_code;
  };
  CHECK(code({"amd64=" + amd64}) == 0);
  CHECK(code({"arm64=" + amd64}) == 2);
  CHECK(code({"amd64=" + file("script", "#!/bin/sh\n")}) == 2);
  CHECK(code({"amd64=" + file("empty", "")}) == 2);
  CHECK(code({"amd64=" + amd64, "amd64=" + amd64}) == 2);
  CHECK(code({"amd64=/nowhere/bcd"}) == 2);
  CHECK(code({"x86_64=" + amd64}) == 2);
  CHECK(code({amd64}) == 2);
  CHECK(code({}) == 2);
}

TEST_CASE("daemon: what a script needs is asked for", "[ops]") {
  shell s{"http://127.0.0.1:9"};
  write_text(s.folder + "/pins", pins_json(sample_keys()));
  const auto words = script_words(s.folder + "/pins");
  auto good = s.run_alone(
      with(words, {"--bcd-version", "0.1.0", "--sha256", "amd64=" + digest}));
  INFO(good.err);
  CHECK(good.exit_code == 0);
  CHECK(good.out == install_script(sample()).value());
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--bcd-version", "0.1.0"},
           {"--sha256", "amd64=" + digest},
           {"--bcd-version", "0.1.0", "--sha256", "amd64=" + digest,
            "--release-manifest", "x", "--release-pins", "y"},
           {"--release-manifest", s.folder + "/pins"},
           {"--release-manifest", s.folder + "/pins", "--release-pins", "x"},
           {"--bcd-version", "0.1.0", "--sha256", "amd64=12"}}) {
    auto done = s.run_alone(with(words, more));
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
  }
  CHECK(s.run_alone(
             with(script_words(s.folder + "/none"),
                  {"--bcd-version", "0.1.0", "--sha256", "amd64=" + digest}))
            .exit_code == 2);
}

TEST_CASE("daemon: without --pins the server's document is taken, and said",
          "[ops]") {
  testing::recorder server{200, document_json(sample_keys())};
  shell s{server.url()};
  auto words = script_words("");
  words.resize(words.size() - 2);
  words = with(words, {"--url", server.url(), "--bcd-version", "0.1.0",
                       "--sha256", "amd64=" + digest});
  auto done = s.run_alone(words);
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK(done.out == install_script(sample()).value());
  CHECK(done.err.find(server.url()) != std::string::npos);
  CHECK(server.last().method == "GET");
  CHECK(server.last().path == "/api/compute/.well-known/better-compute");
  CHECK(server.last().headers.count("authorization") == 0);

  testing::recorder other{200, R"({"name":"better-compute"})"};
  words[11] = other.url();
  REQUIRE(words[10] == "--url");
  auto refused_one = s.run_alone(words);
  CHECK(refused_one.exit_code == 1);
  CHECK(refused_one.out.empty());
}
