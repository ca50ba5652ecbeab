#pragma once

#include "events/node_inventory.hpp"
#include "tests/projections/query_cases.hpp"

// Commands and what inventories say, on every store. As query_cases.hpp.
namespace bc::testing {

TEST_CASE("queries: a node's commands, the newest first, and what waits") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
  auto j = f.join(token), other = f.join(token);
  std::vector<std::string> made;
  for (int i = 0; i < 7; ++i) {
    made.push_back(f.enqueue(j, seconds{60}).id.str());
    f.time.advance(seconds{10});
  }
  auto elsewhere = f.enqueue(other, seconds{60});
  auto q = f.queries();
  for (int limit : {1, 3, 7, 200}) {
    INFO(limit);
    std::vector<std::string> seen;
    std::string after;
    do {
      auto page = q->list_commands(tenant.str(), j.id.str(), after, limit);
      REQUIRE(page);
      for (const auto& row : page.value().items) {
        CHECK(row.payload.empty());
        CHECK_FALSE(row.output);
        seen.push_back(row.id);
      }
      after = page.value().next.value_or("");
    } while (!after.empty());
    CHECK(seen == std::vector<std::string>(made.rbegin(), made.rend()));
  }
  CHECK(q->list_commands(f.add_tenant().str(), j.id.str(), "", 9)
            .value()
            .items.empty());

  // The first two are over, each at its very end.
  const auto now = f.time.now();
  CHECK(q->pending_commands(j.id.str(), now, 9).value() ==
        std::vector<std::string>(made.begin() + 2, made.end()));
  CHECK(q->pending_commands(j.id.str(), now - milliseconds{1}, 2).value() ==
        std::vector<std::string>(made.begin() + 1, made.begin() + 3));
  CHECK(q->pending_commands(other.id.str(), now, 9).value() ==
        std::vector{elsewhere.id.str()});
}

TEST_CASE("queries: one command with its payload, and its outcome once") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
  auto j = f.join(token), other = f.join(token);
  auto command = f.enqueue(j, seconds{60});
  const auto id = command.id.str();
  auto q = f.queries();
  auto row = q->get_command(tenant.str(), j.id.str(), id).value();
  REQUIRE(row);
  CHECK(row->payload == command.payload);
  CHECK(row->kind == command.kind);
  CHECK(row->enqueued_at == command.at);
  CHECK(row->expires_at == command.expires_at);
  CHECK_FALSE(row->completed_at);
  CHECK_FALSE(row->succeeded);
  CHECK_FALSE(q->get_command(tenant.str(), other.id.str(), id).value());
  CHECK_FALSE(q->get_command(f.add_tenant().str(), j.id.str(), id).value());

  bool succeeded = GENERATE(true, false);
  f.complete(command, succeeded);
  q = f.queries();
  row = q->get_command(tenant.str(), j.id.str(), id).value();
  REQUIRE(row);
  CHECK(row->completed_at == f.time.now());
  CHECK(row->succeeded == succeeded);
  CHECK(row->output.has_value());
  CHECK(q->pending_commands(j.id.str(), f.time.now(), 9).value().empty());
}

TEST_CASE("queries: what an inventory says of a node's hardware") {
  read_model_store f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto token = f.add_token(tenant, f.add_pool(tenant, site), site, 9);
  auto j = f.join(token);
  const auto first = f.random.hex(), second = f.random.hex();
  auto see = [&](const std::string& key, bool taken) {
    f.time.advance(seconds{1});
    f.decide_on(j, ev::node::record_inventory{f.time.now(), key, true, taken});
    return *f.queries()->get_node(tenant.str(), j.id.str()).value();
  };
  if (!j.hardware_key_trusted) {
    auto row = see(first, true);
    CHECK(row.hardware_taken_at == f.time.now());
    CHECK(row.hardware_key == j.hardware_key);
    row = see(first, false);
    CHECK(row.hardware_key == first);
    CHECK(row.hardware_key_trusted);
    CHECK_FALSE(row.hardware_taken_at);
  }
  auto row = see(second, false);
  const auto since = f.time.now();
  CHECK(row.hardware_changed_at == since);
  CHECK(row.hardware_key != second);
  row = see(f.random.hex(), false);
  CHECK(row.hardware_changed_at == since);
  REQUIRE(f.reclaim(j));
  CHECK_FALSE(f.queries()
                  ->get_node(tenant.str(), j.id.str())
                  .value()
                  ->hardware_changed_at);
}

}  // namespace bc::testing
