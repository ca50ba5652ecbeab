// What an inventory command's outcome says of a node's hardware (ATTESTATION 5,
// 7).
#include "events/admission.hpp"
#include "events/node_inventory.hpp"
#include "pki/hardware_key.hpp"
#include "tests/actors/commands_world.hpp"
#include "tests/actors/disturbed_ledgers.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

std::string key_of(int n) {
  return pki::derive_hardware_key(
             pki::normalise(events::hardware_of(test::make_machine(n).claims)))
      .hex;
}

}  // namespace

TEST_CASE("commands: an inventory fills a hardware key that is missing") {
  commands_world w;
  auto j = w.new_node();
  auto see = [&](const node::joined& who, int machine) {
    auto id = w.enqueue(who, "inventory.collect").at("/id");
    REQUIRE(w.result(who, id, true, inventory(machine)) == 200);
    return w.call(w.acme_key, "nodes.get", w.naming(who));
  };
  auto got = see(j, 1);
  CHECK(got.at("/hardwareKey") == key_of(1));
  CHECK(got.at("/hardwareKeyTrusted") == "true");
  CHECK(got.at("/conditions/0/type") == "");
  auto held = w.store->holder(node::hardware_claim(key_of(1))).value();
  REQUIRE(held);
  CHECK(held->stream == "node:" + j.id.str());
  SECTION("never over a trusted one") {
    got = see(j, 2);
    CHECK(got.at("/hardwareKey") == key_of(1));
    CHECK(got.at("/conditions/0/type") == "HardwareChanged");
    // Which of it, and nothing of what it is.
    CHECK_THAT(got.at("/conditions/0/message"),
               Catch::Contains("than it joined with (productUuid, serial)"));
    // The node's follows the command's in one append.
    auto told = w.store->read_all(w.position() - 1, 1).value().front();
    CHECK_THAT(
        told.data,
        Catch::Contains(R"("changedIdentifiers":["productUuid","serial"])"));
    CHECK_THAT(told.internal, Catch::Contains(R"("kind":"serial","sha256":")"));
    CHECK(told.internal.find("SN-") == std::string::npos);
    // From the stream as from the read model.
    CHECK(w.call(w.acme_key, "nodes.adopt", w.naming(j))
              .at("/conditions/0/message") == got.at("/conditions/0/message"));
    CHECK_FALSE(w.store->holder(node::hardware_claim(key_of(2))).value());
    // Until it is back.
    got = see(j, 1);
    CHECK_FALSE(got.has("/conditions/0"));
  }
  SECTION("nor by what another node holds") {
    auto other = w.new_node();
    got = see(other, 1);
    CHECK_FALSE(got.has("/hardwareKey"));
    CHECK(got.at("/hardwareKeyTrusted") == "false");
    CHECK(got.at("/conditions/0/type") == "HardwareTaken");
    CHECK(w.store->holder(node::hardware_claim(key_of(1))).value()->stream ==
          "node:" + j.id.str());
    // Once that one is over, it is free.
    REQUIRE(w.decide_on(j, node::cordon{w.time.now(), ""}));
    REQUIRE(w.decide_on(j, node::retire{w.time.now(), ""}));
    got = see(other, 1);
    CHECK(got.at("/hardwareKey") == key_of(1));
    CHECK_FALSE(got.has("/conditions/0"));
  }
  SECTION("nor by what another takes at the same moment") {
    auto other = w.new_node(), third = w.new_node();
    auto l = test::interrupt(w);
    auto id = w.enqueue(other, "inventory.collect").at("/id");
    l->meanwhile = [&] {
      w.decide_on(third,
                  node::record_inventory{w.time.now(), key_of(2), true, false});
    };
    REQUIRE(w.result(other, id, true, inventory(2)) == 200);
    CHECK(node::holds_hardware(w.node_state(third.id), key_of(2)));
    auto lost = w.node_state(other.id);
    CHECK_FALSE(lost.node->hardware_key_trusted);
    CHECK(lost.hardware_taken_at);
  }
  SECTION("one that failed says nothing") {
    auto other = w.new_node();
    auto id = w.enqueue(other, "inventory.collect").at("/id");
    REQUIRE(w.result(other, id, false, inventory(3)) == 200);
    CHECK(w.node_state(other.id).node->hardware_key.empty());
  }
}
