#pragma once

#include "events/join_request.hpp"
#include "projections/queries.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// What every store's read models answer of join requests. The file that
// includes this one says which store it is: bc::testing::read_model_store.
namespace bc::testing {

namespace jr = bc::events::join_request;

namespace {

struct waiting_room {
  explicit waiting_room(read_model_store& store)
      : f(store),
        tenant(f.add_tenant()),
        site(f.add_site(tenant)),
        pool(f.add_pool(tenant, site)),
        neighbour(f.add_pool(tenant, site)) {}

  jr::approve approval(const pool_id& by, seconds ttl = seconds{300}) {
    return {{by, site, true}, "alice", "ok", std::nullopt, ttl, f.time.now()};
  }

  std::vector<std::string> ids(projections::queries& q,
                               const std::string& state, int limit = 200,
                               const std::string& of_site = "own") {
    std::vector<std::string> out;
    std::string after;
    for (;;) {
      auto page = q.list_join_requests(
          {pool.str(), of_site == "own" ? site.str() : of_site, state,
           f.time.now()},
          after, limit);
      REQUIRE(page);
      CHECK(page.value().items.size() <= static_cast<std::size_t>(limit));
      for (const auto& row : page.value().items)
        out.push_back(row.id);
      if (!page.value().next)
        break;
      REQUIRE(!page.value().items.empty());
      CHECK(*page.value().next == page.value().items.back().id);
      after = *page.value().next;
    }
    CHECK(std::ranges::is_sorted(out));
    CHECK(std::ranges::adjacent_find(out) == out.end());
    return out;
  }

  read_model_store& f;
  tenant_id tenant;
  site_id site;
  pool_id pool, neighbour;
};

}  // namespace

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

TEST_CASE("queries: join requests whose machine joined by another way") {
  read_model_store f;
  waiting_room w{f};
  auto open = [&](auto change, const site_id& where) {
    auto o = f.random.request_opened();
    o.tenant = w.tenant;
    o.site = where;
    o.pool.reset();
    o.seen.hardware_key = f.random.hex();
    o.seen.trusted = true;
    o.seen.tpm.reset();
    o.seen.vouch.reset();
    change(o);
    o.at = f.time.now();
    o.expires_at = o.at + seconds{600};
    f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(o)})});
    return o;
  };
  auto found = [&] {
    auto rows = f.queries()->joined_requests({}, f.time.now(), 100);
    REQUIRE(rows);
    std::map<std::string, std::string> out;
    for (const auto& row : rows.value())
      out[row.request] = row.node;
    return out;
  };
  const auto same = [](auto&) {};
  const auto by_mac = [&](auto& o) {
    o.seen.hardware_key.clear();
    o.seen.trusted = false;
    o.seen.vouch = jr::vouched{"3c:ec:ef:12:34:56", "10.0.0.1",
                               f.random.id<node_id>(), 1, std::nullopt};
  };
  auto hardware = open(same, w.site);
  auto tpm = open(
      [&](auto& o) {
        o.seen.tpm = jr::tpm_identity{f.random.hex(),
                                      jr::ek_certificate::absent, "", ""};
      },
      w.site);
  auto mac = open(by_mac, w.site);
  // Untrusted, it names no machine; elsewhere, it is another request.
  open(
      [&](auto& o) {
        o.seen.hardware_key = hardware.seen.hardware_key;
        o.seen.trusted = false;
      },
      w.site);
  open([&](auto& o) { o.seen.hardware_key = hardware.seen.hardware_key; },
       f.add_site(w.tenant));
  CHECK(found().empty());

  auto like = [&](const jr::opened& o) {
    auto j = f.random.node_joined();
    j.tenant = w.tenant;
    j.site = w.site;
    j.pool = w.pool;
    j.reclaim = false;
    j.cert.role = pki::certificate_role::node;
    j.at = f.time.now();
    j.hardware_key = o.seen.hardware_key;
    j.hardware_key_trusted = o.seen.trusted;
    j.claims.macs.clear();
    if (o.seen.vouch)
      j.claims.macs = {"3C-EC-EF-12-34-56"};
    return j;
  };
  auto join = [&](const ev::node::joined& j) {
    f.append({f.on(events::stream_of(j.id), j.tenant, {ev::node::encode(j)})});
    return j.id.str();
  };
  auto first = join(like(hardware));
  // Another board now, the same TPM.
  auto moved = like(tpm);
  moved.ek_hash = tpm.seen.tpm->ek_hash;
  moved.hardware_key = f.random.hex();
  auto second = join(moved);
  auto last = like(mac);
  auto third = join(last);
  CHECK(found() ==
        std::map<std::string, std::string>{{hardware.id.str(), first},
                                           {tpm.id.str(), second},
                                           {mac.id.str(), third}});

  SECTION("a machine that asks once more wants something else") {
    auto again = hardware;
    again.seen.csr_sha256 = f.random.hex();
    again.at = f.time.now();
    f.decide_on_request(hardware, jr::defer{again, seconds{600}});
    CHECK_FALSE(found().contains(hardware.id.str()));
  }
  SECTION("a node that is over") {
    REQUIRE(f.decide_on(last, ev::node::cordon{f.time.now(), ""}));
    REQUIRE(f.decide_on(last, ev::node::retire{f.time.now(), ""}));
    CHECK_FALSE(found().contains(mac.id.str()));
  }
  SECTION("what ended needs no end") {
    f.decide_on_request(
        hardware,
        jr::reject{{w.pool, w.site, true}, "alice", "", f.time.now()});
    f.decide_on_request(tpm, w.approval(w.pool));
    f.decide_on_request(tpm, jr::consume{f.random.id<node_id>(),
                                         tpm.seen.csr_sha256, f.time.now()});
    CHECK(found().size() == 1);
    f.time.advance(seconds{600});
    CHECK(found().empty());
  }
  SECTION("closed: it ends now, and says who it became") {
    f.decide_on_request(tpm, w.approval(w.pool));
    CHECK(found().contains(tpm.id.str()));
    f.time.advance(seconds{5});
    auto before = f.queries()->taken_places(w.site.str(), f.time.now());
    for (const auto& o : {hardware, tpm, mac})
      f.decide_on_request(o, jr::supersede{node_id::parse(first).value(),
                                           {o.seen.csr_sha256, std::nullopt},
                                           f.time.now()});
    CHECK(found().empty());
    auto rows = f.queries()->list_join_requests(
        {w.pool.str(), w.site.str(), "expired", f.time.now()}, "", 100);
    REQUIRE(rows);
    REQUIRE(rows.value().items.size() == 3);
    for (const auto& row : rows.value().items) {
      CHECK(row.state == "expired");
      CHECK(row.expires_at == f.time.now());
      CHECK(row.superseded_at == f.time.now());
      CHECK(row.node == first);
    }
    auto taken = f.queries()->taken_places(w.site.str(), f.time.now());
    CHECK(taken.value().size() <= before.value().size());
  }
}

TEST_CASE(
    "queries: a MAC that is only claimed ends no other tenant's request") {
  read_model_store f;
  waiting_room w{f};
  const std::string mac = "3c:ec:ef:12:34:56";
  auto open = [&](const std::optional<pool_id>& pool, bool tpm = false) {
    auto o = f.random.request_opened();
    o.tenant = w.tenant;
    o.site = w.site;
    o.pool = pool;
    o.seen.hardware_key.clear();
    o.seen.trusted = false;
    o.seen.tpm.reset();
    if (tpm)
      o.seen.tpm =
          jr::tpm_identity{f.random.hex(), jr::ek_certificate::absent, "", ""};
    o.seen.vouch =
        jr::vouched{mac, "10.0.0.1", f.random.id<node_id>(), 1, std::nullopt};
    o.at = f.time.now();
    o.expires_at = o.at + seconds{600};
    f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(o)})});
    return o;
  };
  auto join = [&](const tenant_id& tenant, const std::optional<pool_id>& pool,
                  pki::certificate_role role) {
    auto j = f.random.node_joined();
    j.tenant = tenant;
    j.site = w.site;
    j.pool = pool;
    j.reclaim = false;
    j.hardware_key_trusted = false;
    j.cert.role = role;
    j.claims.macs = {mac};
    f.append({f.on(events::stream_of(j.id), tenant, {ev::node::encode(j)})});
    return j.id.str();
  };
  auto found = [&] {
    auto rows = f.queries()->joined_requests({}, f.time.now(), 100);
    REQUIRE(rows);
    std::map<std::string, std::string> out;
    for (const auto& row : rows.value()) {
      CHECK(row.csr_sha256.size() == 64);
      CHECK_FALSE(row.refreshed_at);
      out[row.request] = row.node;
    }
    return out;
  };
  auto unclaimed = open({}), claimed = open(w.pool), system = open({}, true);
  auto approved = open({});
  f.decide_on_request(approved, w.approval(w.pool));

  const auto stranger = f.add_tenant();
  const auto theirs = f.add_pool(stranger, w.site);
  join(stranger, theirs, pki::certificate_role::node);
  join(stranger, std::nullopt, pki::certificate_role::site);
  CHECK(found().empty());
  // What their own pool has claimed is theirs.
  auto asked = open(theirs);
  auto node = join(stranger, theirs, pki::certificate_role::node);
  CHECK(found() == std::map<std::string, std::string>{{asked.id.str(), node}});

  // The owner's. What its system waits for is not its ramdisk's.
  auto ramdisk = join(w.tenant, w.pool, pki::certificate_role::ramdisk);
  CHECK(found() ==
        std::map<std::string, std::string>{{asked.id.str(), node},
                                           {unclaimed.id.str(), ramdisk},
                                           {claimed.id.str(), ramdisk}});
  auto own = join(w.tenant, w.neighbour, pki::certificate_role::node);
  CHECK(found() ==
        std::map<std::string, std::string>{{asked.id.str(), node},
                                           {unclaimed.id.str(), own},
                                           {claimed.id.str(), ramdisk},
                                           {system.id.str(), own}});

  // Page by page, each once.
  projections::joined_request_row after;
  std::map<std::string, std::string> paged;
  for (int i = 0; i < 5; ++i) {
    auto rows = f.queries()->joined_requests(after, f.time.now(), 1);
    REQUIRE(rows);
    REQUIRE(rows.value().size() == (i < 4 ? 1 : 0));
    if (i == 4)
      break;
    after = rows.value().front();
    CHECK(paged.emplace(after.request, after.node).second);
  }
  CHECK(paged == found());
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
