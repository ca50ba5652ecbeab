// spec: joining#the-join-flow step 4: a row of the audit for each decision.
#include "events/audit.hpp"

#include "base/json.hpp"
#include "events/actor.hpp"
#include "events/boot_lease.hpp"
#include "events/catalog.hpp"
#include "events/command.hpp"
#include "events/event_names.hpp"
#include "stream_samples.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::events;
using bc::testing::at;
using bc::testing::fixed_id;
using bc::testing::stored;

namespace {

const auto now = at("2026-11-29T18:00:00Z");
const auto tenant_a = fixed_id<tenant_id>(1);
const auto node_a = fixed_id<node_id>(5);

envelope of(const event_write& write, std::string actor = "alice") {
  auto e = stored(write, "some:stream", tenant_a.str(), 42, 3);
  e.actor = std::move(actor);
  return e;
}

audit_entry entry_of(const envelope& e) {
  auto entry = audit_of(e);
  REQUIRE(entry);
  REQUIRE(entry.value());
  return *entry.value();
}

bool is_audited(const envelope& e) {
  auto entry = audit_of(e);
  REQUIRE(entry);
  return entry.value().has_value();
}

node::joined join_of(bool reclaim) {
  testing::sampler random{7};
  auto j = random.node_joined();
  j.id = node_a;
  j.tenant = tenant_a;
  j.reclaim = reclaim;
  return j;
}

node::certificate_revoked revoked_for(node::revocation why) {
  return {node_a, tenant_a, std::string(32, 'a'), 1, why, "words", now, ""};
}

}  // namespace

TEST_CASE("audit: who, what, on what, when and for which request") {
  auto e = of(node::encode(node::cordoned{node_a, "smoke", now}));
  auto row = entry_of(e);
  CHECK(row.position == 42);
  CHECK(row.tenant == tenant_a.str());
  CHECK(row.at == e.time);
  CHECK(row.principal == "alice");
  CHECK(row.action == "compute:nodes:cordon");
  CHECK(row.resource == "compute-node/" + node_a.str());
  CHECK(row.event == "node.cordoned");
  CHECK(row.correlation == "req_01");
  CHECK(row.details == R"({"nodeId":")" + node_a.str() +
                           R"(","reason":"smoke",)"
                           R"("cordonedAt":"2026-11-29T18:00:00.000Z"})");
}

TEST_CASE("audit: a join and a reclaim are the machine's") {
  auto joined = entry_of(of(node::encode(join_of(false)), "machine"));
  CHECK(joined.principal == "machine");
  CHECK(joined.action == "node.joined");
  CHECK(joined.resource == "compute-node/" + node_a.str());
  auto details = json::parse_object(joined.details);
  REQUIRE(details);
  for (auto field : {"attestor", "reclaim", "hardwareKeyTrusted",
                     "certificateSerial", "nodeKey"})
    CHECK(details.value().HasMember(field));
  auto again = entry_of(of(node::encode(join_of(true)), "machine"));
  CHECK(again.action == "node.reclaimed");
  CHECK(again.event == "node.joined");
}

TEST_CASE("audit: what follows from a decision has no row of its own") {
  auto adopted = node::encode(node::adopted{node_a, now});
  CHECK(!is_audited(of(adopted, "system")));
  CHECK(!is_audited(of(adopted, "machine")));
  CHECK(is_audited(of(adopted, "alice")));
  auto command = command::encode(
      command::enqueued{fixed_id<command_id>(6), node_a, tenant_a, "ping", "{}",
                        now, now + seconds{60}});
  CHECK(!is_audited(of(command, "system")));
  CHECK(entry_of(of(command, "alice")).action == "compute:commands:create");
  CHECK(entry_of(of(command, "alice")).resource ==
        "compute-node/" + node_a.str());
  using node::revocation;
  auto revoked = [](revocation why) {
    return of(node::encode(revoked_for(why)), "alice");
  };
  CHECK(!is_audited(revoked(revocation::reclaimed)));
  CHECK(!is_audited(revoked(revocation::deleted)));
  CHECK(!is_audited(revoked(revocation::superseded)));
  CHECK(entry_of(revoked(revocation::revoked)).action ==
        "compute:nodes:revoke-identity");
  CHECK(!is_audited(of(join_token::encode(join_token::redeemed{
                           fixed_id<join_token_id>(4), node_a, "aa"}),
                       "machine")));
}

TEST_CASE("audit: a caller is named by tenant and credential too") {
  const auto key = fixed_id<credential_id>(8);
  const auto root = fixed_id<tenant_id>(9);
  for (const std::string principal :
       {"alice", "ci/deploy@acme.example", "machine", "system", "/"}) {
    INFO(principal);
    const auto text = actor_text(root, key, principal);
    CHECK(parse_actor(text) == actor_name{principal, root.str(), key.str()});
    auto row = entry_of(of(node::encode(node::adopted{node_a, now}), text));
    CHECK(row.principal == principal);
    CHECK(row.actor_tenant == root.str());
    CHECK(row.credential == key.str());
    CHECK(row.tenant == tenant_a.str());
  }
  const std::vector<std::string> others = {
      "machine",
      "system",
      "alice",
      "",
      "/",
      "a/b/c",
      "ci/deploy@acme.example",
      root.str() + "/alice",
      root.str() + "/" + root.str() + "/alice",
      key.str() + "/" + root.str() + "/alice"};
  for (const auto& alone : others) {
    INFO(alone);
    CHECK(parse_actor(alone) == actor_name{alone, std::nullopt, std::nullopt});
  }
}

TEST_CASE("audit: who boots a site's machines is the agents' decision") {
  const auto site = fixed_id<site_id>(4);
  const auto row = entry_of(
      of(boot_lease::encode(boot_lease::acquired{
             site, tenant_a, node_a, 1, std::nullopt, now, now + seconds{120}}),
         "machine"));
  CHECK(row.principal == "machine");
  CHECK(row.action == "site.boot-lease-acquired");
  CHECK(row.resource == "compute-site/" + site.str());
  CHECK(entry_of(
            of(boot_lease::encode(boot_lease::released{site, node_a, 1, now}),
               "machine"))
            .action == "site.boot-lease-released");
}

TEST_CASE("audit: every type is a decision or is known to be none") {
  const std::set<std::string_view> none = {
      name::join_token_redeemed,     name::join_request_opened,
      name::join_request_refreshed,  name::join_request_consumed,
      name::node_clone_suspected,    name::join_refused,
      name::node_hardware_shared,    name::incarnation_started,
      name::pki_initialized,         name::pki_rotated,
      name::node_connected,          name::node_disconnected,
      name::node_acceptance_started, name::node_acceptance_failed,
      name::certificate_expiring,    name::node_inventory_recorded,
      name::command_completed,       name::certificate_renewed,
      name::renew_refused,           name::boot_lease_extended,
      name::join_request_superseded,
  };
  for (const auto& t : event_types()) {
    INFO(t.name);
    CHECK(audited_action(t.name).has_value() != none.contains(t.name));
  }
}

TEST_CASE("audit: what is not public never gets in") {
  testing::sampler random{static_cast<unsigned>(Catch::rngSeed())};
  for (int i = 0; i < 200; ++i) {
    auto j = random.node_joined();
    auto row = entry_of(of(node::encode(j), "machine"));
    for (const auto& hidden :
         {j.cert.spki_sha256, j.cert.csr_sha256, j.answer_subject,
          to_base64(j.answer_signature), j.tenant.str()})
      CHECK(row.details.find(hidden) == std::string::npos);
    auto token = random.token_created();
    auto e = of(join_token::encode(token));
    if (auto made = audit_of(e); made && made.value())
      CHECK(made.value()->details.find(token.secret_sha256) ==
            std::string::npos);
  }
}

TEST_CASE("audit: a token that names no pool is its site's, or its tenant's") {
  const auto id = fixed_id<join_token_id>(3);
  const auto site = fixed_id<site_id>(4);
  auto write = join_token::encode(join_token::revoked{id, {}, now, {}});
  CHECK(entry_of(of(write)).resource == "compute-tenant/" + tenant_a.str());
  write = join_token::encode(join_token::revoked{id, {}, now, site});
  write.type = name::join_token_revoked;
  CHECK(entry_of(of(write)).resource == "compute-site/" + site.str());
}

TEST_CASE("audit: ids sort by time, then by position") {
  auto id = [](std::int64_t ms, std::uint64_t position) {
    auto e = of(node::encode(node::adopted{node_a, now}));
    e.time = from_millis(ms);
    e.position = position;
    return entry_of(e).id;
  };
  const std::vector<std::string> ordered = {
      id(0, 1),
      id(999, 99),
      id(999, 100),
      id(1'000, 7),
      id(1'790'000'000'000, 18'446'744'073'709'551'615U),
      id(1'790'000'000'001, 1),
  };
  CHECK(std::is_sorted(ordered.begin(), ordered.end()));
  CHECK(std::adjacent_find(ordered.begin(), ordered.end()) == ordered.end());
  for (const auto& one : ordered)
    CHECK(one.size() == 36);
  CHECK(audit_bound(from_millis(1'000)) < ordered[3]);
  CHECK(audit_bound(from_millis(1'000)) > ordered[2]);
}

TEST_CASE("audit: an event that cannot be read is INTERNAL") {
  auto good = of(node::encode(node::cordoned{node_a, "", now}));
  for (const std::string data : {"", "[]", "{}", R"({"nodeId":7})"}) {
    auto e = good;
    e.data = data;
    auto row = audit_of(e);
    INFO(data);
    REQUIRE(!row);
    CHECK(row.error().code == errc::internal);
  }
  auto newer = good;
  newer.type_version = 9;
  REQUIRE(!audit_of(newer));
  newer.type = "nobody.knows";
  CHECK(!is_audited(newer));
}
