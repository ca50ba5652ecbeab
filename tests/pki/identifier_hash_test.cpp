// Which identifier of a machine changed, told without it (spec: ATTESTATION
// section 5).
#include "pki/identifier_hash.hpp"

#include "base/encoding.hpp"
#include "hardware_support.hpp"
#include "pki/digest.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace bc;
using namespace bc::pki;

namespace {

using kinds = std::vector<std::string>;

const std::string uuid = "7b3e0c52-1f4a-4b8d-9c11-3cecef12aa07";
const std::string mac = "3c:ec:ef:12:34:56";

hardware_claims machine() {
  hardware_claims c;
  c.product_uuid = uuid;
  c.product_serial = "SERIAL01X";
  c.board_serial = "BOARD07Y";
  c.macs = {mac};
  c.gpu_uuids = {"GPU-0a1b2c3d-1111-2222-3333-444455556666"};
  return c;
}

kinds changed(const hardware_claims& now) {
  return changed_kinds(hashes_of(normalise(machine())),
                       hashes_of(normalise(now)));
}

}  // namespace

TEST_CASE("identifiers: one by one, which of them is another") {
  auto now = machine();
  CHECK(changed(now).empty());
  now.product_uuid = "7b3e0c52-1f4a-4b8d-9c11-3cecef12aa08";
  CHECK(changed(now) == kinds{"productUuid"});
  now = machine();
  now.board_serial = "BOARD08Y";
  CHECK(changed(now) == kinds{"serial"});
  now = machine();
  now.macs.push_back("3c:ec:ef:12:34:57");
  CHECK(changed(now) == kinds{"mac"});
  now = machine();
  now.gpu_uuids.clear();
  CHECK(changed(now) == kinds{"gpuUuid"});
  CHECK(changed({}) == kinds{"productUuid", "serial", "mac", "gpuUuid"});
  // The same in other words, or in another place, is the same.
  now = machine();
  now.product_uuid = "7B3E0C52-1F4A-4B8D-9C11-3CECEF12AA07";
  now.macs = {"3C-EC-EF-12-34-56"};
  std::swap(now.product_serial, now.board_serial);
  now.hostname = "renamed";
  CHECK(changed(now).empty());
}

TEST_CASE("identifiers: what is kept of them is their kind and hash") {
  const auto all = hashes_of(normalise(machine()));
  REQUIRE(all.size() == 5);
  CHECK(all[0] ==
        identifier_hash{"productUuid", to_hex(sha256(as_bytes(uuid)))});
  CHECK(all[1].kind == "serial");
  CHECK(all[2].kind == "serial");
  CHECK(all[3] == identifier_hash{"mac", to_hex(sha256(as_bytes(mac)))});
  CHECK(all[4].kind == "gpuUuid");
  CHECK(hashes_of({}).empty());
}
