// Whose join request it was, when a machine became a node by another way: what
// a machine only claims ends nothing of another tenant's.
#include "events/same_machine.hpp"

#include "stream_samples.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::events;
using bc::testing::fixed_id;
using pki::certificate_role;

namespace {

constexpr auto mac = "3c:ec:ef:12:34:56";

// Of the site's owner, claimed by nobody; and a node of its.
struct pair_of {
  join_request::state request;
  tenant_id waits_for = fixed_id<tenant_id>(1);
  node::joined node;

  pair_of() {
    join_request::opened o;
    o.tenant = fixed_id<tenant_id>(1);
    o.site = fixed_id<site_id>(1);
    o.seen.hardware_key = std::string(64, '1');
    request.request = o;
    node.tenant = o.tenant;
    node.site = o.site;
    node.pool = fixed_id<pool_id>(1);
    node.hardware_key = std::string(64, '2');
  }
  join_request::sighting& seen() { return request.request->seen; }
  [[nodiscard]] bool same() const {
    return is_same_machine(request, waits_for, node);
  }

  void has_tpm() {
    seen().tpm = {std::string(64, 'e'), join_request::ek_certificate::absent,
                  "", ""};
    node.ek_hash = std::string(64, 'e');
  }
  void has_key() {
    seen().trusted = node.hardware_key_trusted = true;
    node.hardware_key = seen().hardware_key;
  }
  void has_mac() {
    seen().vouch = join_request::vouched{mac, "10.0.0.1", fixed_id<node_id>(7),
                                         1, std::nullopt};
    node.claims.macs = {"9c:6b:00:11:22:33", "3C-EC-EF-12-34-56"};
  }
  void is_foreign() {
    node.tenant = fixed_id<tenant_id>(2);
    node.pool = fixed_id<pool_id>(2);
  }
};

}  // namespace

TEST_CASE(
    "same machine: by its TPM whoever's it is, by hardware its tenant's") {
  for (auto known : {&pair_of::has_tpm, &pair_of::has_key}) {
    pair_of p;
    CHECK_FALSE(p.same());
    (p.*known)();
    CHECK(p.same());
    p.request.stored = join_request::status::approved;
    CHECK(p.same());
    // Of another pool of its tenant.
    p.request.request->pool = fixed_id<pool_id>(3);
    CHECK(p.same());
    p.is_foreign();
    CHECK(p.same() == p.request.request->seen.tpm.has_value());
    // A pool of that tenant has claimed it: the site's owner waits no more.
    p.waits_for = p.node.tenant;
    CHECK(p.same());
    p.node.tenant = fixed_id<tenant_id>(1);
    CHECK(p.same() == p.request.request->seen.tpm.has_value());
    p.is_foreign();
    p.node.site = fixed_id<site_id>(2);
    CHECK_FALSE(p.same());
  }
  pair_of p;
  p.has_key();
  SECTION("the node's is not trusted") {
    p.node.hardware_key_trusted = false;
  }
  SECTION("its own is not") {
    p.seen().trusted = false;
  }
  SECTION("it is another") {
    p.node.hardware_key = std::string(64, '3');
  }
  CHECK_FALSE(p.same());
}

TEST_CASE("same machine: by a MAC only what waits, of its own pool or owner") {
  pair_of p;
  p.has_mac();
  CHECK(p.same());
  SECTION("another tenant's node claims it") {
    p.is_foreign();
    CHECK_FALSE(p.same());
    // Which has claimed the request before.
    p.request.request->pool = p.node.pool;
    CHECK(p.same());
  }
  SECTION("another pool of the tenant has claimed it") {
    p.request.request->pool = fixed_id<pool_id>(3);
    CHECK_FALSE(p.same());
  }
  SECTION("a site agent is of no pool") {
    p.node.pool.reset();
    CHECK(p.same());
    p.node.tenant = fixed_id<tenant_id>(2);
    CHECK_FALSE(p.same());
  }
  SECTION("it was approved") {
    p.request.stored = join_request::status::approved;
    CHECK_FALSE(p.same());
  }
  SECTION("the request's key names a machine") {
    p.seen().trusted = true;
    CHECK_FALSE(p.same());
  }
  SECTION("another MAC") {
    p.node.claims.macs.pop_back();
    CHECK_FALSE(p.same());
  }
}

TEST_CASE("same machine: its ramdisk does not end what its system asks for") {
  for (auto known : {&pair_of::has_tpm, &pair_of::has_key, &pair_of::has_mac}) {
    pair_of p;
    (p.*known)();
    p.node.cert.role = certificate_role::ramdisk;
    CHECK(p.same() == !p.seen().tpm);
    p.has_tpm();
    CHECK_FALSE(p.same());
    p.node.cert.role = certificate_role::node;
    CHECK(p.same());
  }
}
