// Which joins that wait are closed, since their machine became a node by
// another way, and whose never are.
#include "actors/requests/superseding.hpp"

#include "events/catalog.hpp"
#include "tests/actors/deferral_world.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace bc;
using namespace bc::api_test;
using bc::test::csr_of;
using bc::test::defer_now;
using bc::test::id_of;
using bc::test::order_of;

namespace {

namespace jr = events::join_request;

struct superseding_world : deferral_world {
  /// The machine becomes a node with a token.
  events::node::joined join(const std::string& machine,
                            const std::optional<pool_id>& other = {}) {
    auto j = random.node_joined();
    j.tenant = acme;
    j.site = site;
    j.pool = other.value_or(pool);
    j.at = time.now();
    j.cert.not_after = time.now() + seconds{86'100};
    j.cert.role = pki::certificate_role::node;
    j.hardware_key = order(machine, 'a').seen.hardware_key;
    j.hardware_key_trusted = true;
    REQUIRE(decide_on(j, events::node::join{j}));
    return j;
  }
  /// What a server does from time to time; how many were closed by it.
  int look(std::shared_ptr<actors::ledger> by = nullptr, int at_once = 256) {
    const auto before = count("security.join-request.superseded");
    int done = 0;
    actors::supersede_requests(
        by ? by : streams, [&done] { ++done; }, at_once);
    REQUIRE(done == 1);
    return count("security.join-request.superseded") - before;
  }
};

}  // namespace

TEST_CASE_METHOD(
    superseding_world,
    "superseding: a machine that joined by a token waits no more") {
  auto a = id_of(defer("a", 'a')), b = id_of(defer("b", 'b'));
  auto other = id_of(defer("c", 'c'));
  CHECK(look() == 0);
  REQUIRE(decide("approve", b).status == 200);
  time.advance(seconds{60});
  auto node_a = join("a"), node_b = join("b");
  CHECK(look() == 2);
  auto shown = call(acme_key, "joinRequests.list",
                    {{"tenantId", json_string(acme.str())},
                     {"poolId", json_string(pool.str())},
                     {"state", "\"expired\""}});
  REQUIRE(shown.items() == 2);
  using closed = std::pair<join_request_id, events::node::joined>;
  for (const auto& [id, node] : std::vector<closed>{{a, node_a}, {b, node_b}}) {
    auto s = state_of(id);
    CHECK(status_at(s, time.now()) == jr::status::expired);
    CHECK(s.node == node.id);
    CHECK(decide("approve", id).code() == "INVALID_STATE");
    CHECK(shown.text.find(node.id.str()) != std::string::npos);
  }
  CHECK(status_at(state_of(other), time.now()) == jr::status::pending);
  CHECK(look() == 0);
  auto written = store->read_all(position() - 1, 1).value().front();
  CHECK(written.actor == "system");
  CHECK(written.tenant == acme.str());
  // Its approval admits nobody any more, and what comes now is another request.
  auto again = id_of(defer("b", 'b'));
  CHECK(again != b);
  time.advance(seconds{60});
  CHECK(look() == 0);
  CHECK(status_at(state_of(again), time.now()) == jr::status::pending);
  CHECK(store->verify({events::moves_of}).has_value());
}

TEST_CASE_METHOD(
    superseding_world,
    "superseding: by a MAC no approval ends, nor another's request") {
  const std::string mac = "3c:ec:ef:12:34:56";
  auto ask = [&](const std::string& machine) {
    auto o = order(machine, 'a');
    o.subject = jr::mac_subject(site, machine);
    o.seen.hardware_key.clear();
    o.seen.trusted = false;
    o.seen.tpm.reset();
    o.seen.vouch =
        jr::vouched{mac, "10.0.0.1", random.id<node_id>(), 1, std::nullopt};
    return id_of(defer_now(streams, o));
  };
  auto joins = [&](const tenant_id& tenant, const pool_id& of) {
    auto j = random.node_joined();
    j.tenant = tenant;
    j.site = site;
    j.pool = of;
    j.at = time.now();
    j.hardware_key.clear();
    j.hardware_key_trusted = false;
    j.claims.macs = {mac};
    return j;
  };
  auto waits = ask("a");
  auto theirs = joins(other, other_pool);
  REQUIRE(decide_on(theirs, events::node::join{theirs}));
  CHECK(look() == 0);

  // Approved after the machine joined: that was meant, and stays. It does not
  // hold up what is to be closed.
  auto first = joins(acme, pool), second = joins(acme, pool);
  if (second.id.str() < first.id.str())
    std::swap(first, second);
  REQUIRE(decide_on(first, events::node::join{first}));
  REQUIRE(decide("approve", waits).status == 200);
  auto ends = ask("b");
  REQUIRE(decide_on(second, events::node::join{second}));
  CHECK(look(nullptr, 1) == 1);
  CHECK(status_at(state_of(waits), time.now()) == jr::status::approved);
  CHECK(status_at(state_of(ends), time.now()) == jr::status::expired);
}

TEST_CASE_METHOD(
    superseding_world,
    "superseding: what came first is told by order, not by clocks") {
  auto a = id_of(defer("a", 'a'));
  // The process that lets it in has a clock that is behind.
  time.advance(seconds{-5});
  join("a");
  time.advance(seconds{5});
  CHECK(look() == 1);
  CHECK(status_at(state_of(a), time.now()) == jr::status::expired);
}

TEST_CASE_METHOD(superseding_world,
                 "superseding: whose node it became is not for all to know") {
  // A pool of another tenant on the site that both see.
  auto unclaimed = id_of(defer("a", 'a'));
  auto claimed = id_of(defer("b", 'b'));
  REQUIRE(decide("approve", claimed).status == 200);
  auto neighbour = add_pool(acme, site);
  auto theirs = random.node_joined();
  theirs.tenant = other;
  theirs.site = site;
  theirs.pool = other_pool;
  theirs.at = time.now();
  theirs.cert.role = pki::certificate_role::node;
  theirs.ek_hash = order("a", 'a').seen.tpm->ek_hash;
  REQUIRE(decide_on(theirs, events::node::join{theirs}));
  join("b", neighbour);
  CHECK(look() == 2);
  CHECK_FALSE(state_of(unclaimed).node);
  CHECK_FALSE(state_of(claimed).node);
}

TEST_CASE_METHOD(superseding_world,
                 "superseding: what moved while it was to be closed stays") {
  auto a = id_of(defer("a", 'a')), b = id_of(defer("b", 'b'));
  join("a");
  auto node_b = join("b");

  /// The read models, or another process, are ahead of what was read.
  class moving : public actors::sync_ledger {
   public:
    using actors::sync_ledger::sync_ledger;
    std::function<void()> meanwhile;
    void append(events::batch what,
                actors::reply_to<events::append_outcome> done) override {
      if (auto run = std::exchange(meanwhile, nullptr))
        run();
      actors::sync_ledger::append(std::move(what), std::move(done));
    }
  };
  auto racing = std::make_shared<moving>(*store, time, reader.get());
  SECTION("it was decided") {
    racing->meanwhile = [&] {
      for (const auto& id : {a, b})
        REQUIRE(decide("reject", id).status == 200);
    };
    CHECK(look(racing) == 0);
    CHECK(state_of(a).stored == jr::status::rejected);
  }
  SECTION("the machine came once more") {
    racing->meanwhile = [&] {
      time.advance(seconds{1});
      id_of(defer("a", 'x'));
      id_of(defer("b", 'y'));
    };
    CHECK(look(racing) == 0);
    CHECK(look() == 0);
    CHECK(status_at(state_of(a), time.now()) == jr::status::pending);
  }
  SECTION("its node is over") {
    racing->meanwhile = [&] {
      REQUIRE(decide_on(node_b, events::node::cordon{time.now(), ""}));
      REQUIRE(decide_on(node_b, events::node::retire{time.now(), ""}));
    };
    CHECK(look(racing) == 1);
    CHECK(look() == 0);
    CHECK(status_at(state_of(b), time.now()) == jr::status::pending);
  }
}

TEST_CASE_METHOD(superseding_world,
                 "superseding: by claimed hardware only of one's own tenant, "
                 "by the TPM whoever's the node is") {
  const auto shared = add_site(root, events::site::kind::shared);
  const std::map<std::string, tenant_id> tenants{
      {"owner", root}, {"acme", acme}, {"other", other}};
  std::map<std::string, pool_id> pools;
  for (const auto& [name, tenant] : tenants)
    pools[name] = add_pool(tenant, shared);
  const auto second_pool = add_pool(acme, shared);

  enum known_by { hardware, ek };
  struct row {
    bool claimed;  // by acme's pool, else seen by all whom the site serves
    std::string node_of;
    known_by by;
    bool closes;
  };
  const auto r = GENERATE(values<row>({
      {false, "owner", hardware, true},
      {false, "owner", ek, true},
      {false, "acme", hardware, false},
      {false, "acme", ek, true},
      {true, "owner", hardware, false},
      {true, "owner", ek, true},
      {true, "acme", hardware, true},
      {true, "acme", ek, true},
      {true, "second", hardware, true},
      {true, "other", hardware, false},
      {true, "other", ek, true},
  }));
  CAPTURE(r.claimed, r.node_of, r.by);
  const auto asked = order_of(root, shared, "a", csr_of('a'));
  const auto id = id_of(defer_now(streams, asked));
  if (r.claimed)
    REQUIRE(call(acme_key, "joinRequests.approve",
                 {{"tenantId", json_string(acme.str())},
                  {"poolId", json_string(pools["acme"].str())},
                  {"requestId", json_string(id.str())}})
                .status == 200);

  auto j = random.node_joined();
  const bool is_second = r.node_of == "second";
  j.tenant = is_second ? acme : tenants.at(r.node_of);
  j.site = shared;
  j.pool = is_second ? second_pool : pools[r.node_of];
  j.at = time.now();
  j.cert.role = pki::certificate_role::node;
  j.hardware_key_trusted = true;
  if (r.by == hardware)
    j.hardware_key = asked.seen.hardware_key;
  else
    j.ek_hash = asked.seen.tpm->ek_hash;
  REQUIRE(decide_on(j, events::node::join{j}));

  // What the read models point to is looked at again, by the streams.
  CHECK(reader->joined_requests({}, time.now(), 10).value().size() ==
        (r.closes ? 1 : 0));
  CHECK(look() == (r.closes ? 1 : 0));
  CHECK(status_at(state_of(id), time.now()) == (r.closes ? jr::status::expired
                                                : r.claimed
                                                    ? jr::status::approved
                                                    : jr::status::pending));
}

namespace {

struct platform_site_world : superseding_world {
  /// What one asked for there that joined a pool of acme's since.
  join_request_id ask_and_join(const site_id& where) {
    const auto asked = order_of(root, where, "a", csr_of('a'));
    auto id = id_of(defer_now(streams, asked));
    auto j = random.node_joined();
    j.tenant = acme;
    j.site = where;
    j.pool = add_pool(acme, where);
    j.at = time.now();
    j.cert.role = pki::certificate_role::node;
    j.hardware_key = asked.seen.hardware_key;
    j.hardware_key_trusted = true;
    REQUIRE(decide_on(j, events::node::join{j}));
    return id;
  }
};

}  // namespace

TEST_CASE_METHOD(platform_site_world,
                 "superseding: who has a dedicated site waits there as its "
                 "owner does") {
  const auto kind =
      GENERATE(events::site::kind::dedicated, events::site::kind::shared);
  const bool is_dedicated = kind == events::site::kind::dedicated;
  const auto where =
      is_dedicated ? add_site(root, kind, acme) : add_site(root, kind);
  const auto id = ask_and_join(where);
  CHECK(look() == (is_dedicated ? 1 : 0));
  CHECK(status_at(state_of(id), time.now()) ==
        (is_dedicated ? jr::status::expired : jr::status::pending));
  // Not named to the owner.
  CHECK_FALSE(state_of(id).node);
}

TEST_CASE_METHOD(platform_site_world,
                 "superseding: the site's stream is asked, whatever the read "
                 "models say") {
  const auto where = add_site(root, events::site::kind::dedicated, acme);
  const auto id = ask_and_join(where);
  // Another tenant's since.
  change_site(where, root,
              events::site::update{std::nullopt, other, time.now()});
  CHECK(look() == 0);
  CHECK(status_at(state_of(id), time.now()) == jr::status::pending);
}
