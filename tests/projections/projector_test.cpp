// What each event does to the read models.
#include "projections/projector.hpp"

#include "events/event_names.hpp"
#include "projections/checkpoint.hpp"
#include "store_fixture.hpp"

namespace bc::testing {
using read_model_store = store_fixture;
}

#include "tests/projections/projector_cases.hpp"

using namespace bc;
using namespace bc::testing;

TEST_CASE("projector: what does not fit is a fault") {
  store_fixture f;
  f.close();
  auto db = f.connect();
  auto apply = [&](const ev::event_write& write, int version = 1) {
    auto e = stored(write, "x:1", {}, 7);
    e.type_version = version;
    return f.projector->apply(*db, e);
  };
  auto token = f.random.token_created();
  ev::join_token::redeemed use{token.id, f.random.id<node_id>(), "aa"};
  ev::node::adopted adopted{f.random.id<node_id>(), f.time.now()};
  auto strange = ev::join_token::encode(token);
  strange.type = "security.join-token.painted";
  auto broken = ev::join_token::encode(token);
  broken.data = "{}";

  for (const auto& write :
       {ev::join_token::encode(use), ev::node::encode(adopted), strange, broken,
        ev::join_token::encode(
            ev::join_token::revoked{token.id, token.pool, {}})}) {
    INFO(write.type);
    auto answer = apply(write);
    REQUIRE(!answer);
    CHECK(answer.error().code == errc::internal);
  }
  CHECK(!apply(ev::join_token::encode(token), 2));
  CHECK(ask(*db, "select count(*) from join_tokens") == "0");
  CHECK(ask(*db, "select position from projection_checkpoint") == "0");

  // More uses than the token had.
  REQUIRE(apply(ev::join_token::encode(token)));
  for (std::int64_t i = 0; i < token.max_uses; ++i)
    REQUIRE(apply(ev::join_token::encode(use)));
  CHECK(!apply(ev::join_token::encode(use)));
  CHECK(ask(*db, "select uses_left from join_tokens") == "0");
}

TEST_CASE("projector: events without a read model move the checkpoint alone") {
  store_fixture f;
  auto tenant = f.random.id<tenant_id>();
  auto before = ask(*f.connect(), "select position from projection_checkpoint");
  ev::refusal::refused r{"join-token", "join:csr", "node", "aa", "", 0};
  f.append({f.on(ev::refusal_stream(tenant, "join-token", "join:csr"), tenant,
                 {ev::refusal::encode(r)})});
  f.append({f.on("pki", tenant,
                 {ev::pki_bundle::encode(ev::pki_bundle::initialized{})})});
  CHECK(before == "0");
  CHECK(ask(*f.connect(), "select position from projection_checkpoint") == "2");
  CHECK(ask(*f.connect(), "select count(*) from parked_streams") == "0");
}

TEST_CASE("projector: a poison event parks its stream, the others go on") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  auto bad = f.add_token(tenant, pool, site, 5);
  auto good = f.add_token(tenant, pool, site, 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  f.join(bad);
  f.join(good);
  auto db = f.connect();
  CHECK(ask(*db, "select stream from parked_streams") == stream_of(bad.id));
  CHECK(ask(*db, "select count(*) from nodes") == "2");
  CHECK(ask(*db, "select count(*) from join_tokens where uses_left = 5") ==
        "1");
  CHECK(ask(*db, "select count(*) from join_tokens where uses_left = 4") ==
        "1");
}

TEST_CASE("projector: opening again keeps the rows") {
  store_fixture f;
  f.random_history(20);
  auto sum = f.checksum();
  f.close();
  f.open();
  CHECK(f.checksum() == sum);
  f.add_tenant();
  CHECK(f.checksum() != sum);
}

TEST_CASE("projector: opening makes a table that is missing, with its rows") {
  store_fixture f;
  f.random_history(40);
  auto sum = f.checksum();
  f.close();
  // As an older program left the store, or a hand that meant well.
  for (auto damage :
       {"drop table credentials", "drop table projection_checkpoint",
        "drop table nodes; drop table node_certs",
        "drop table pools; create table pools (id text)",
        "drop table tenant_access",
        "alter table sites drop column dedicated_to",
        "alter table projection_checkpoint drop column version",
        "update projection_checkpoint set position = position + 1"}) {
    INFO(damage);
    REQUIRE(f.connect()->execute(damage));
    f.open();
    CHECK(f.checksum() == sum);
    f.close();
  }
  f.open();
  f.add_tenant();
  CHECK(f.checksum() != sum);
}

TEST_CASE("projector: opening makes rows of another version anew") {
  store_fixture f;
  f.random_history(40);
  auto sum = f.checksum();
  auto version = [&] {
    return ask(*f.connect(), "select version from projection_checkpoint");
  };
  auto ours = std::to_string(projections::written_version);
  CHECK(version() == ours);
  f.close();
  for (auto other : {"version - 1", "version + 1"}) {
    INFO(other);
    REQUIRE(f.connect()->execute(
        std::string{"delete from audit; update projection_checkpoint set "
                    "version = "} +
        other));
    f.open();
    CHECK(f.checksum() == sum);
    CHECK(version() == ours);
    f.close();
  }
}

TEST_CASE("projector: a store without events takes this program's tables") {
  store_fixture f;
  auto sum = f.checksum();
  for (auto damage :
       {"drop table tenant_access", "drop table projection_checkpoint",
        "alter table sites drop column dedicated_to",
        "alter table projection_checkpoint drop column version",
        "update projection_checkpoint set position = 7"}) {
    INFO(damage);
    f.close();
    REQUIRE(f.connect()->execute(damage));
    f.open();
    CHECK(f.checksum() == sum);
  }
  f.add_site(f.add_tenant());
  CHECK(ask(*f.connect(), "select count(*) from tenant_access") == "1");
}

TEST_CASE("projector: opening catches up with what came without it") {
  store_fixture f;
  f.random_history(10);
  f.close();
  auto without = ev::open_sqlite_journal(f.path, f.time, nullptr);
  REQUIRE(without);
  f.store = std::move(without).value();
  auto tenant = f.add_tenant();
  f.random_history(10);
  auto bad = f.add_token(tenant, f.add_pool(tenant, f.add_site(tenant)),
                         f.random.id<site_id>(), 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  f.close();
  f.open();
  auto db = f.connect();
  CHECK(ask(*db, "select position from projection_checkpoint") ==
        std::to_string(f.store->head().value().position));
  CHECK(ask(*db, "select stream from parked_streams") == stream_of(bad.id));
  auto sum = f.checksum();
  REQUIRE(projections::rebuild(*db, *f.store));
  CHECK(f.checksum() == sum);
}

TEST_CASE("projector: the checkpoint passes events that are parked") {
  store_fixture f;
  auto tenant = f.add_tenant();
  auto bad =
      f.add_token(tenant, f.random.id<pool_id>(), f.random.id<site_id>(), 5);
  auto strange = ev::join_token::encode(bad);
  strange.type = "security.join-token.painted";
  strange.effect = {};
  f.append({f.on(stream_of(bad.id), tenant, {strange})});
  CHECK(f.queries()->position().value() == 3);
  CHECK(f.queries()->parked().value() == 1);
  f.join(bad);
  CHECK(f.queries()->position().value() == 5);
}
