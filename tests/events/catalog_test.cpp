// What leaves the program: the list of types, the public form, its schemas.
#include "events/catalog.hpp"

#include "base/json.hpp"
#include "events/boot_lease.hpp"
#include "events/command.hpp"
#include "stream_samples.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/schema.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::sampler;
using bc::testing::stored;

namespace {

const auto now = at("2026-11-29T18:00:00Z");
const auto tenant_a = fixed_id<tenant_id>(1);
const auto site_a = fixed_id<site_id>(2);
const auto pool_a = fixed_id<pool_id>(3);
const auto token_a = fixed_id<join_token_id>(4);
const auto request_a = fixed_id<join_request_id>(9);
const auto node_a = fixed_id<node_id>(5);
const auto node_b = fixed_id<node_id>(6);

join_token::created token() {
  return {token_a,
          tenant_a,
          pool_a,
          site_a,
          join_token::role::node,
          16,
          {std::nullopt, "SN-7701", std::nullopt, std::nullopt},
          false,
          std::nullopt,
          now,
          now + seconds{3600},
          std::string(64, 'e')};
}

join_token::created of_site() {
  auto t = token();
  t.pool.reset();
  t.token_role = join_token::role::site;
  t.max_uses = 2;
  t.expect = {};
  return t;
}

node::joined join() {
  node::joined j;
  j.id = node_a;
  j.tenant = tenant_a;
  j.site = site_a;
  j.pool = pool_a;
  j.attestor = "join-token";
  j.hardware_key = std::string(64, 'a');
  j.hardware_key_trusted = true;
  j.token = token_a.str();
  j.cert.serial = "0123456789abcdef0123456789abcdef";
  j.cert.spki_sha256 = std::string(64, 'b');
  j.cert.not_before = now - seconds{300};
  j.cert.not_after = now + seconds{86'100};
  j.cert.der = {1, 2, 3};
  j.cert.csr_sha256 = std::string(64, 'c');
  j.at = now;
  j.answer_subject = j.token;
  j.answer_body = "{}";
  j.answer_signature = bytes(64);
  return j;
}

node::renewed renewal() {
  auto cert = join().cert;
  cert.serial = "1123456789abcdef0123456789abcdef";
  return {node_a, tenant_a, cert, join().cert.serial, now, std::string(64, 'f'),
          "{}",   bytes(64)};
}

struct sample {
  std::string golden;
  event_write write;
  stream_id stream;
};

std::vector<sample> samples() {
  auto hosted = token();
  hosted.expect = {};
  hosted.hosted = "kubernetes";
  hosted.allow_reclaim = true;
  auto untrusted = join();
  untrusted.hardware_key = "";
  untrusted.hardware_key_trusted = false;
  auto changed = join();
  changed.reclaim = changed.hardware_changed = true;
  changed.changed_identifiers = {"serial", "mac"};
  changed.cert.generation = 2;
  auto site_agent = join();
  site_agent.pool.reset();
  site_agent.cert.role = pki::certificate_role::site;
  site_agent.node_trust = node::trust::platform;
  refusal::refused refused{"join-token",         "join-token:expired", "node",
                           std::string(64, 'c'), std::string(64, 'a'), 3};
  refusal::refused bad_csr{"join-token",         "join:csr", "node",
                           std::string(64, 'c'), "",         0};
  auto token_stream = stream_of(token_a), node_stream = stream_of(node_a);
  return {
      {"tenant.created",
       tenant::encode(tenant::created{tenant_a, "acme", true, now}),
       stream_of(tenant_a)},
      {"site.created",
       site::encode(site::created{site_a, tenant_a, "ams-1",
                                  site::kind::dedicated, now}),
       stream_of(site_a)},
      {"site.created.dedicated",
       site::encode(site::created{site_a, tenant_a, "ams-1",
                                  site::kind::dedicated, now,
                                  fixed_id<tenant_id>(7)}),
       stream_of(site_a)},
      {"site.updated",
       site::encode(site::updated{site_a, "ams-2", fixed_id<tenant_id>(7), now,
                                  tenant_a, "ams-1"}),
       stream_of(site_a)},
      {"site.deleted",
       site::encode(site::deleted{site_a, now, tenant_a, "ams-2"}),
       stream_of(site_a)},
      {"site.boot-lease-acquired",
       boot_lease::encode(boot_lease::acquired{
           site_a, tenant_a, node_a, 1, std::nullopt, now, now + seconds{120}}),
       boot_lease_stream(site_a)},
      {"site.boot-lease-acquired.failover",
       boot_lease::encode(boot_lease::acquired{
           site_a, tenant_a, node_b, 2, node_a, now, now + seconds{120}}),
       boot_lease_stream(site_a)},
      {"site.boot-lease-released",
       boot_lease::encode(boot_lease::released{site_a, node_a, 1, now}),
       boot_lease_stream(site_a)},
      {"pool.updated",
       pool::encode(pool::updated{pool_a,
                                  "gpu-2",
                                  pool::agent::bcd,
                                  {{"tpm", "discovery"}, true, {"burn-in"}},
                                  now,
                                  tenant_a,
                                  "gpu"}),
       stream_of(pool_a)},
      {"pool.archived",
       pool::encode(pool::archived{pool_a, now, tenant_a, "gpu-2"}),
       stream_of(pool_a)},
      {"security.site-token.created", join_token::encode(of_site()),
       token_stream},
      {"security.site-token.revoked",
       join_token::encode(
           join_token::revoked{token_a, std::nullopt, now, site_a}),
       token_stream},
      {"pool.created",
       pool::encode(pool::created{pool_a, tenant_a, site_a, "gpu",
                                  pool::agent::bcd, now}),
       stream_of(pool_a)},
      {"security.credential.created",
       credential::encode(
           credential::created{fixed_id<credential_id>(6),
                               tenant_a,
                               "operator",
                               {{"compute:join-tokens:*", "compute-pool/*"}},
                               now,
                               std::string(64, 'd')}),
       stream_of(fixed_id<credential_id>(6))},
      {"security.credential.revoked",
       credential::encode(
           credential::revoked{fixed_id<credential_id>(6), "operator", now}),
       stream_of(fixed_id<credential_id>(6))},
      {"security.join-token.created", join_token::encode(token()),
       token_stream},
      {"security.join-token.created.hosted", join_token::encode(hosted),
       token_stream},
      {"security.join-token.revoked",
       join_token::encode(join_token::revoked{token_a, pool_a, now}),
       token_stream},
      {"security.join-request.approved",
       join_request::encode(join_request::approved{
           request_a, pool_a, site_a, "tpm", "tpm:" + std::string(64, 'e'),
           std::string(64, 'c'), 3, "alice", "rack b7, ticket 4411", now,
           now + seconds{900}}),
       stream_of(request_a)},
      {"security.join-request.rejected",
       join_request::encode(join_request::rejected{
           request_a, pool_a, site_a, "discovery", "hw:" + std::string(64, 'e'),
           std::string(64, 'c'), std::nullopt, "alice", "", now}),
       stream_of(request_a)},
      {"node.joined", node::encode(join()), node_stream},
      {"node.joined.changed", node::encode(changed), node_stream},
      {"node.joined.untrusted", node::encode(untrusted), node_stream},
      {"node.joined.site-agent", node::encode(site_agent), node_stream},
      {"node.certificate-renewed", node::encode(renewal()), node_stream},
      {"node.adopted", node::encode(node::adopted{node_a, now}), node_stream},
      {"node.cordoned", node::encode(node::cordoned{node_a, "broken fan", now}),
       node_stream},
      {"node.retired",
       node::encode(node::retired{node_a, "", now, std::string(64, 'a')}),
       node_stream},
      {"node.clone-suspected",
       node::encode(
           node::clone_suspected{node_a, tenant_a, std::string(64, 'a'), now}),
       node_stream},
      {"node.hardware-shared",
       node::encode(node::hardware_shared{
           node_a, tenant_a, {std::string(64, 'b')}, node_b, now}),
       node_stream},
      {"node.hardware-shared.elsewhere",
       node::encode(node::hardware_shared{
           node_a, tenant_a, {std::string(64, 'b')}, std::nullopt, now}),
       node_stream},
      {"node.clone-suspected.sessions",
       node::encode(node::clone_suspected{node_a, tenant_a, "", now,
                                          node::clone_sign::sessions}),
       node_stream},
      {"node.connected",
       node::encode(node::connected{
           node_a, "sess_01k5w000000000000000000000",
           "gw_01k5w000000000000000000000", "198.51.100.7", "0.1.0",
           "0123456789abcdef0123456789abcdef", "", now}),
       node_stream},
      {"node.connected.superseding",
       node::encode(node::connected{node_a, "sess_01k5w000000000000000000001",
                                    "gw_01k5w000000000000000000000",
                                    "198.51.100.8", "0.1.0",
                                    "0123456789abcdef0123456789abcdef",
                                    "sess_01k5w000000000000000000000", now}),
       node_stream},
      {"node.disconnected",
       node::encode(node::disconnected{node_a,
                                       "sess_01k5w000000000000000000000",
                                       node::session_end::lost, now}),
       node_stream},
      {"node.acceptance.started",
       node::encode(node::acceptance_started{node_a, now}), node_stream},
      {"node.acceptance.failed",
       node::encode(node::acceptance_failed{node_a, {"burn-in"}, now}),
       node_stream},
      {"node.inventory-recorded.changed",
       node::encode(node::inventory_recorded{
           node_a,
           std::string(64, 'a'),
           true,
           true,
           false,
           now,
           "",
           {"serial", "mac"},
           {{"serial", std::string(64, 'b')}, {"mac", std::string(64, 'c')}}}),
       node_stream},
      {"node.inventory-recorded",
       node::encode(node::inventory_recorded{node_a, std::string(64, 'a'), true,
                                             true, false, now, ""}),
       node_stream},
      {"node.inventory-recorded.taken",
       node::encode(
           node::inventory_recorded{node_a, "", false, false, true, now, ""}),
       node_stream},
      {"node.command.enqueued",
       command::encode(command::enqueued{
           fixed_id<command_id>(7), node_a, tenant_a, "inventory.collect",
           R"({"deep":true})", now, now + seconds{3'600}}),
       stream_of(fixed_id<command_id>(7))},
      {"node.command.completed",
       command::encode(command::completed{fixed_id<command_id>(7), node_a, true,
                                          "{}", now}),
       stream_of(fixed_id<command_id>(7))},
      {"security.certificate-expiring",
       node::encode(node::certificate_expiring{
           node_a, "0123456789abcdef0123456789abcdef", 1, now + seconds{14'400},
           false, now}),
       node_stream},
      {"security.certificate-revoked",
       node::encode(node::certificate_revoked{
           node_a, tenant_a, "0123456789abcdef0123456789abcdef", 1,
           node::revocation::reclaimed, "", now, "answer:jt_1:c"}),
       node_stream},
      {"security.join.refused", refusal::encode(refused),
       refusal_stream(tenant_a, "join-token", "join-token:expired")},
      {"security.join.refused.csr", refusal::encode(bad_csr),
       refusal_stream(tenant_a, "join-token", "join:csr")},
      {"security.renew.refused",
       refusal::encode(refusal::renew_refused{"renew:revoked", node_a.str(),
                                              join().cert.serial,
                                              std::string(64, 'c'), 2}),
       refusal_stream(tenant_a, "renew", "renew:revoked")},
      {"security.renew.refused.unproved",
       refusal::encode(refusal::renew_refused{"renew:proof", "", "",
                                              std::string(64, 'c'), 0}),
       refusal_stream(tenant_a, "renew", "renew:proof")},
  };
}

std::string public_form(const event_write& write, const stream_id& stream) {
  auto e = stored(write, stream, tenant_a.str(), 42, 1);
  auto out = to_public(e, "inc_01k", "urn:better-compute:d.example");
  return out.value_or("not public");
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file{path};
  REQUIRE(file.is_open());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

json::document schema_of(std::string_view type) {
  auto path = std::filesystem::path{BC_SOURCE_DIR} / "schema/events" /
              (std::string{type} + ".json");
  auto doc = json::parse_object(file_text(path));
  REQUIRE(doc);
  return std::move(doc).value();
}

}  // namespace

TEST_CASE("catalog: public events are the bodies of the goldens") {
  for (const auto& s : samples()) {
    INFO(s.golden);
    testing::check_golden("events/" + s.golden + ".json",
                          public_form(s.write, s.stream));
  }
}

TEST_CASE("catalog: every public type has a schema that its data fits") {
  std::set<std::string_view> seen;
  for (const auto& s : samples()) {
    INFO(s.golden);
    auto schema_json = schema_of(s.write.type);
    rapidjson::SchemaDocument schema{schema_json};
    auto event = json::parse_object(public_form(s.write, s.stream));
    REQUIRE(event);
    rapidjson::SchemaValidator validator{schema};
    bool fits = event.value()["data"].Accept(validator);
    CHECK(fits);
    CHECK(std::string{schema_json["$id"].GetString()} ==
          event.value()["dataschema"].GetString());
    seen.insert(find_event_type(s.write.type)->name);
  }
  for (const auto& t : event_types())
    CHECK(t.is_public == seen.contains(t.name));
}

TEST_CASE("catalog: a schema names exactly the fields that may leave") {
  for (const auto& t : event_types()) {
    if (!t.is_public)
      continue;
    INFO(t.name);
    auto schema = schema_of(t.name);
    std::set<std::string> in_schema, allowed;
    for (const auto& p : schema["properties"].GetObject())
      in_schema.insert(p.name.GetString());
    for (auto f : t.public_fields)
      allowed.emplace(f);
    CHECK(in_schema == allowed);
    // A consumer that holds events to today's schema takes tomorrow's too.
    CHECK(!schema.HasMember("additionalProperties"));
  }
}

TEST_CASE("catalog: a schema refuses what is not of its form") {
  auto schema_json = schema_of("node.joined");
  rapidjson::SchemaDocument schema{schema_json};
  const auto good = node::encode(join()).data;
  auto fits = [&](const std::string& from, const std::string& to) {
    auto text = good;
    auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    auto doc = json::parse_object(text);
    REQUIRE(doc);
    rapidjson::SchemaValidator validator{schema};
    return doc.value().Accept(validator);
  };
  CHECK(fits("unattested", "tpm"));
  CHECK(!fits("unattested", "vault"));
  CHECK(!fits("\"identityGeneration\":1", "\"identityGeneration\":0"));
  CHECK(!fits("\"nodeId\":\"node_", "\"nodeId\":\"NODE_"));
  CHECK(!fits(std::string(64, 'a'), std::string(63, 'a')));
  CHECK(!fits("\"reclaim\":false,", ""));
  CHECK(fits("\"reclaim\":", "\"more\":1,\"reclaim\":"));
}

TEST_CASE("catalog: the refusal schemas know every reason, and no other") {
  auto reasons_in = [](std::string_view type) {
    std::set<std::string> out;
    auto schema = schema_of(type);
    for (const auto& r : schema["properties"]["reason"]["enum"].GetArray())
      out.insert(r.GetString());
    return out;
  };
  std::set<std::string> of_joins, of_renewals, all;
#define BC_X(name, attestor, text) of_joins.insert(text);
  BC_JOIN_REFUSAL_REASONS(BC_X)
  BC_TPM_REFUSAL_REASONS(BC_X)
  BC_DISCOVERY_REFUSAL_REASONS(BC_X)
  BC_X509POP_REFUSAL_REASONS(BC_X)
#undef BC_X
#define BC_X(name, attestor, text) \
  of_renewals.insert(text);        \
  CHECK(std::string_view{attestor} == refusal::renew_attestor);
  BC_RENEW_REFUSAL_REASONS(BC_X)
#undef BC_X
#define BC_X(name, attestor, text) all.insert(text);
  BC_REFUSAL_REASONS(BC_X)
#undef BC_X
  CHECK(reasons_in("security.join.refused") == of_joins);
  CHECK(reasons_in("security.renew.refused") == of_renewals);
  of_joins.merge(of_renewals);
  CHECK(all == of_joins);
}

TEST_CASE("catalog: only the allow-list leaves") {
  auto e = stored(join_token::encode(token()), stream_of(token_a));
  e.data = R"({"tokenId":"t","somethingNew":"hush","poolId":"p"})";
  auto out = to_public(e, "inc_1", "urn:x");
  REQUIRE(out);
  CHECK(out->find("hush") == std::string::npos);
  CHECK(out->find(R"("data":{"tokenId":"t","poolId":"p"})") !=
        std::string::npos);
}

TEST_CASE("catalog: private, unknown and newer events have no public form") {
  auto redeemed = stored(
      join_token::encode(join_token::redeemed{token_a, node_a, "aa"}), "s");
  CHECK(!to_public(redeemed, "inc_1", "urn:x"));
  auto keys = stored(pki_bundle::encode(pki_bundle::initialized{}), "pki");
  CHECK(!to_public(keys, "inc_1", "urn:x"));
  auto rotated = stored(pki_bundle::encode(pki_bundle::rotated{}), "pki");
  CHECK(!to_public(rotated, "inc_1", "urn:x"));
  sampler random{1};
  auto opened = random.request_opened();
  CHECK(
      !to_public(stored(join_request::encode(opened), "s"), "inc_1", "urn:x"));
  auto e = stored(join_token::encode(token()), "s");
  e.type_version = 2;
  CHECK(!to_public(e, "inc_1", "urn:x"));
  e.type = "nobody.knows";
  CHECK(!to_public(e, "inc_1", "urn:x"));
  CHECK(find_event_type("nobody.knows") == nullptr);
}

TEST_CASE("catalog: sequences sort as positions do") {
  auto sequence = [](std::uint64_t position) {
    auto e = stored(join_token::encode(token()), "s", "t", position);
    auto out = to_public(e, "inc_1", "urn:x");
    auto doc = json::parse_object(*out);
    CHECK(std::string{doc.value()["id"].GetString()} ==
          "inc_1-" + std::to_string(position));
    return std::string{doc.value()["sequence"].GetString()};
  };
  CHECK(sequence(9) < sequence(10));
  CHECK(sequence(99) < sequence(100));
  CHECK(sequence(~std::uint64_t{0}) == "inc_1-18446744073709551615");
  CHECK(sequence(7) == "inc_1-00000000000000000007");
}

TEST_CASE("catalog: an event without tenant or request has no such attribute") {
  auto e = stored(join_token::encode(token()), "s");
  e.correlation = "";
  auto out = to_public(e, "inc_1", "urn:x");
  REQUIRE(out);
  CHECK(out->find("tenantid") == std::string::npos);
  CHECK(out->find("correlationid") == std::string::npos);
}
