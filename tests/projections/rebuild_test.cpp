// The read models can be thrown away and made again, row for row.
#include "projections/tables.hpp"
#include "store_fixture.hpp"
#include "tests/projections/spend_histories.hpp"

using namespace bc;
using namespace bc::testing;
namespace ev = bc::events;

namespace {

// Every table and index there is, with its columns.
constexpr std::string_view layout =
    "select group_concat(line, ';') from (select m.type || ' ' || m.name ||"
    " ' ' || m.tbl_name || ' ' || (select group_concat(name || type || pk)"
    " from pragma_table_info(m.name)) || coalesce((select group_concat(name)"
    " from pragma_index_info(m.name)), '') as line from sqlite_master m"
    " where m.name not like 'sqlite_%' order by m.name)";

std::uint64_t rebuild(store_fixture& f) {
  auto db = f.connect();
  auto position = projections::rebuild(*db, *f.store);
  INFO((position ? std::string{} : position.error().message));
  REQUIRE(position);
  return position.value();
}

}  // namespace

TEST_CASE("rebuild: rows are identical after hundreds of random events") {
  store_fixture f;
  f.random_history(250);
  auto head = f.store->head();
  REQUIRE(head);
  REQUIRE(head.value().position > 200);
  auto sum = f.checksum();
  auto tables = ask(*f.connect(), layout);
  CHECK(rebuild(f) == head.value().position);
  CHECK(f.checksum() == sum);
  CHECK(ask(*f.connect(), layout) == tables);

  // The store goes on with the tables that were swapped in, and so does a
  // query that was open before.
  auto q = f.queries();
  auto tenant = f.add_tenant();
  CHECK(f.checksum() != sum);
  CHECK(rebuild(f) == head.value().position + 1);
  auto last = q->list_tenants("", 200);
  REQUIRE(last);
  CHECK(std::any_of(last.value().items.begin(), last.value().items.end(),
                    [&](const auto& row) { return row.id == tenant.str(); }));
}

TEST_CASE("rebuild: repairs rows that were altered, lost or made up") {
  store_fixture f;
  f.random_history(60);
  auto sum = f.checksum();
  for (auto damage : {"update join_tokens set uses_left = uses_left + 1",
                      "delete from tenants",
                      "insert into tenants values ('ten_x', 'made up', 0, 0)",
                      "update projection_checkpoint set position = 3",
                      "drop table pools; create table pools (id text)"}) {
    INFO(damage);
    REQUIRE(f.connect()->execute(damage));
    rebuild(f);
    CHECK(f.checksum() == sum);
  }
}

TEST_CASE("rebuild: starts anew over what a cut-off one left") {
  store_fixture f;
  f.random_history(30);
  auto sum = f.checksum();
  auto tables = ask(*f.connect(), layout);
  REQUIRE(f.connect()->execute(
      projections::creation_script(sql::dialect::sqlite,
                                   projections::shadow_suffix) +
      "insert into tenants__new values ('ten_x', 'left', 0, 0);"));
  rebuild(f);
  CHECK(f.checksum() == sum);
  CHECK(ask(*f.connect(), layout) == tables);
}

TEST_CASE("rebuild: a parked stream stays where it was, others are freed") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto bad = f.add_token(tenant, pool, site, 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  f.join(bad);
  auto sum = f.checksum();
  REQUIRE(f.connect()->execute(
      "insert into parked_streams values ('tenant:healed', 1, 'was broken')"));
  rebuild(f);
  CHECK(f.checksum() == sum);
  auto db = f.connect();
  CHECK(ask(*db, "select count(*) from parked_streams") == "1");
  CHECK(ask(*db, "select stream || position from parked_streams") ==
        stream_of(bad.id) + "5");
}

TEST_CASE("rebuild: the uses of tokens, some of which expire meanwhile") {
  store_fixture f;
  uses_and_an_expiry(f);
  auto sum = f.checksum();
  CHECK(rebuild(f) == f.store->head().value().position);
  CHECK(f.checksum() == sum);
  auto db = f.connect();
  CHECK(ask(*db,
            "select group_concat(uses_left || ' ' || lapsed) from (select "
            "* from join_tokens order by max_uses)") == "0 1,10 0");
}

TEST_CASE("rebuild: a token that does not fit its uses is parked at the same") {
  auto [make, uses_left] = GENERATE(table<void (*)(history&), std::string>(
      {{&overspent, "0,12"}, {&used_before_made, "42"}}));
  store_fixture f;
  make(f);
  auto sum = f.checksum();
  auto parked = ask(*f.connect(), parked_there);
  CHECK(parked.starts_with("1 join_token:"));
  rebuild(f);
  CHECK(f.checksum() == sum);
  CHECK(ask(*f.connect(), parked_there) == parked);
  CHECK(ask(*f.connect(),
            "select group_concat(uses_left) from (select uses_left from "
            "join_tokens order by max_uses)") == uses_left);
}

TEST_CASE("rebuild: an empty journal makes empty tables") {
  store_fixture f;
  auto sum = f.checksum();
  CHECK(rebuild(f) == 0);
  CHECK(f.checksum() == sum);
}

TEST_CASE("checksum: covers every column of every table") {
  store_fixture f;
  auto db = f.connect();
  for (const auto& t : projections::tables) {
    INFO(t.name);
    auto s = db->prepare("select group_concat(name) from pragma_table_info(?)");
    REQUIRE(s);
    REQUIRE(s.value().bind(1, t.name).step());
    CHECK(s.value().text(0) == t.columns);
  }
}
