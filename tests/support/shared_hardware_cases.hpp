#pragma once

#include "actors/hardware_watch.hpp"
#include "actors/sync_ledger.hpp"
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "events/event_names.hpp"
#include "events/node.hpp"
#include "pki/digest.hpp"
#include "projections/queries.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

// Case 54 on a store with read models of its own. The file that includes this
// one says which: bc::testing::shared_hardware_store.
namespace bc::testing {

namespace {

const std::string usb_nic = "0c:ea:14:00:00:01";
const std::string own_nic = "3c:ec:ef:10:20:30";

std::string sha256_of(const std::string& mac) {
  return to_hex(pki::sha256(as_bytes(mac)));
}

class shared_hardware : public shared_hardware_store {
 public:
  /// A node that names these MACs.
  events::node::joined join(const tenant_id& tenant,
                            std::vector<std::string> macs) {
    auto j = random.node_joined();
    j.tenant = tenant;
    j.reclaim = false;
    j.cert.generation = 1;
    j.at = time.now();
    j.cert.not_after = time.now() + seconds{86'100};
    j.claims.macs = std::move(macs);
    append({on(events::stream_of(j.id), tenant, {events::node::encode(j)})});
    return j;
  }
  void reclaim(events::node::joined j, std::vector<std::string> macs) {
    auto again = random.node_joined();
    again.id = j.id;
    again.tenant = j.tenant;
    again.at = time.now();
    again.cert.not_after = time.now() + seconds{86'100};
    again.claims.macs = std::move(macs);
    REQUIRE(decide_on(j, events::node::join{again}));
  }

  /// What a server does from time to time; how many events came of it.
  std::size_t look() {
    const auto before = told().size();
    auto models = queries();
    auto streams =
        std::make_shared<actors::sync_ledger>(*store, time, models.get());
    int done = 0;
    actors::tell_shared_hardware(streams, [&done] { ++done; });
    REQUIRE(done == 1);
    return told().size() - before;
  }

  std::vector<events::envelope> told() {
    std::vector<events::envelope> out;
    auto all = store->read_all(0, 10'000);
    REQUIRE(all);
    for (auto& e : all.value())
      if (e.type == events::name::node_hardware_shared)
        out.push_back(std::move(e));
    return out;
  }
  events::node::hardware_shared last() {
    auto all = told();
    REQUIRE(!all.empty());
    auto e = events::node::decode(all.back());
    REQUIRE(e);
    return std::get<events::node::hardware_shared>(e.value());
  }
  std::size_t untold() {
    auto rows = queries()->untold_shared_hardware(100);
    REQUIRE(rows);
    return rows.value().size();
  }
};

}  // namespace

TEST_CASE("shared hardware: twenty machines with one USB NIC (case 54)") {
  shared_hardware f;
  const auto tenant = f.add_tenant();
  const auto first = f.join(tenant, {usb_nic, own_nic});
  CHECK(f.look() == 0);
  std::vector<events::node::joined> others;
  for (int i = 1; i < 20; ++i)
    others.push_back(f.join(tenant, {usb_nic}));
  CHECK(f.look() == 19);
  for (const auto& j : others) {
    auto e = f.store->read_stream(events::stream_of(j.id), 1, 10);
    REQUIRE(e);
    REQUIRE(e.value().size() == 1);
    const auto& one = e.value().front();
    CHECK(one.type == "node.hardware-shared");
    CHECK(one.tenant == tenant.str());
    CHECK(one.actor == "system");
    auto read = events::node::decode(one);
    REQUIRE(read);
    const auto& h = std::get<events::node::hardware_shared>(read.value());
    CHECK(h.macs == std::vector{sha256_of(usb_nic)});
    CHECK(h.other == first.id);
    // A MAC itself never leaves.
    CHECK(one.data.find(usb_nic) == std::string::npos);
  }
  CHECK(f.look() == 0);
  CHECK(f.untold() == 0);
}

TEST_CASE("shared hardware: neither tenant learns of the other (case 54)") {
  shared_hardware f;
  const auto acme = f.add_tenant();
  const auto other = f.add_tenant();
  const auto first = f.join(acme, {usb_nic});
  const auto second = f.join(other, {usb_nic});
  CHECK(f.look() == 2);
  for (const auto& e : f.told()) {
    const bool of_first = e.stream == events::stream_of(first.id);
    CHECK(e.tenant == (of_first ? acme : other).str());
    CHECK(e.stream == events::stream_of((of_first ? first : second).id));
    const auto& stranger = of_first ? second : first;
    CHECK(e.data.find(stranger.id.str()) == std::string::npos);
    CHECK(e.data.find(stranger.tenant.str()) == std::string::npos);
    CHECK(e.internal.find(stranger.id.str()) == std::string::npos);
  }
  // The first has been told already, whoever comes now.
  const auto third = f.join(f.add_tenant(), {usb_nic});
  CHECK(f.look() == 1);
  CHECK(f.last().id == third.id);
  CHECK(f.last().other == std::nullopt);
}

TEST_CASE("shared hardware: each MAC of a node is told of once (case 54)") {
  shared_hardware f;
  const auto tenant = f.add_tenant();
  const auto first = f.join(tenant, {usb_nic});
  const auto second = f.join(tenant, {usb_nic});
  CHECK(f.look() == 1);
  // Again, written in another way, and then with one more.
  f.reclaim(second, {"0C-EA-14-00-00-01"});
  CHECK(f.look() == 0);
  f.reclaim(first, {usb_nic, own_nic});
  CHECK(f.look() == 0);
  f.reclaim(second, {usb_nic, own_nic});
  CHECK(f.look() == 1);
  CHECK(f.last().macs == std::vector{sha256_of(own_nic)});
  CHECK(f.untold() == 0);
}

TEST_CASE("shared hardware: a retired node shares nothing (case 54)") {
  shared_hardware f;
  const auto tenant = f.add_tenant();
  const auto first = f.join(tenant, {usb_nic});
  auto retire = [&f](const events::node::joined& j) {
    REQUIRE(f.decide_on(j, events::node::cordon{f.time.now(), ""}));
    REQUIRE(f.decide_on(j, events::node::retire{f.time.now(), ""}));
  };
  SECTION("the machine joins anew") {
    retire(first);
    f.join(tenant, {usb_nic});
    CHECK(f.look() == 0);
  }
  SECTION("the first is gone before it was told") {
    f.join(tenant, {usb_nic});
    retire(first);
    CHECK(f.look() == 0);
    CHECK(f.untold() == 0);
  }
  SECTION("the second is gone before it was told") {
    retire(f.join(tenant, {usb_nic}));
    CHECK(f.look() == 0);
    CHECK(f.untold() == 0);
  }
  SECTION("the second was told, and is taken back after the first is gone") {
    const auto second = f.join(tenant, {usb_nic});
    const auto third = f.join(tenant, {usb_nic});
    CHECK(f.look() == 2);
    retire(first);
    f.reclaim(third, {usb_nic});
    f.reclaim(second, {usb_nic});
    CHECK(f.look() == 0);
    CHECK(f.untold() == 0);
  }
}

TEST_CASE("shared hardware: local and group MACs are no hardware (case 54)") {
  shared_hardware f;
  const auto tenant = f.add_tenant();
  const std::vector<std::string> none = {
      "02:ea:14:00:00:01", "01:00:5e:00:00:01", "00:00:00:00:00:00", "no mac"};
  f.join(tenant, none);
  f.join(tenant, none);
  CHECK(f.look() == 0);
}

TEST_CASE("shared hardware: read models that are behind tell nothing twice") {
  shared_hardware f;
  const auto tenant = f.add_tenant();
  const auto first = f.join(tenant, {usb_nic});
  const auto second = f.join(tenant, {usb_nic});
  // Two processes that see the same rows: the claims of what was told hold.
  auto models = f.queries();
  auto untold = models->untold_shared_hardware(100);
  REQUIRE(untold);
  REQUIRE(untold.value().size() == 1);
  CHECK(untold.value()[0].node == second.id.str());
  CHECK(untold.value()[0].other == first.id.str());
  CHECK(f.look() == 1);
  auto again = events::node::decide(
      f.node_state(second.id),
      events::node::tell_shared{
          {sha256_of(usb_nic)}, first.id, tenant, false, f.time.now()});
  REQUIRE(again);
  events::batch b;
  b.id = f.random.id<batch_id>();
  b.actor = "system";
  b.answers_free = {events::node::told_claim(second.id, sha256_of(usb_nic))};
  b.writes = {f.on(events::stream_of(second.id), tenant,
                   {events::node::encode(again.value().front())})};
  auto outcome = f.store->append({&b, 1});
  REQUIRE(outcome);
  const auto* no = std::get_if<events::rejected>(&outcome.value()[0]);
  REQUIRE(no);
  CHECK(no->why == events::unmet::answer);
}

}  // namespace bc::testing
