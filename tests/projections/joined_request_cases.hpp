#pragma once

#include "tests/projections/waiting_room.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// Which join requests every store's read models take for those of a machine
// that joined by another way. The file that includes this one says which store
// it is: bc::testing::read_model_store.
namespace bc::testing {

TEST_CASE("queries: join requests whose machine joined by another way") {
  read_model_store f;
  waiting_room w{f};
  auto open = [&](auto change, const site_id& where) {
    auto o = w.unclaimed(where);
    change(o);
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

TEST_CASE(
    "queries: hardware that is only claimed ends no other tenant's request") {
  read_model_store f;
  waiting_room w{f};
  const auto stranger = f.add_tenant();
  const auto theirs = f.add_pool(stranger, w.site);
  enum class claim { none, by_ours, by_theirs };
  struct row {
    claim claimed;
    bool is_ours;  // the node
    bool by_ek;
    bool found;
  };
  for (const auto& r : std::vector<row>{
           {claim::none, true, false, true},
           {claim::none, true, true, true},
           {claim::none, false, false, false},
           {claim::none, false, true, true},
           {claim::by_ours, true, false, true},
           {claim::by_ours, true, true, true},
           {claim::by_ours, false, false, false},
           {claim::by_ours, false, true, true},
           {claim::by_theirs, true, false, false},
           {claim::by_theirs, true, true, true},
           {claim::by_theirs, false, false, true},
           {claim::by_theirs, false, true, true},
       }) {
    CAPTURE(static_cast<int>(r.claimed), r.is_ours, r.by_ek);
    auto o = w.unclaimed(w.site);
    o.seen.tpm =
        jr::tpm_identity{f.random.hex(), jr::ek_certificate::absent, "", ""};
    f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(o)})});
    if (r.claimed != claim::none)
      f.decide_on_request(
          o, w.approval(r.claimed == claim::by_ours ? w.pool : theirs));

    auto j = f.random.node_joined();
    j.tenant = r.is_ours ? w.tenant : stranger;
    j.site = w.site;
    j.pool = r.is_ours ? w.neighbour : theirs;
    j.reclaim = false;
    j.cert.role = pki::certificate_role::node;
    j.hardware_key_trusted = true;
    j.hardware_key = r.by_ek ? f.random.hex() : o.seen.hardware_key;
    j.ek_hash = r.by_ek ? o.seen.tpm->ek_hash : std::string{};
    f.append({f.on(events::stream_of(j.id), j.tenant, {ev::node::encode(j)})});
    auto rows = f.queries()->joined_requests({}, f.time.now(), 100);
    REQUIRE(rows);
    CHECK(std::ranges::count(rows.value(), o.id.str(),
                             &projections::joined_request_row::request) ==
          (r.found ? 1 : 0));
  }
}

TEST_CASE("queries: a dedicated site's tenant waits there as its owner does") {
  read_model_store f;
  waiting_room w{f};
  const auto guest = f.add_tenant(), stranger = f.add_tenant();
  enum class who { owner, guest, stranger };
  const std::map<who, tenant_id> tenants{
      {who::owner, w.tenant}, {who::guest, guest}, {who::stranger, stranger}};
  struct row {
    events::site::kind kind;
    who of;  // the node
    bool claimed;
    bool found;
  };
  using events::site::kind;
  for (const auto& r : std::vector<row>{
           {kind::dedicated, who::owner, false, true},
           {kind::dedicated, who::guest, false, true},
           {kind::dedicated, who::stranger, false, false},
           {kind::dedicated, who::guest, true, false},
           {kind::shared, who::guest, false, false},
       }) {
    CAPTURE(static_cast<int>(r.kind), static_cast<int>(r.of), r.claimed);
    const auto site = r.kind == kind::dedicated
                          ? f.add_site(w.tenant, kind::dedicated, guest)
                          : f.add_site(w.tenant, r.kind);
    auto o = w.unclaimed(site);
    if (r.claimed)
      o.pool = f.add_pool(w.tenant, site);
    f.append({f.on(events::stream_of(o.id), w.tenant, {jr::encode(o)})});

    auto j = f.random.node_joined();
    j.tenant = tenants.at(r.of);
    j.site = site;
    j.pool = f.add_pool(j.tenant, site);
    j.reclaim = false;
    j.cert.role = pki::certificate_role::node;
    j.hardware_key_trusted = true;
    j.hardware_key = o.seen.hardware_key;
    f.append({f.on(events::stream_of(j.id), j.tenant, {ev::node::encode(j)})});
    auto rows = f.queries()->joined_requests({}, f.time.now(), 100);
    REQUIRE(rows);
    CHECK(std::ranges::count(rows.value(), o.id.str(),
                             &projections::joined_request_row::request) ==
          (r.found ? 1 : 0));
  }
}

}  // namespace bc::testing
