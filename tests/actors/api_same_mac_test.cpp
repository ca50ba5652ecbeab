// Join requests of machines that a site agent vouched for: what an operator
// sees, and that two wait with one MAC (spec: ATTESTATION section 4; CASES
// 133).
#include "tests/actors/api_world.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::api_test;
using bc::test::csr_of;
using bc::test::defer_now;
using bc::test::id_of;
using bc::test::order_of;

namespace {

struct vouched_world : api_world {
  join_request_id wait(const std::string& machine, const std::string& mac,
                       char csr) {
    auto order = order_of(acme, site, machine, csr_of(csr));
    order.attestor = "discovery";
    order.subject =
        events::join_request::hardware_subject(order.seen.hardware_key);
    order.seen.tpm.reset();
    order.seen.vouch =
        events::join_request::vouched{mac, "10.0.0.17", agent, 7, std::nullopt};
    return id_of(defer_now(streams, order));
  }
  reply list(const std::string& state = "\"pending\"") {
    return call(acme_key, "joinRequests.list",
                {{"tenantId", json_string(acme.str())},
                 {"poolId", json_string(pool.str())},
                 {"state", state}});
  }
  node_id agent = random.id<node_id>();
};

const std::string mac_a = "3c:ec:ef:00:00:01", mac_b = "3c:ec:ef:00:00:02";

}  // namespace

TEST_CASE_METHOD(vouched_world,
                 "api join requests: who vouched, for which MAC and address") {
  wait("rack-1", mac_a, 'a');
  auto got = list();
  INFO(got.text);
  REQUIRE(got.items() == 1);
  CHECK(got.at("/items/0/attestor") == "discovery");
  CHECK(got.at("/items/0/mac") == mac_a);
  CHECK(got.at("/items/0/ip") == "10.0.0.17");
  CHECK(got.at("/items/0/vouchedBy") == agent.str());
  CHECK(got.at("/items/0/bootLeaseEpoch") == "7");
  CHECK(got.at("/items/0/sameMac") == "false");
  CHECK_FALSE(got.has("/items/0/workflowId"));
}

TEST_CASE_METHOD(vouched_world,
                 "api join requests: two that wait with one MAC are both "
                 "flagged, while both wait") {
  auto first = wait("rack-1", mac_a, 'a');
  wait("rack-2", mac_b, 'b');
  auto second = wait("rack-3", mac_a, 'c');
  auto got = list();
  INFO(got.text);
  REQUIRE(got.items() == 3);
  for (int i = 0; i < 3; ++i) {
    const auto row = "/items/" + std::to_string(i);
    CHECK(got.at(row + "/sameMac") ==
          (got.at(row + "/mac") == mac_a ? "true" : "false"));
  }
  auto decided = call(acme_key, "joinRequests.reject",
                      {{"tenantId", json_string(acme.str())},
                       {"poolId", json_string(pool.str())},
                       {"requestId", json_string(first.str())}});
  INFO(decided.text);
  REQUIRE(decided.status == 200);
  got = list();
  REQUIRE(got.items() == 2);
  CHECK(got.at("/items/0/sameMac") == "false");
  CHECK(got.at("/items/1/sameMac") == "false");
  // What is over waits no more, nor does it flag another.
  wait("rack-1", mac_a, 'd');
  time.advance(seconds{86'400});
  got = list("\"all\"");
  for (std::size_t i = 0; i < got.items(); ++i)
    CHECK(got.at("/items/" + std::to_string(i) + "/sameMac") == "false");
  CHECK(second != first);
}

TEST_CASE_METHOD(vouched_world,
                 "api join requests: what no agent vouched for has no MAC to "
                 "share") {
  id_of(defer_now(streams, order_of(acme, site, "tpm-1", csr_of('a'))));
  auto got = list();
  REQUIRE(got.items() == 1);
  CHECK_FALSE(got.has("/items/0/sameMac"));
}
