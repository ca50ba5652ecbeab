#pragma once

#include "tests/projections/waiting_room.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// What every store's read models answer of join requests. The file that
// includes this one says which store it is: bc::testing::read_model_store.
namespace bc::testing {

TEST_CASE("queries: join requests in every state, page by page") {
  read_model_store f;
  waiting_room w{f};
  std::map<std::string, std::vector<std::string>> want;
  auto note = [&](const std::string& state, const jr::opened& o) {
    want[state].push_back(o.id.str());
    want[""].push_back(o.id.str());
  };
  for (int i = 0; i < 18; ++i) {
    auto of = i % 2 == 0 ? std::optional{w.pool} : std::nullopt;
    auto o = f.open_request(w.tenant, w.site, of);
    switch (i / 2 % 3) {
      case 0:
        f.decide_on_request(o, w.approval(w.pool, seconds{86'000}));
        if (i < 6) {
          note("approved", o);
        } else {
          f.decide_on_request(o, jr::consume{f.random.id<node_id>(),
                                             o.seen.csr_sha256, f.time.now()});
          note("consumed", o);
        }
        break;
      case 1:
        f.decide_on_request(
            o, jr::reject{{w.pool, w.site, true}, "alice", "no", f.time.now()});
        note("rejected", o);
        break;
      default:
        note("expired", o);
    }
  }
  for (int i = 0; i < 3; ++i) {
    auto o = f.open_request(w.tenant, w.site, w.pool);
    f.decide_on_request(o, w.approval(w.pool, seconds{60}));
    note("expired", o);
  }
  // Elsewhere, and another pool's.
  auto far = f.add_site(w.tenant);
  f.open_request(w.tenant, far);
  f.open_request(w.tenant, w.site, w.neighbour);
  f.decide_on_request(f.open_request(w.tenant, w.site),
                      w.approval(w.neighbour));
  // Some of what has expired is marked so by the events that follow, and what
  // is not marked reads the same.
  f.time.advance(seconds{601});
  for (int i = 0; i < 5; ++i)
    note("pending",
         f.open_request(w.tenant, w.site,
                        i % 2 == 0 ? std::optional{w.pool} : std::nullopt));
  auto q = f.queries();
  for (const std::string state :
       {"", "pending", "approved", "rejected", "expired", "consumed"}) {
    CAPTURE(state);
    auto& ids = want[state];
    std::ranges::sort(ids);
    REQUIRE(!ids.empty());
    for (int limit : {1, 2, 7, 200})
      CHECK(w.ids(*q, state, limit) == ids);
  }
  CHECK(w.ids(*q, "painted").empty());
}

TEST_CASE(
    "queries: join requests that nobody claimed, and whose site is seen") {
  read_model_store f;
  waiting_room w{f};
  auto unclaimed = f.open_request(w.tenant, w.site);
  auto own = f.open_request(w.tenant, w.site, w.pool);
  auto q = f.queries();
  CHECK(w.ids(*q, "pending").size() == 2);
  CHECK(w.ids(*q, "pending", 200, "") == std::vector{own.id.str()});
  f.decide_on_request(unclaimed, w.approval(w.neighbour));
  q = f.queries();
  CHECK(w.ids(*q, "") == std::vector{own.id.str()});
}

TEST_CASE("queries: a join request's row, through its life") {
  read_model_store f;
  waiting_room w{f};
  auto o = f.open_request(w.tenant, w.site);
  auto row = [&] {
    auto page = f.queries()->list_join_requests(
        {w.pool.str(), w.site.str(), "", f.time.now()}, "", 10);
    REQUIRE(page);
    REQUIRE(page.value().items.size() == 1);
    return page.value().items.front();
  };
  auto shows = [&](const jr::sighting& seen) {
    auto r = row();
    CHECK(r.csr_sha256 == seen.csr_sha256);
    CHECK(r.claims == jr::text_of(seen.machine));
    CHECK(r.hardware_key == seen.hardware_key);
    CHECK(r.hardware_key_trusted == seen.trusted);
    CHECK(r.mac ==
          (seen.vouch ? std::optional{seen.vouch->mac} : std::nullopt));
    CHECK(r.boot_lease_epoch ==
          (seen.vouch ? std::optional{seen.vouch->boot_lease_epoch}
                      : std::nullopt));
    CHECK(r.ek_hash ==
          (seen.tpm ? std::optional{seen.tpm->ek_hash} : std::nullopt));
  };
  shows(o.seen);
  auto first = row();
  CHECK(first.pool.empty());
  CHECK(first.tenant == w.tenant.str());
  CHECK(first.created_at == o.at);
  CHECK(!first.claims_changed);
  CHECK(!first.refreshed_at);

  // Another CSR.
  f.time.advance(seconds{60});
  auto again = o;
  again.at = f.time.now();
  again.seen = f.random.sighting();
  f.decide_on_request(o, jr::defer{again, seconds{600}});
  shows(again.seen);
  CHECK(row().created_at == f.time.now());
  CHECK(row().refreshed_at == f.time.now());
  CHECK(row().claims_changed);
  CHECK(row().expires_at == f.time.now() + seconds{600});

  f.decide_on_request(o, w.approval(w.pool));
  auto approved = row();
  CHECK(approved.state == "approved");
  CHECK(approved.pool == w.pool.str());
  CHECK(approved.expires_at == f.time.now() + seconds{300});
  CHECK(approved.decided_by == "alice");
  CHECK(approved.reason == "ok");
  auto node = f.random.id<node_id>();
  f.decide_on_request(o,
                      jr::consume{node, again.seen.csr_sha256, f.time.now()});
  CHECK(row().state == "consumed");
  CHECK(row().node == node.str());
  CHECK(row().consumed_at == f.time.now());
}

TEST_CASE("queries: a join request that lapsed as it was refreshed waits") {
  read_model_store f;
  waiting_room w{f};
  auto o = f.open_request(w.tenant, w.site);
  while (!o.place)
    o = f.open_request(w.tenant, w.site);
  // Of a clock ahead: the row lapses by an event that is dated past its end.
  jr::refreshed again{o.id,    o.site, o.subject,           f.random.sighting(),
                      o.place, o.at,   o.at + seconds{1200}};
  f.time.advance(seconds{600});
  f.add_site(w.tenant);
  f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(again)})});
  auto page = f.queries()->list_join_requests(
      {w.pool.str(), w.site.str(), "pending", f.time.now()}, "", 100);
  REQUIRE(page);
  REQUIRE(page.value().items.size() == 1);
  CHECK(page.value().items.front().id == o.id.str());
  auto taken = f.queries()->taken_places(w.site.str(), f.time.now());
  REQUIRE(taken);
  CHECK(taken.value() == std::vector<std::int64_t>{*o.place});
}

TEST_CASE("queries: MACs that several pending join requests have") {
  read_model_store f;
  waiting_room w{f};
  std::int64_t next_place = 0;
  auto wait = [&](const site_id& where, const std::string& mac) {
    auto o = f.random.request_opened();
    o.tenant = w.tenant;
    o.site = where;
    o.pool.reset();
    o.seen.tpm.reset();
    o.seen.vouch =
        jr::vouched{mac, "10.0.0.1", f.random.id<node_id>(), 1, std::nullopt};
    o.attestor = "discovery";
    o.place = next_place++;
    o.at = f.time.now();
    o.expires_at = o.at + seconds{600};
    f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(o)})});
    return o;
  };
  auto shared = [&] {
    auto found = f.queries()->shared_macs(w.site.str(), f.time.now());
    REQUIRE(found);
    std::ranges::sort(found.value());
    return std::move(found).value();
  };
  using macs = std::vector<std::string>;
  auto a = wait(w.site, "a");
  wait(w.site, "b");
  wait(f.add_site(w.tenant), "a");
  CHECK(shared().empty());
  wait(w.site, "a");
  wait(w.site, "a");
  CHECK(shared() == macs{"a"});
  wait(w.site, "b");
  CHECK(shared() == macs{"a", "b"});
  f.decide_on_request(a, w.approval(w.pool));
  CHECK(shared() == macs{"a", "b"});
  f.time.advance(seconds{600});
  CHECK(shared().empty());
}

TEST_CASE("queries: the places that pending join requests take") {
  read_model_store f;
  waiting_room w{f};
  std::vector<std::int64_t> want;
  std::vector<jr::opened> all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(f.open_request(w.tenant, w.site));
    if (all.back().place)
      want.push_back(*all.back().place);
  }
  f.open_request(w.tenant, f.add_site(w.tenant));
  std::ranges::sort(want);
  auto taken = [&] {
    auto found = f.queries()->taken_places(w.site.str(), f.time.now());
    REQUIRE(found);
    std::ranges::sort(found.value());
    return std::move(found).value();
  };
  CHECK(taken() == want);
  for (const auto& o : all) {
    if (!o.place)
      continue;
    if (f.random.coin())
      f.decide_on_request(o, w.approval(w.pool));
    else
      f.decide_on_request(
          o, jr::reject{{w.pool, w.site, true}, "alice", "", f.time.now()});
    std::erase(want, *o.place);
    CHECK(taken() == want);
  }
  auto o = f.open_request(w.tenant, w.site);
  f.time.advance(seconds{600});
  CHECK(taken().empty());
}

}  // namespace bc::testing
