// The read models in Postgres answer as those in SQLite do, and by an index.
#include "projections/audit_query_texts.hpp"
#include "projections/queries.hpp"
#include "projections/query_texts.hpp"
#include "tests/postgres/read_models.hpp"

#include <thread>

namespace bc::testing {
using read_model_store = followed_store;
}

#include "tests/projections/command_cases.hpp"
#include "tests/projections/directory_cases.hpp"
#include "tests/projections/joined_request_cases.hpp"
#include "tests/projections/projector_cases.hpp"
#include "tests/projections/rejoin_cases.hpp"
#include "tests/projections/request_cases.hpp"
#include "tests/projections/watch_cases.hpp"

using namespace bc;
using namespace bc::testing;

namespace {

// Some thousands of rows in each table, most of them one tenant's.
constexpr auto filling = R"(
insert into tenants select 'ten_' || lpad(i::text, 6, '0'), 'x', 0, i
  from generate_series(1, 5000) i;
insert into sites select 'site_' || lpad(i::text, 6, '0'),
  'ten_' || lpad((i % 7)::text, 6, '0'), 'x',
  case when i % 3 = 0 then 'shared' else 'dedicated' end, i
  from generate_series(1, 5000) i;
insert into pools select 'pool_' || lpad(i::text, 6, '0'),
  'ten_' || lpad((i % 7)::text, 6, '0'), 'site_000001', 'x', 'bcd', i
  from generate_series(1, 5000) i;
insert into tenant_access select id || ' ' || who, who, 'site', id
  from (select id, case when kind = 'shared' then '*' else owner end as who
  from sites) s;
insert into tenant_access select id || ' ' || tenant, tenant, 'pool', id
  from pools;
insert into tenant_access select 'node_' || lpad(i::text, 6, '0') ||
  ' ten_000001', 'ten_000001', 'node', 'node_' || lpad(i::text, 6, '0')
  from generate_series(1, 10000) i;
insert into join_tokens (id, tenant, pool, site, role, max_uses, uses_left,
  allow_reclaim, created_at, expires_at, revoked_at, lapsed)
  select 'jt_' || lpad(i::text, 6, '0'), 'ten_000001',
  'pool_' || lpad((i % 5)::text, 6, '0'), 'site_000001', 'node', 3, i % 4, 0,
  i, i + 1000, case when i % 5 = 0 then i end, i % 2
  from generate_series(1, 20000) i;
insert into nodes select 'node_' || lpad(i::text, 6, '0'), 'ten_000001',
  'site_000001', 'pool_' || lpad((i % 5)::text, 6, '0'), 'adopted',
  'join-token', 'hw', 0, 'host', 'key', 'node', 1, i, null, 'serial' || i
  from generate_series(1, 10000) i;
insert into node_certs select 'serial' || i, 'node_' || lpad(i::text, 6, '0'),
  'node', 1, 'aa', i, i, null, 'der' from generate_series(1, 10000) i;
update nodes set status = 'cordoned' where right(id, 2) = '07';
update nodes set status = 'retired', retired_at = 1 where right(id, 1) = '3';
update nodes set session = 'sess', session_gateway = 'gw_' || right(id, 1),
  connected_at = 1, warn_at = joined_at where right(id, 1) <> '3';
update nodes set token = 'jt_' || right(id, 3), certificate_ends = joined_at;
update node_certs set revoked_position = not_after, revoked_at = not_after,
  revoked_for = 'revoked' where right(node, 1) = '4';
insert into join_requests (id, scope, tenant, site, pool, attestor, state,
  open, csr_sha256, claims, hardware_key, hardware_key_trusted, place,
  created_at, expires_at) select 'jreq_' || lpad(i::text, 6, '0'),
  'pool_' || lpad((i % 5)::text, 6, '0'), 'ten_000001',
  'site_' || lpad((i % 50)::text, 6, '0'), '', 'tpm',
  case when i % 4 = 0 then 'pending' when i % 4 = 1 then 'approved'
  when i % 4 = 2 then 'consumed' else 'expired' end,
  case when i % 4 < 2 then 1 else 0 end, 'aa', '{}', '', 0, i, i, i + 1000
  from generate_series(1, 60000) i;
update join_requests set joined_as = 'node_' || right(id, 6)
  where open = 1 and right(id, 2) = '05';
insert into audit select lpad(i::text, 15, '0') || '-' ||
  lpad(i::text, 20, '0') || ' ten_000001', lpad(i::text, 15, '0') || '-' ||
  lpad(i::text, 20, '0'), i, 'ten_000001', 'ten_000001', i,
  case when i % 50 = 0 then 'alice' else 'machine' end, null, null,
  case when i % 50 = 0 then 'compute:nodes:cordon' else 'node.joined' end,
  'compute-node/node_' || lpad(i::text, 6, '0'), 'node.joined',
  'req-' || i, '{}' from generate_series(1, 10000) i;
insert into shared_macs select 'node_' || lpad(i::text, 6, '0') || ' aa',
  'node_' || lpad(i::text, 6, '0'), 'ten_000001', 'node_000000', 'ten_000001',
  'aa', case when i % 2 = 0 then null else i end
  from generate_series(1, 10000) i;
insert into commands select 'cmd_' || lpad(i::text, 6, '0'),
  lpad(i::text, 20, '0'), 'ten_000001', 'node_' || lpad((i % 10)::text, 6, '0'),
  'ping', '{}', i, i + 100000, case when i % 7 = 0 then null else i end, null,
  null from generate_series(1, 60000) i;
insert into credentials select 'cred_' || lpad(i::text, 6, '0'),
  'ten_' || lpad((i % 7)::text, 6, '0'), 'x', '[]', i, null
  from generate_series(1, 5000) i;
analyze)";

// What each parameter of the query is; the largest decides how many.
std::vector<std::string> arguments_of(std::string_view query) {
  if (query == projections::query::tenants)
    return {"''", "201"};
  if (query == projections::query::sites)
    return {"'ten_000001'", "''", "201", "0"};
  if (query == projections::query::all_tokens)
    return {"'ten_000001'", "'pool_000001'", "''", "201"};
  if (query == projections::query::live_tokens)
    return {"'ten_000001'", "'pool_000001'", "''", "201", "1500"};
  if (query == projections::query::nodes_of_tenant)
    return {"'ten_000001'", "''", "201", "''"};
  if (query == projections::query::nodes_of_pool)
    return {"'ten_000001'", "''", "201", "'pool_000001'", "''", "''"};
  if (query == projections::query::nodes_of_site)
    return {"'ten_000001'", "''", "201", "'site_000001'", "''"};
  if (query == projections::query::nodes_of_status)
    return {"'ten_000001'", "''", "201", "'cordoned'", "''", "''"};
  if (query == projections::query::untold_shared)
    return {"257"};
  if (query == projections::query::nodes_to_warn)
    return {"50", "256"};
  if (query == projections::query::next_gateway)
    return {"'gw_1'"};
  if (query == projections::query::nodes_at)
    return {"'gw_1'", "256"};
  if (query == projections::query::nodes_of_token)
    return {"'ten_000001'", "''", "201", "'jt_007'"};
  if (query == projections::query::sessions_at)
    return {"'gw_1'"};
  if (query == projections::query::nodes_ending)
    return {"9000", "9100", "9050"};
  if (query == projections::query::revoked_certificates)
    return {"9000", "9100"};
  if (query == projections::query::last_revocation)
    return {"0"};
  if (query == projections::query::requests_of_scope)
    return {"'pool_000001'", "''", "201"};
  if (query == projections::query::requests_by_state)
    return {"'pool_000001'", "''", "201", "'pending'", "15000", "9000000"};
  if (query == projections::query::taken_places ||
      query == projections::query::waiting_macs)
    return {"'site_000004'", "15000"};
  if (query == projections::query::commands_of_node)
    return {"'ten_000001'", "'node_000007'", "'~'", "201"};
  if (query == projections::query::one_command)
    return {"'ten_000001'", "'node_000007'", "'cmd_000007'"};
  if (query == projections::query::pending_commands)
    return {"'node_000007'", "9500", "16", "9000"};
  if (query == projections::query::commands_waiting)
    return {"10950"};
  if (query.find("from audit") != query.npos)
    return {"'ten_000001'",
            "''",
            "'~'",
            "201",
            "'compute:nodes:cordon'",
            "'compute-node/node_000050'",
            "'alice'",
            "'req-50'"};
  if (query == projections::query::newest_certificates)
    return {"'ten_000001'", "'node_000007'", "20"};
  if (query == projections::query::live_certificates)
    return {"'ten_000001'", "'node_000007'", "5", "1"};
  if (query == projections::query::joined_requests)
    return {"'node_000007'", "''", "15000", "256"};
  if (query == projections::query::one_node ||
      query == projections::query::certificates_of_node)
    return {"'ten_000001'", "'node_000007'"};
  return {"'ten_000001'", "''", "201"};
}

std::string plan_of(sql::connection& db, std::string_view query,
                    const std::string& name) {
  std::string text{projections::query::text_for(sql::dialect::postgres, query)};
  std::replace(text.begin(), text.end(), '?', '$');
  auto prepared = db.execute("prepare " + name + " as " + text);
  INFO((prepared ? std::string{} : prepared.error().detail));
  REQUIRE(prepared);
  std::string arguments;
  for (const auto& a : arguments_of(query))
    arguments += (arguments.empty() ? "" : ", ") + a;
  auto explain = "explain execute " + name + "(" + arguments + ")";
  auto s = db.prepare(explain);
  REQUIRE(s);
  std::string steps;
  for (;;) {
    auto row = s.value().step();
    if (!row)
      FAIL(row.error().detail);
    if (!row.value())
      return steps;
    steps += s.value().text(0) + "\n";
  }
}

}  // namespace

TEST_CASE("queries: none scans a table or sorts, on Postgres", "[postgres]") {
  postgres_models models;
  // To fill the tables takes longer than any statement of a server may.
  auto db = testing::connect(models.schema.url(), postgres::patience::endless);
  REQUIRE(db->execute(filling));
  // The plan for these values, and the one for any.
  std::string mode = GENERATE("force_custom_plan", "force_generic_plan");
  REQUIRE(db->execute("set plan_cache_mode = " + mode));
  int n = 0;
  std::vector<std::string_view> queries{std::begin(projections::query::all),
                                        std::end(projections::query::all)};
  queries.insert(queries.end(), std::begin(projections::query::all_of_audit),
                 std::end(projections::query::all_of_audit));
  for (auto query : queries) {
    auto steps = plan_of(*db, query, "p" + std::to_string(n++));
    INFO(mode << ": " << query << "\n" << steps);
    CHECK(steps.find("Index") != std::string::npos);
    CHECK(steps.find("Seq Scan") == std::string::npos);
    CHECK(steps.find("Sort  (") == std::string::npos);
    if (query == projections::query::live_tokens)
      CHECK(steps.find("join_tokens_live") != std::string::npos);
  }
}

TEST_CASE(
    "queries: a connection that was lost costs nobody an error (case 162)",
    "[postgres]") {
  followed_store f;
  f.add_tenant();
  auto q = f.queries();
  auto ask_all = [&] {
    std::vector<std::thread> asking;
    std::atomic<int> good{0};
    for (int i = 0; i < 8; ++i)
      asking.emplace_back([&] {
        auto page = q->list_tenants("", 10);
        good += page && page.value().items.size() == 1 ? 1 : 0;
      });
    for (auto& t : asking)
      t.join();
    return good.load();
  };
  for (int round = 0; round < 3; ++round) {
    CHECK(ask_all() == 8);
    f.models.kill("-queries");
  }
  CHECK(ask_all() == 8);
}

TEST_CASE("queries: a server that is gone is UNAVAILABLE, and found again",
          "[postgres]") {
  postgres_server server;
  postgres_schema schema{server.url()};
  REQUIRE(events::migrate_postgres(schema.url()));
  auto q = projections::open_postgres_queries(schema.url());
  REQUIRE(q);
  CHECK(q.value()->position().value() == 0);
  server.stop();
  auto gone = q.value()->position();
  REQUIRE(!gone);
  CHECK(gone.error().code == errc::unavailable);
  CHECK(!projections::open_postgres_queries(schema.url()));
  server.start();
  CHECK(q.value()->position().value() == 0);
}
