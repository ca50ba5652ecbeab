// spec: DESIGN section 11 (one TOML file, environment and flags over it; an
// unknown key is an error naming it).
#include "ops/serve/config.hpp"
#include "pki/certificate.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace bc;
using serve::gateway_config;
using serve::given;
using serve::serve_config;

namespace {

const std::string samples = std::string{BC_SOURCE_DIR} + "/ops/sample/";

class toml_file {
 public:
  explicit toml_file(const std::string& text) { std::ofstream{path_} << text; }
  const std::string& path() const { return path_; }

 private:
  temporary_folder folder_;
  std::string path_ = folder_ / "config.toml";
};

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

template <class Config>
result<void> read(Config& c, const std::string& file,
                  std::vector<given> over = {}) {
  auto options = serve::options_of(c);
  return serve::read_options(options, file, over);
}

template <class Config>
std::string problem(const std::string& toml, std::vector<given> over = {}) {
  toml_file file{toml};
  Config c;
  auto done = read(c, file.path(), std::move(over));
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::invalid_config);
  return done.error().message;
}

// A key of a sample in a section, also one that is commented out.
bool explains(const std::string& sample, const std::string& key) {
  auto dot = key.rfind('.');
  auto section = dot == std::string::npos ? "" : key.substr(0, dot);
  auto name = dot == std::string::npos ? key : key.substr(dot + 1);
  if (sample.find("\n[" + key + "]\n") != std::string::npos)
    return true;
  std::stringstream lines{sample};
  std::string at;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('['))
      at = line.substr(1, line.find(']') - 1);
    if (at == section && (line.starts_with(name + " = ") ||
                          line.starts_with("# " + name + " = ")))
      return true;
  }
  return false;
}

template <class Config>
void check_sample(const std::string& name) {
  auto path = samples + name;
  Config c;
  auto done = read(c, path);
  INFO((done ? "" : done.error().message));
  REQUIRE(done);
  auto checked = serve::check(c);
  INFO((checked ? "" : checked.error().message));
  CHECK(checked);
  auto sample = text_of(path);
  for (const auto& o : serve::options_of(c)) {
    INFO(name << " does not explain " << o.key);
    CHECK(explains(sample, o.key));
  }
}

// The sample with what is commented out switched on must parse too.
template <class Config>
void check_uncommented(const std::string& name) {
  std::stringstream lines{text_of(samples + name)};
  std::string toml;
  for (std::string line; std::getline(lines, line);) {
    auto equals = line.find(" = ");
    bool setting = line.starts_with("# ") && equals != std::string::npos &&
                   line.find(' ', 2) == equals;
    // The other store is a second value of one key.
    if (setting && !line.starts_with("# store"))
      line = line.substr(2);
    toml += line + "\n";
  }
  toml_file file{toml};
  Config c;
  auto done = read(c, file.path());
  INFO((done ? "" : done.error().message));
  CHECK(done);
}

}  // namespace

TEST_CASE("serve: the samples parse and explain every setting", "[ops]") {
  check_sample<serve_config>("better-compute.toml");
  check_sample<gateway_config>("gateway.toml");
  check_uncommented<serve_config>("better-compute.toml");
  check_uncommented<gateway_config>("gateway.toml");
}

TEST_CASE("serve: the samples show the defaults", "[ops]") {
  serve_config sample;
  REQUIRE(read(sample, samples + "better-compute.toml"));
  serve_config fresh;
  CHECK(sample.workers == fresh.workers);
  CHECK(sample.api.port == fresh.api.port);
  CHECK(sample.relay.port == fresh.relay.port);
  CHECK(sample.certificate_lifetime == fresh.certificate_lifetime);
  CHECK(sample.kafka_prefix == fresh.kafka_prefix);
  CHECK(sample.kafka_partitions == fresh.kafka_partitions);
  CHECK(sample.kafka_transactional_id == fresh.kafka_transactional_id);
  gateway_config gateway_sample;
  REQUIRE(read(gateway_sample, samples + "gateway.toml"));
  gateway_config gateway_fresh;
  CHECK(gateway_sample.listen.port == gateway_fresh.listen.port);
  CHECK(gateway_sample.connections == gateway_fresh.connections);
  CHECK(gateway_sample.request_burst == gateway_fresh.request_burst);
}

TEST_CASE("serve: the TPM attestor's section", "[ops]") {
  CHECK_FALSE(serve_config{}.tpm.enabled);
  const std::string ek(64, 'a'), pool = "pool_01k5w000000000000000000000",
                                 site = "site_01k5w000000000000000000000";
  const auto section = [](const std::string& lines) {
    return "store = \"sqlite:x\"\n[attestors.tpm]\nenabled = true\n" + lines;
  };
  serve_config c;
  toml_file file{section("allow = {\"" + ek + "\" = \"" + pool +
                         "\"}\ndeny = [\"" + std::string(64, 'b') +
                         "\"]\nenrollment = true\n"
                         "pending_ttl = \"2h\"\npending_places = 7\n"
                         "max_lifetime = \"1h\"\n"
                         "require_certified_key = false\n")};
  REQUIRE(read(c, file.path()));
  REQUIRE(serve::check(c));
  auto got = serve::attestor_of(c.tpm);
  REQUIRE(got);
  REQUIRE(got.value());
  const auto& tpm = *got.value();
  REQUIRE(tpm.allowed.size() == 1);
  CHECK(tpm.allowed.at(ek).str() == pool);
  CHECK(tpm.judge.denied == std::vector{std::string(64, 'b')});
  CHECK(tpm.judge.ek_roots.empty());
  CHECK_FALSE(tpm.judge.require_certified_key);
  REQUIRE(tpm.enrollment);
  CHECK(tpm.enrollment->pending_for == seconds{7200});
  CHECK(tpm.enrollment->pending_places == 7);
  CHECK(tpm.max_lifetime == seconds{3600});
  c.tpm.enabled = false;
  CHECK_FALSE(serve::attestor_of(c.tpm).value());

  const std::pair<std::string, std::string> wrong[] = {
      {"allow = {\"AA\" = \"" + pool + "\"}\n", "allow: 'AA'"},
      {"allow = {\"" + std::string(64, 'A') + "\" = \"" + pool + "\"}\n",
       "is not the 64 lower-case digits"},
      {"allow = {\"" + ek + "\" = \"here\"}\n", "'here' is no pool's id"},
      {"deny = [\"maker\"]\n", "neither an EK's hash nor an issuer's name"},
      {"deny = [\"/C=DE/CN=Maker\"]\n", "nor an issuer's name"},
      {"deny = [\"CN = Maker, O = Example\"]\n", "nor an issuer's name"},
      {"deny = [\"issuer=issuer=CN=Maker\"]\n", "nor an issuer's name"},
      {"deny = [\"CN=Maker\"]\n",
       "'CN=Maker' is an issuer, which keeps nobody out"},
      {"ek_roots = [\"x\"]\nadmit_verified = {\"here\" = \"" + pool + "\"}\n",
       "'here' is no site's id"},
      {"admit_verified = {\"" + site + "\" = \"" + pool + "\"}\n",
       "ek_roots is missing"},
      {"require_ek_cert = true\n", "ek_roots is missing"}};
  for (const auto& [lines, told] : wrong) {
    INFO(lines);
    serve_config bad;
    toml_file text{section(lines)};
    REQUIRE(read(bad, text.path()));
    auto checked = serve::check(bad);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find(told) != std::string::npos);
  }
  CHECK(problem<serve_config>("[attestors.tpm]\nenrolment = true\n")
            .find("unknown key attestors.tpm.enrolment") != std::string::npos);
}

TEST_CASE("serve: the roots of EKs are read, and nothing else is", "[ops]") {
  const auto ca = pki::make_ca("ek-root", bc::from_millis(1'790'000'000'000));
  REQUIRE(ca);
  const auto pem = pki::certificate_pem(ca.value().certificate);
  toml_file good{pem + pem}, bad{"-----BEGIN CERTIFICATE-----\nAAAA\n"};
  serve::tpm_settings s;
  s.enabled = true;
  s.ek_roots = {good.path()};
  s.ek_intermediates = {good.path()};
  auto got = serve::attestor_of(s);
  REQUIRE(got);
  CHECK(got.value()->judge.ek_roots ==
        std::vector<bytes>(2, ca.value().certificate));
  CHECK(got.value()->judge.ek_intermediates.size() == 2);
  for (const auto& file : {bad.path(), good.path() + ".gone"}) {
    s.ek_roots = {file};
    auto refused = serve::attestor_of(s);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find(file) != std::string::npos);
  }
}

TEST_CASE("serve: an EK's issuer is denied as its certificates name it",
          "[ops]") {
  serve::tpm_settings s;
  s.enabled = true;
  s.ek_roots = {"x"};
  s.deny = {"CN=Maker,O=Example", "issuer=CN=Other\\, Ltd"};
  CHECK(serve::problems_of(s).size() == 2);
  // Who need not send the certificate is not known by it.
  s.require_ek_cert = true;
  CHECK(serve::problems_of(s).empty());
  s.ek_roots.clear();
  CHECK(serve::attestor_of(s).value()->judge.denied ==
        std::vector<std::string>{"CN=Maker,O=Example", "CN=Other\\, Ltd"});
}

TEST_CASE("serve: an attestor is on where it is said, and in the sample",
          "[ops]") {
  CHECK_FALSE(serve_config{}.x509pop);
  serve_config sample;
  REQUIRE(read(sample, samples + "better-compute.toml"));
  CHECK(sample.x509pop);
  REQUIRE(read(sample, samples + "better-compute.toml",
               {{"attestors.x509pop", "false", "--attestors-x509pop"}}));
  CHECK_FALSE(sample.x509pop);
  CHECK(problem<serve_config>("[attestors]\nx509pop = \"yes\"\n")
            .find(":2: attestors.x509pop must be true or false") !=
        std::string::npos);
  CHECK(problem<serve_config>(
            "", {{"attestors.x509pop", "1", "--attestors-x509pop"}})
            .find("--attestors-x509pop must be true or false") !=
        std::string::npos);
  CHECK(problem<serve_config>("[attestors]\nx509pop2 = true\n")
            .find("unknown key attestors.x509pop2") != std::string::npos);
}

TEST_CASE("serve: every problem of a file is told, with its line", "[ops]") {
  auto text = problem<serve_config>(
      "stor = \"sqlite:x\"\n"
      "workers = \"two\"\n"
      "[api]\n"
      "port = 99999\n"
      "prot = 1\n"
      "[relay]\n"
      "names = [1]\n"
      "[unknown]\n"
      "key = 1\n");
  CHECK(text.find(":1: unknown key stor") != std::string::npos);
  CHECK(text.find(":2: workers must be a whole number") != std::string::npos);
  CHECK(text.find(":4: api.port must be from 0 to 65535") != std::string::npos);
  CHECK(text.find(":5: unknown key api.prot") != std::string::npos);
  CHECK(text.find(":7: relay.names must be a list of texts") !=
        std::string::npos);
  CHECK(text.find(":8: unknown key unknown") != std::string::npos);
}

TEST_CASE("serve: what is no file is no empty file", "[ops]") {
  for (const char* path : {"/tmp", "/dev/zero", "/nonexistent/file"}) {
    CAPTURE(path);
    serve_config c;
    auto done = read(c, path);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == errc::invalid_config);
    CHECK(done.error().message.find(path) != std::string::npos);
  }
}

TEST_CASE("serve: values of another type or form are refused", "[ops]") {
  const char* wrong[] = {
      "store = 1",
      "store = \"\"",
      "workers = 1.5",
      "workers = true",
      "workers = 0",
      "certificate_lifetime = 3600",
      "certificate_lifetime = \"1d\"",
      "certificate_lifetime = \"1m\"",
      "certificate_lifetime = \"25h\"",
      "log_level = \"loud\"",
      "api = 7",
      "[relay]\nnames = []",
      "[relay]\nnames = [\"\"]",
      "[kafka]\nproperties = 1",
      "[kafka.properties]\na = [1]",
      "[kafka]\nlayout = \"both\"",
      "store = \"unfinished",
      "store = \"a\"\nstore = \"b\"",
  };
  for (const char* text : wrong) {
    CAPTURE(text);
    problem<serve_config>(text);
  }
}

TEST_CASE("serve: flags stand over the environment, that over the file",
          "[ops]") {
  toml_file file{"store = \"sqlite:file\"\nworkers = 3\n[api]\nport = 1\n"};
  ::setenv("BETTER_COMPUTE_STORE", "sqlite:environment", 1);
  ::setenv("BETTER_COMPUTE_API_PORT", "2", 1);
  serve_config c;
  auto options = serve::options_of(c);
  auto over = serve::from_environment(options);
  ::unsetenv("BETTER_COMPUTE_STORE");
  ::unsetenv("BETTER_COMPUTE_API_PORT");
  over.push_back({"api.port", "3", "--api-port"});
  over.push_back({"relay.names", "a.example,b.example", "--relay-names"});
  REQUIRE(serve::read_options(options, file.path(), over));
  CHECK(c.workers == 3);
  CHECK(c.store == "sqlite:environment");
  CHECK(c.api.port == 3);
  CHECK(c.relay_names == std::vector<std::string>{"a.example", "b.example"});
}

TEST_CASE("serve: a wrong value of the environment is named by its variable",
          "[ops]") {
  auto text =
      problem<serve_config>("", {{"api.port", "x", "BETTER_COMPUTE_API_PORT"},
                                 {"workers", "", "--workers"},
                                 {"relay.names", "a,,b", "--relay-names"}});
  CHECK(text.find("BETTER_COMPUTE_API_PORT must be a whole number") !=
        std::string::npos);
  CHECK(text.find("--workers must be a whole number") != std::string::npos);
  CHECK(text.find("--relay-names must hold") != std::string::npos);
}

TEST_CASE("serve: dotted properties of Kafka need no quotes", "[ops]") {
  toml_file file{
      "[kafka.properties]\n"
      "security.protocol = \"SSL\"\n"
      "\"linger.ms\" = 5\n"
      "ssl.endpoint.identification = true\n"};
  serve_config c;
  REQUIRE(read(c, file.path()));
  CHECK(c.kafka_properties.at("security.protocol") == "SSL");
  CHECK(c.kafka_properties.at("linger.ms") == "5");
  CHECK(c.kafka_properties.at("ssl.endpoint.identification") == "true");
}

TEST_CASE("serve: settings that do not go together are refused", "[ops]") {
  auto refused = [](auto change) {
    serve_config c;
    c.store = "sqlite:x";
    REQUIRE(serve::check(c));
    change(c);
    auto done = serve::check(c);
    REQUIRE_FALSE(done);
    return done.error().message;
  };
  CHECK(refused([](auto& c) { c.store.clear(); }).find("store is missing") ==
        0);
  // A credential never crosses a network in plain text.
  CHECK(refused([](auto& c) {
          c.api.address = "0.0.0.0";
        }).find("api.address 0.0.0.0 is not loopback") == 0);
  CHECK(refused([](auto& c) { c.api_tls.key = "key"; }).find("go together") !=
        std::string::npos);
  refused([](auto& c) { c.gateway_url = "http://join.example.com"; });
  refused([](auto& c) { c.gateway_server_name = "join.example.com"; });
  CHECK(refused([](auto& c) {
          c.hardware_placeholder_uuids = {
              "30343536-3138-5a43-3231-313130325a47", "3034-3536"};
        }) == "hardware.placeholder_uuids: '3034-3536' is no UUID");
  refused([](auto& c) { c.kafka_properties["linger.ms"] = "5"; });
  refused([](auto& c) {
    c.kafka_brokers = "a:1";
    c.kafka_properties["bootstrap.servers"] = "b:1";
  });
  // With TLS any address goes.
  serve_config c;
  c.store = "sqlite:x";
  c.api.address = "0.0.0.0";
  c.api_tls = {"crt", "key"};
  CHECK(serve::check(c));
}

TEST_CASE("gateway: what is missing is told at once, and how to give it",
          "[ops]") {
  gateway_config c;
  auto done = serve::check(c);
  REQUIRE_FALSE(done);
  for (const char* key :
       {"listen.certificate_file", "listen.key_file", "node_ca_file",
        "internal.certificate_file", "internal.key_file", "internal.ca_file",
        "api.addresses"}) {
    CAPTURE(key);
    CHECK(done.error().message.find(std::string{key} + " is missing") !=
          std::string::npos);
    CHECK(done.error().message.find(serve::flag_of(key)) != std::string::npos);
  }
  c.api_addresses = {"api-1", "https://api-1:1", "[::1]", "a/b:1", "a:0"};
  done = serve::check(c);
  for (const auto& a : c.api_addresses)
    CHECK(done.error().message.find("'" + a + "' is not HOST:PORT") !=
          std::string::npos);
}
