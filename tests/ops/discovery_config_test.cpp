// [attestors.discovery] of `better-compute serve` (spec: ATTESTATION section
// 4).
#include "ops/serve/config.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fstream>

using namespace bc;
using serve::serve_config;

namespace {

const std::string site = "site_01k5w000000000000000000000";
const std::string pool = "pool_01k5w000000000000000000000";

result<serve_config> config_of(const std::string& lines) {
  temporary_folder folder;
  const auto path = folder / "config.toml";
  std::ofstream{path} << "store = \"sqlite:x\"\n[attestors.discovery]\n"
                      << lines;
  serve_config c;
  auto options = serve::options_of(c);
  BC_TRYV(serve::read_options(options, path, {}));
  BC_TRYV(serve::check(c));
  return c;
}

std::string problem(const std::string& lines) {
  auto c = config_of("enabled = true\n" + lines);
  REQUIRE_FALSE(c);
  CHECK(c.error().code == errc::invalid_config);
  return c.error().message;
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("serve: discovery is off unless it is asked for", "[ops]") {
  auto c = config_of("approval = \"never\"\n");
  REQUIRE(c);
  auto got = serve::attestor_of(c.value().discovery);
  REQUIRE(got);
  CHECK_FALSE(got.value());
}

TEST_CASE("serve: discovery takes what the file says", "[ops]") {
  auto plain = config_of("enabled = true\n");
  REQUIRE(plain);
  auto fresh = serve::attestor_of(plain.value().discovery);
  REQUIRE(fresh);
  REQUIRE(fresh.value());
  CHECK(fresh.value()->approval ==
        actors::discovery_approval::unknown_machines);
  CHECK(fresh.value()->allowed_kinds == actors::ramdisk_kinds());
  CHECK(fresh.value()->boot_lease == seconds{120});

  auto c = config_of("enabled = true\napproval = \"always\"\npools = {\"" +
                     site + "\" = \"" + pool +
                     "\"}\nallowed_kinds = [\"inspect.*\"]\n"
                     "pending_ttl = \"1h\"\npending_places = 5\n"
                     "boot_lease = \"30s\"\n");
  REQUIRE(c);
  auto got = serve::attestor_of(c.value().discovery);
  REQUIRE(got);
  REQUIRE(got.value());
  const auto& d = *got.value();
  CHECK(d.approval == actors::discovery_approval::always);
  REQUIRE(d.pools.size() == 1);
  CHECK(d.pools.begin()->first.str() == site);
  CHECK(d.pools.begin()->second.str() == pool);
  CHECK(d.allowed_kinds == std::vector<std::string>{"inspect.*"});
  CHECK(d.pending_for == seconds{3'600});
  CHECK(d.pending_places == 5);
  CHECK(d.boot_lease == seconds{30});
}

TEST_CASE("serve: what is wrong with discovery is named", "[ops]") {
  CHECK(names(problem("approval = \"sometimes\"\n"),
              "attestors.discovery.approval"));
  CHECK(names(problem("pools = {\"site\" = \"" + pool + "\"}\n"),
              "'site' is no site's id"));
  CHECK(names(problem("pools = {\"" + site + "\" = \"pool\"}\n"),
              "'pool' is no pool's id"));
  CHECK(names(problem("allowed_kinds = [\"*\"]\n"), "'*'"));
  CHECK(names(problem("boot_lease = \"29s\"\n"),
              "attestors.discovery.boot_lease"));
  CHECK(names(problem("boot_lease = \"11m\"\n"),
              "attestors.discovery.boot_lease"));
  CHECK(names(problem("pending_places = 0\n"),
              "attestors.discovery.pending_places"));
  serve::discovery_settings none;
  none.allowed_kinds.clear();
  REQUIRE(serve::problems_of(none).size() == 1);
  CHECK(names(serve::problems_of(none).front(), "allowed_kinds is empty"));
}
