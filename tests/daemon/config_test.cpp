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

TEST_CASE("config: a site agent's table") {
  auto without = load(good()).value().site_agent;
  CHECK(without.listen == "0.0.0.0:9480");
  CHECK(without.leases_file == "/var/lib/misc/dnsmasq.leases");
  auto with = load(good() +
                   "[site_agent]\nlisten = \"[fd00::2]:81\"\n"
                   "leases_file = \"/run/leases\"\n")
                  .value()
                  .site_agent;
  CHECK(with.listen == "[fd00::2]:81");
  CHECK(with.leases_file == "/run/leases");
  const std::pair<const char*, const char*> rows[] = {
      {"listen = \"0.0.0.0\"", "site_agent.listen"},
      {"listen = \"localhost:9480\"", "site_agent.listen"},
      {"listen = \"10.0.0.2:65536\"", "site_agent.listen"},
      {"listen = \"fd00::2:81\"", "site_agent.listen"},
      {"listen = 9480", "site_agent.listen"},
      {"leases_file = \"leases\"", "site_agent.leases_file"},
      {"lease_file = \"/run/leases\"", "unknown key site_agent.lease_file"},
  };
  for (const auto& [line, named] : rows) {
    INFO(line);
    auto read = load(good() + "[site_agent]\n" + line + "\n");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_config);
    CHECK_THAT(read.error().message, Catch::Contains(named));
  }
}

TEST_CASE("config: where a daemon listens") {
  CHECK(daemon::parse_listen_address("127.0.0.1:0").value().port == "0");
  CHECK(daemon::parse_listen_address("[::]:9480").value().host == "::");
  for (const auto* text : {"", ":9480", "127.0.0.1", "127.0.0.1:", "[::1]",
                           "127.0.0.1:00", "1.2.3:80", "a b:1"})
    CHECK_FALSE(daemon::parse_listen_address(text));
}

TEST_CASE("config: [tpm] and [helper]") {
  auto plain = load(good());
  REQUIRE(plain);
  CHECK(plain.value().tpm.enabled == daemon::tpm_settings::use::automatic);
  CHECK(plain.value().tpm.tcti == "device:/dev/tpmrm0");
  CHECK_FALSE(plain.value().helper);
  auto c = load(good() +
                "[tpm]\nenabled = \"true\"\ntcti = \"swtpm:port=2321\"\n"
                "owner_auth_file = \"/etc/bcd/owner\"\n"
                "endorsement_auth_file = \"/etc/bcd/endorsement\"\n"
                "[helper]\nuser = \"node\"\nsocket = \"/run/x.sock\"\n");
  REQUIRE(c);
  CHECK(c.value().tpm.enabled == daemon::tpm_settings::use::always);
  CHECK(c.value().tpm.tcti == "swtpm:port=2321");
  CHECK(c.value().tpm.owner_auth_file == "/etc/bcd/owner");
  CHECK(c.value().tpm.endorsement_auth_file == "/etc/bcd/endorsement");
  REQUIRE(c.value().helper);
  CHECK(c.value().helper->user == "node");
  CHECK(c.value().helper->socket == "/run/x.sock");
  auto bare = load(good() + "[helper]\n[tpm]\nenabled = \"false\"\n");
  REQUIRE(bare);
  CHECK(bare.value().helper->user == "bcd");
  CHECK(bare.value().helper->socket == "/run/bcd/helper.sock");
  CHECK(bare.value().tpm.enabled == daemon::tpm_settings::use::never);
}

TEST_CASE("config: what is wrong in [tpm] and [helper] is named") {
  check_refused("tpm = \"auto\"\n" + good(), "tpm must be a table");
  check_refused(good() + "[tpm]\nenabled = \"yes\"\n", "tpm.enabled");
  check_refused(good() + "[tpm]\nenabled = 1\n", "tpm.enabled");
  check_refused(good() + "[tpm]\ntcti = \"\"\n", "tpm.tcti");
  check_refused(good() + "[tpm]\nowner_auth_file = \"x\"\n",
                "tpm.owner_auth_file must be an absolute path");
  check_refused(good() + "[tpm]\npassword = \"x\"\n",
                "unknown key tpm.password");
  check_refused(good() + "[helper]\nsocket = \"helper.sock\"\n",
                "helper.socket must be an absolute path");
  check_refused(good() + "[helper]\ngroup = \"x\"\n",
                "unknown key helper.group");
}
