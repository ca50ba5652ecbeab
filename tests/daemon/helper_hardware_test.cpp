// spec: joining#troubleshooting ([helper]); ATTESTATION section 5. The hardware
// identifiers of a machine, by its helper.
#include "daemon/hardware.hpp"
#include "daemon/helper_client.hpp"
#include "daemon/helper_frames.hpp"
#include "tests/daemon/running_helper.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
namespace fs = std::filesystem;

TEST_CASE("helper: it reads the hardware for a node that is not root") {
  int reads = 0;
  running_helper h{::geteuid(), [&reads]() -> result<pki::hardware_claims> {
                     ++reads;
                     auto out = some_claims();
                     out.hostname = "rack-" + std::to_string(reads);
                     return out;
                   }};
  auto source = helper_hardware(h.socket);
  auto expected = some_claims();
  for (const auto* host : {"rack-1", "rack-2"}) {
    expected.hostname = host;
    auto got = source->read();
    REQUIRE(got);
    CHECK(got.value() == expected);
  }
  CHECK(h.tpm->calls.empty());
}

TEST_CASE("helper: all of the hardware identifiers or none") {
  struct row {
    const char* name;
    result<pki::hardware_claims> read;
    errc code;
    const char* says;
  };
  auto too_long = some_claims();
  auto too_many = some_claims();
  auto too_much = some_claims();
  too_long.board_serial = std::string(257, 'x');
  too_many.macs.resize(65, "3c:ec:ef:21:43:65");
  too_much.gpu_uuids.resize(64, std::string(200, 'g'));
  const auto r = GENERATE_COPY(values<row>(
      {{"one cannot be read", fail(errc::invalid_state, "cannot read X"),
        errc::invalid_state, "cannot read X"},
       {"too long", too_long, errc::invalid_state, "longer than"},
       {"too many", too_many, errc::invalid_state, "longer than"},
       {"too much", too_much, errc::invalid_state, "longer than"}}));
  INFO(r.name);
  running_helper h{::geteuid(), [&r] { return r.read; }};
  auto got = helper_hardware(h.socket)->read();
  REQUIRE_FALSE(got);
  CHECK(got.error().code == r.code);
  CHECK_THAT(got.error().message, Catch::Contains(r.says));
  // What holds the TPM goes on.
  CHECK(helper_keeper(h.socket)->ak_public());
}

TEST_CASE("helper: as much hardware as a join's message holds fits a frame") {
  auto claims = some_claims();
  claims.macs.resize(64, "3c:ec:ef:21:43:65");
  claims.gpu_uuids.resize(64, "gpu-" + std::string(36, 'a'));
  for (auto* text : {&claims.product_serial, &claims.board_serial,
                     &claims.chassis_serial, &claims.hostname})
    *text = std::string(256, 'x');
  running_helper h{::geteuid(),
                   [&]() -> result<pki::hardware_claims> { return claims; }};
  auto got = helper_hardware(h.socket)->read();
  REQUIRE(got);
  CHECK(got.value() == claims);
}

TEST_CASE("helper: an older one reads no hardware, and that is said") {
  running_helper h;
  auto got = helper_hardware(h.socket)->read();
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::unavailable);
  CHECK_THAT(got.error().message, Catch::Contains("restart bcd-helper"));
  CHECK_FALSE(decode_hardware(as_bytes("[]")));
  CHECK_FALSE(decode_hardware(as_bytes("{\"macs\":7}")));
  CHECK(decode_hardware(as_bytes("{}")).value() == pki::hardware_claims{});
}

TEST_CASE("helper: what only root can read, for its user alone") {
  if (::geteuid() != 0)
    return;  // needs to become another user
  temporary_folder dmi;
  write_text(dmi / "product_serial", "SN-8810\n");
  fs::permissions(dmi / "product_serial", fs::perms{0400});
  fs::permissions(dmi.path(), fs::perms{0755});
  auto read = [&] { return read_dmi(dmi.path()); };
  running_helper h{12'345, read};
  fs::permissions(h.folder.path(), fs::perms{0755});
  auto knows = [&](uid_t user, bool by_helper) {
    const auto child = ::fork();
    if (child == 0) {
      if (::setresuid(user, user, user) != 0)
        ::_exit(9);
      auto got = by_helper ? helper_hardware(h.socket)->read() : read();
      ::_exit(got && got.value().product_serial == "SN-8810" ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 0;
  };
  CHECK(knows(0, false));
  CHECK_FALSE(knows(12'345, false));
  CHECK(knows(12'345, true));
  CHECK_FALSE(knows(12'346, true));
}
