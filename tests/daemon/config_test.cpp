// spec: joining#run-it-on-the-server (config.toml); CASES 174
#include "daemon/config.hpp"

#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using bc::daemon::load_config;

namespace {

const std::string pin = "sha256/PU+ZT8gvHRc8bTJuBeD4v/01gtCOH62KNDVADlNgBYM=";
const std::string site = "site_01k5w000000000000000000000";

std::string good() {
  return "gateway_url = \"https://gw.eu.example.com\"\n"
         "site = \"" +
         site +
         "\"\n"
         "serving_ca_spki_pin = \"" +
         pin +
         "\"\n"
         "join_signing_key_pin = \"" +
         pin +
         "\"\n"
         "join_encryption_key_pin = \"" +
         pin + "\"\n";
}

std::string replaced(std::string text, const std::string& from,
                     const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

result<daemon::config> load(const std::string& text) {
  temporary_folder folder;
  write_text(folder / "config.toml", text);
  return load_config(folder / "config.toml");
}

void check_refused(const std::string& text, const std::string& names) {
  auto c = load(text);
  INFO(text);
  REQUIRE_FALSE(c);
  CHECK(c.error().code == errc::invalid_config);
  CHECK_THAT(c.error().message, Catch::Contains(names));
}

}  // namespace

TEST_CASE("config: the sample of the install script loads") {
  temporary_folder folder;
  write_text(folder / "config.toml", good());
  auto c = load_config(folder / "config.toml");
  REQUIRE(c);
  CHECK(c.value().gateway_url == "https://gw.eu.example.com");
  CHECK(c.value().site == site);
  CHECK(c.value().data_dir == "/var/lib/bcd");
  CHECK(c.value().join_encryption_jwk == folder / "join-encryption.jwk");
  auto other = load(good() + "data_dir = \"/srv/bcd\"\n");
  REQUIRE(other);
  CHECK(other.value().data_dir == "/srv/bcd");
}

TEST_CASE("config: what is wrong is named") {
  check_refused(good() + "tocken = 1\n", "unknown key tocken");
  check_refused(replaced(good(), "site = \"" + site + "\"\n", ""),
                "site is missing");
  check_refused(replaced(good(), site, "site_UPPER"), "site must be");
  check_refused(replaced(good(), "\"" + site + "\"", "7"), "site must be");
  check_refused(good() + "data_dir = \"relative\"\n", "data_dir");
  check_refused("gateway_url = \"https", "config.toml");
  check_refused("", "is missing");
  auto none = load_config("/nonexistent/config.toml");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Catch::Contains("/nonexistent/config.toml"));
}

TEST_CASE(
    "config: every other form of a pin is refused by its key "
    "(case 174)") {
  for (const char* key : {"serving_ca_spki_pin", "join_signing_key_pin",
                          "join_encryption_key_pin"})
    for (const char* bad :
         {"sha256/PU-ZT8gvHRc8bTJuBeD4v_01gtCOH62KNDVADlNgBYM=",
          "PU+ZT8gvHRc8bTJuBeD4v/01gtCOH62KNDVADlNgBYM=",
          "SHA256/PU+ZT8gvHRc8bTJuBeD4v/01gtCOH62KNDVADlNgBYM=",
          "sha256/PU+ZT8gvHRc8bTJuBeD4v/01gtCOH62KNDVADlNgBYM",
          "3d4f994fc82f1d173c6d326e05e0f8bffd3582d08e1fad8a3435400e53600583",
          ""}) {
      auto text = good();
      auto at = text.find(key) + std::string{key}.size() + 4;
      text.replace(at, pin.size(), bad);
      check_refused(text, key);
    }
}

TEST_CASE("config: gateway addresses") {
  auto to = daemon::parse_gateway_url("https://gw.example.com:8443/");
  REQUIRE(to);
  CHECK(to.value().host == "gw.example.com");
  CHECK(to.value().port == "8443");
  auto six = daemon::parse_gateway_url("https://[::1]:8443");
  REQUIRE(six);
  CHECK(six.value().host == "::1");
  CHECK(daemon::parse_gateway_url("https://gw").value().port == "443");
  for (const char* bad :
       {"http://gw", "gw", "https://", "https:///x", "https://gw/path",
        "https://user@gw", "https://gw:0", "https://gw:65536",
        "https://gw:", "https://gw:80:80", "https://gw?x", "https://[::1",
        "https://[gw]", "HTTPS://gw", "https://g w"}) {
    INFO(bad);
    auto c = daemon::parse_gateway_url(bad);
    REQUIRE_FALSE(c);
    CHECK_THAT(c.error().message, Catch::Contains("gateway_url"));
  }
}
