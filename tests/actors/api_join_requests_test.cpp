// joinRequests.list, approve and reject (spec: api-join-requests).
#include "events/event_names.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/slow_ledger.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;
using bc::test::csr_of;
using bc::test::defer_now;
using bc::test::id_of;
using bc::test::order_of;

namespace {

struct request_world : api_world {
  request_world() { neighbour = add_pool(acme, site); }

  join_request_id wait(const std::string& machine, const std::string& csr,
                       std::optional<pool_id> of = std::nullopt) {
    auto order = order_of(acme, site, machine, csr);
    order.pool = std::move(of);
    return id_of(defer_now(streams, order));
  }
  fields in(const pool_id& where) {
    return {{"tenantId", json_string(acme.str())},
            {"poolId", json_string(where.str())}};
  }
  reply decide(const std::string& method, const pool_id& where,
               const join_request_id& id, const fields& more = {}) {
    auto input = in(where);
    input["requestId"] = json_string(id.str());
    input.insert(more.begin(), more.end());
    return call(acme_key, "joinRequests." + method, input);
  }
  std::vector<std::string> list(const pool_id& where,
                                const std::string& state = {}) {
    auto got =
        call(acme_key, "joinRequests.list",
             with(in(where), "state", state.empty() ? "" : json_string(state)));
    INFO(got.text);
    REQUIRE(got.status == 200);
    return got.ids();
  }
  static std::vector<std::string> sorted(
      std::initializer_list<join_request_id> ids) {
    std::vector<std::string> out;
    for (const auto& id : ids)
      out.push_back(id.str());
    std::ranges::sort(out);
    return out;
  }

  pool_id neighbour;
};

}  // namespace

TEST_CASE_METHOD(request_world, "api join requests: the record, as it waits") {
  auto order = order_of(acme, site, "rack-1", csr_of('a'));
  order.seen.tpm->manufacturer = "IFX";
  order.seen.machine.gpu_uuids = {"gpu-5d1c3a52-9b7d-4e60-8a21-d0c5b7123456"};
  auto id = id_of(defer_now(streams, order));
  auto got = call(acme_key, "joinRequests.list", in(pool));
  INFO(got.text);
  REQUIRE(got.items() == 1);
  CHECK(got.at("/items/0/id") == id.str());
  CHECK(got.at("/items/0/state") == "pending");
  CHECK(got.at("/items/0/attestor") == "tpm");
  CHECK(got.at("/items/0/siteId") == site.str());
  CHECK_FALSE(got.has("/items/0/poolId"));
  CHECK(got.at("/items/0/csrSha256") == csr_of('a'));
  CHECK(got.at("/items/0/claims/serials") == R"(["SN-rack-1"])");
  CHECK(got.at("/items/0/claims/hostname") == "rack-1");
  CHECK(got.at("/items/0/claims/gpuUuids") ==
        R"(["GPU-5d1c3a52-9b7d-4e60-8a21-d0c5b7123456"])");
  CHECK(got.at("/items/0/hardwareKey") == order.seen.hardware_key);
  CHECK(got.at("/items/0/hardwareKeyTrusted") == "true");
  CHECK(got.at("/items/0/ekHash") == order.seen.tpm->ek_hash);
  CHECK(got.at("/items/0/ekCert") == "absent");
  CHECK(got.at("/items/0/ekManufacturer") == "IFX");
  CHECK(got.at("/items/0/claimsChanged") == "false");
  CHECK(got.at("/items/0/createdAt") == to_rfc3339(time.now()));
  CHECK(got.at("/items/0/expiresAt") ==
        to_rfc3339(time.now() + seconds{86'400}));

  // Of a machine that a site agent vouched for.
  auto found = order_of(acme, site, "pxe", csr_of('b'));
  found.attestor = "discovery";
  found.seen.tpm.reset();
  found.subject = events::join_request::mac_subject(site, "3c:ec:ef:00:00:01");
  auto agent = random.id<node_id>();
  found.seen.vouch = events::join_request::vouched{
      "3c:ec:ef:00:00:01", "10.0.0.9", agent, 4, "wf-1"};
  auto other_id = id_of(defer_now(streams, found));
  got = call(acme_key, "joinRequests.list", in(pool));
  REQUIRE(got.items() == 2);
  const std::string at =
      got.at("/items/0/id") == other_id.str() ? "/items/0" : "/items/1";
  CHECK(got.at(at + "/mac") == "3c:ec:ef:00:00:01");
  CHECK(got.at(at + "/ip") == "10.0.0.9");
  CHECK(got.at(at + "/vouchedBy") == agent.str());
  CHECK(got.at(at + "/bootLeaseEpoch") == "4");
  CHECK(got.at(at + "/workflowId") == "wf-1");
  CHECK_FALSE(got.has(at + "/ekHash"));
}

TEST_CASE_METHOD(request_world,
                 "api join requests: which of them a pool sees") {
  auto unclaimed = wait("a", csr_of('a'));
  auto own = wait("b", csr_of('b'), pool);
  auto theirs = wait("c", csr_of('c'), neighbour);
  auto far = id_of(
      defer_now(streams, order_of(acme, add_site(acme), "d", csr_of('d'))));
  CHECK(list(pool) == sorted({unclaimed, own}));
  CHECK(list(neighbour) == sorted({unclaimed, theirs}));
  // Nor can it decide what it does not see.
  for (const auto& id : {theirs, far, random.id<join_request_id>()})
    for (const std::string method : {"approve", "reject"}) {
      auto got = decide(method, pool, id);
      CHECK(got.code() == "NOT_FOUND");
    }
  // Whoever decides has claimed it.
  auto got = decide("approve", pool, unclaimed);
  INFO(got.text);
  REQUIRE(got.status == 200);
  CHECK(got.at("/poolId") == pool.str());
  CHECK(list(neighbour, "all") == sorted({theirs}));
  CHECK(list(pool, "approved") == sorted({unclaimed}));
  CHECK(decide("reject", neighbour, unclaimed).code() == "NOT_FOUND");
  auto rejected = wait("e", csr_of('e'));
  CHECK(decide("reject", neighbour, rejected).at("/poolId") == neighbour.str());
  CHECK(list(pool, "all") == sorted({unclaimed, own}));
}

TEST_CASE_METHOD(request_world,
                 "api join requests: a site that serves the tenant no more "
                 "shows it nothing new") {
  auto served = add_site(root, events::site::kind::dedicated, acme);
  auto there = add_pool(acme, served);
  auto unclaimed =
      id_of(defer_now(streams, order_of(root, served, "a", csr_of('a'))));
  auto named = order_of(acme, served, "b", csr_of('b'));
  named.pool = there;
  auto own = id_of(defer_now(streams, named));
  CHECK(list(there) == sorted({unclaimed, own}));
  change_site(served, root,
              events::site::update{std::nullopt, other, time.now()});
  CHECK(list(there) == sorted({own}));
  CHECK(decide("approve", there, unclaimed).code() == "NOT_FOUND");
  CHECK(decide("reject", there, unclaimed).code() == "NOT_FOUND");
  CHECK(decide("reject", there, own).status == 200);
}

TEST_CASE_METHOD(request_world,
                 "api join requests: approve and reject in every state (case "
                 "131)") {
  struct row {
    std::string state, approve, reject;
  };
  int n = 0;
  for (const auto& r :
       std::vector<row>{{"pending", "", ""},
                        {"approved", "", ""},
                        {"rejected", "INVALID_STATE", ""},
                        {"expired", "INVALID_STATE", "INVALID_STATE"},
                        {"approval expired", "INVALID_STATE", "INVALID_STATE"},
                        {"consumed", "INVALID_STATE", "INVALID_STATE"}})
    for (const std::string method : {"approve", "reject"}) {
      INFO(method << " of " << r.state);
      auto csr = to_hex(pki::sha256(as_bytes(std::to_string(++n))));
      auto id = wait("m-" + std::to_string(n), csr);
      if (r.state == "approved" || r.state == "consumed")
        REQUIRE(decide("approve", pool, id).status == 200);
      if (r.state == "approval expired")
        REQUIRE(decide("approve", pool, id, {{"ttlSeconds", "60"}}).status ==
                200);
      if (r.state == "rejected")
        REQUIRE(decide("reject", pool, id).status == 200);
      if (r.state == "consumed") {
        events::join_request::consumed c{id,      site, random.id<node_id>(),
                                         "tpm:x", csr,  time.now()};
        append({on(events::stream_of(id), acme,
                   {events::join_request::encode(c)})});
      }
      if (r.state == "expired")
        time.advance(seconds{86'400});
      if (r.state == "approval expired")
        time.advance(seconds{60});
      auto before = position();
      auto got = decide(method, pool, id);
      INFO(got.text);
      const auto& want = method == "approve" ? r.approve : r.reject;
      CHECK(got.code() == want);
      const bool unchanged = (method == "approve" && r.state == "approved") ||
                             (method == "reject" && r.state == "rejected");
      CHECK((position() == before) == (unchanged || !want.empty()));
      if (want.empty())
        CHECK(got.at("/state") ==
              (method == "approve" ? "approved" : "rejected"));
      // Once more it answers the same, without another event.
      if (want.empty()) {
        before = position();
        auto again = decide(method, pool, id);
        CHECK(again.status == 200);
        CHECK(again.at("/decidedAt") == got.at("/decidedAt"));
        CHECK(position() == before);
      }
    }
}

TEST_CASE_METHOD(request_world,
                 "api join requests: approved for as long as it says") {
  auto a = wait("a", csr_of('a'));
  auto got = decide("approve", pool, a, {{"reason", "\"rack b7\""}});
  CHECK(got.at("/expiresAt") == to_rfc3339(time.now() + seconds{3600}));
  CHECK(got.at("/decidedBy") == "alice");
  CHECK(got.at("/decidedAt") == to_rfc3339(time.now()));
  CHECK(got.at("/reason") == "rack b7");
  CHECK(got.has("/position"));
  // Twice is the approval unchanged, whatever else is asked for.
  time.advance(seconds{10});
  auto again = decide("approve", pool, a,
                      {{"ttlSeconds", "86400"}, {"reason", "\"other\""}});
  CHECK(again.at("/expiresAt") == got.at("/expiresAt"));
  CHECK(again.at("/reason") == "rack b7");
  auto b = wait("b", csr_of('b'));
  CHECK(decide("approve", pool, b, {{"ttlSeconds", "900"}}).at("/expiresAt") ==
        to_rfc3339(time.now() + seconds{900}));
  // As the list, and the events, have it.
  CHECK(list(pool, "approved") == sorted({a, b}));
  time.advance(seconds{900});
  CHECK(list(pool, "approved") == sorted({a}));
  CHECK(list(pool, "expired") == sorted({b}));
  CHECK(list(pool, "pending").empty());
  CHECK(list(pool, "all") == sorted({a, b}));
  CHECK(count(events::name::join_request_approved) == 2);
}

TEST_CASE_METHOD(request_world,
                 "api join requests: the CSR changed since it was looked at "
                 "(case 133)") {
  auto id = wait("a", csr_of('a'));
  CHECK(wait("a", csr_of('b')) == id);
  auto before = position();
  auto old =
      decide("approve", pool, id, {{"csrSha256", json_string(csr_of('a'))}});
  CHECK(old.status == 409);
  CHECK(old.code() == "CONFLICT");
  CHECK(position() == before);
  // The change is seen.
  auto listed = call(acme_key, "joinRequests.list", in(pool));
  CHECK(listed.at("/items/0/claimsChanged") == "true");
  CHECK(listed.at("/items/0/csrSha256") == csr_of('b'));
  auto now =
      decide("approve", pool, id, {{"csrSha256", json_string(csr_of('b'))}});
  CHECK(now.status == 200);
  CHECK(decide("approve", pool, id, {{"csrSha256", json_string(csr_of('a'))}})
            .code() == "CONFLICT");
}

TEST_CASE_METHOD(request_world,
                 "api join requests: a pool that is archived or runs no "
                 "daemon") {
  auto id = wait("a", csr_of('a'), pool);
  auto unclaimed = wait("b", csr_of('b'));
  auto metal = add_pool_without_daemon();
  CHECK(decide("approve", metal, unclaimed).code() == "INVALID_STATE");
  change_pool(pool, acme, events::pool::archive{time.now()});
  CHECK(decide("approve", pool, id).code() == "INVALID_STATE");
  CHECK(decide("approve", pool, unclaimed).code() == "INVALID_STATE");
  CHECK(list(pool) == sorted({id, unclaimed}));
  // What it has can still be put down.
  CHECK(decide("reject", pool, id).status == 200);
}

TEST_CASE_METHOD(request_world,
                 "api join requests: free text in decisions (case 136)") {
  auto emoji = [](int n) {
    std::string out;
    for (int i = 0; i < n; ++i)
      out += "\xf0\x9f\x94\xa7";
    return out;
  };
  int n = 0;
  for (const auto& [reason, good] : std::vector<std::pair<std::string, bool>>{
           {R"("a\nb")", false},
           {R"("a\tb")", false},
           {R"("a\u007fb")", false},
           {R"("\u0000")", false},
           {R"("\u001f")", false},
           {json_string(std::string(257, 'a')), false},
           {json_string(emoji(257)), false},
           {"7", false},
           {"null", false},
           {json_string(std::string(256, 'a')), true},
           {json_string(emoji(256)), true},
           {R"("a\u2028b")", true},
           {R"("\u202eabc\u202c")", true},
           {"\"\"", true}})
    for (const std::string method : {"approve", "reject"}) {
      INFO(method << " " << reason.substr(0, 40));
      auto csr = to_hex(pki::sha256(as_bytes(std::to_string(++n))));
      auto id = wait("m-" + std::to_string(n), csr);
      auto before = position();
      auto got = decide(method, pool, id, {{"reason", reason}});
      INFO(got.text.substr(0, 300));
      if (good) {
        CHECK(got.status == 200);
        auto told = json::parse(reason);
        REQUIRE(told);
        // Kept as it is, to the last byte; an empty one says nothing.
        CHECK(got.at("/reason") == told.value().GetString());
        CHECK(got.has("/reason") == (reason != "\"\""));
      } else {
        CHECK(got.status == 400);
        // NUL is no JSON of ours, wherever it stands.
        CHECK(got.path() == (reason == R"("\u0000")" ? "" : "/reason"));
        CHECK(position() == before);
      }
    }
}

TEST_CASE_METHOD(request_world,
                 "api join requests: a thousand machines, page by page (case "
                 "132)") {
  std::vector<std::string> want;
  for (int i = 0; i < 1000; ++i)
    want.push_back(wait("m-" + std::to_string(i), random.hex(),
                        i % 3 == 0 ? std::optional{pool} : std::nullopt)
                       .str());
  std::ranges::sort(want);
  // Each once more: not one more.
  CHECK(count("security.join-request.opened") == 1000);
  for (const char* limit : {"100", "200"}) {
    std::vector<std::string> got;
    std::string cursor;
    do {
      auto page = call(acme_key, "joinRequests.list",
                       with(with(in(pool), "limit", limit), "cursor",
                            cursor.empty() ? "" : json_string(cursor)));
      for (auto& id : page.ids())
        got.push_back(std::move(id));
      cursor = page.at("/cursor");
    } while (!cursor.empty());
    CHECK(got == want);
  }
  // The site is full now.
  auto late = order_of(acme, site, "late", csr_of('f'));
  CHECK(test::shortly(defer_now(streams, late)) == "full");
}

TEST_CASE_METHOD(request_world,
                 "api join requests: a decision is in the audit, with whose") {
  auto a = wait("a", csr_of('a')), b = wait("b", csr_of('b'));
  REQUIRE(decide("approve", pool, a, {{"reason", "\"rack b7\""}}).status ==
          200);
  REQUIRE(decide("reject", pool, b).status == 200);
  auto got = call(acme_key, "audit.list",
                  {{"tenantId", json_string(acme.str())},
                   {"resource", json_string("compute-pool/" + pool.str())},
                   {"action", "\"compute:join-tokens:create\""}});
  INFO(got.text);
  REQUIRE(got.items() == 2);
  std::set<std::string> events;
  for (const std::string at : {"/items/0", "/items/1"}) {
    CHECK(got.at(at + "/principal") == "alice");
    events.insert(got.at(at + "/event"));
    CHECK_FALSE(got.has(at + "/details/claims"));
  }
  CHECK(events == std::set<std::string>{"security.join-request.approved",
                                        "security.join-request.rejected"});
}

TEST_CASE_METHOD(request_world,
                 "api join requests: two operators at once, one decides") {
  auto id = wait("a", csr_of('a'));
  auto slow = std::make_shared<slow_ledger>(*store, time);
  std::vector<reply> got;
  auto ask = [&](const std::string& method, const pool_id& where) {
    auto input = in(where);
    input["requestId"] = json_string(id.str());
    actors::run_api_call(env, slow,
                         {"joinRequests",
                          method,
                          "Bearer " + acme_key,
                          body_of(input),
                          "req",
                          {}},
                         [&](actors::api_reply r) {
                           got.push_back({r.status, r.body});
                         });
  };
  ask("approve", pool);
  ask("approve", neighbour);
  for (int i = 0; i < 10 && slow->flush(); ++i) {
  }
  REQUIRE(got.size() == 2);
  CHECK(got[0].status == 200);
  CHECK(got[1].code() == "NOT_FOUND");
  got.clear();
  // Of two that decide the other way round, the later finds the earlier's.
  ask("reject", pool);
  ask("approve", pool);
  for (int i = 0; i < 10 && slow->flush(); ++i) {
  }
  REQUIRE(got.size() == 2);
  CHECK(count("security.join-request.approved") == 1);
  CHECK(count("security.join-request.rejected") == 1);
  // A pool archived meanwhile takes nobody in.
  auto late = wait("b", csr_of('b'), neighbour);
  got.clear();
  auto input = in(neighbour);
  input["requestId"] = json_string(late.str());
  actors::run_api_call(env, slow,
                       {"joinRequests",
                        "approve",
                        "Bearer " + acme_key,
                        body_of(input),
                        "req",
                        {}},
                       [&](actors::api_reply r) {
                         got.push_back({r.status, r.body});
                       });
  change_pool(neighbour, acme, events::pool::archive{time.now()});
  for (int i = 0; i < 10 && slow->flush(); ++i) {
  }
  REQUIRE(got.size() == 1);
  CHECK(got[0].code() == "INVALID_STATE");
}
