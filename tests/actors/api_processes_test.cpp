// Calls of the API decide on the journal, not on what their process knows
// (DESIGN 3). Nothing here is saved by the tail: it is turned off.
#include "events/join_request.hpp"
#include "tests/actors/member_processes.hpp"
#include "tests/actors/waiting_machines.hpp"

#include <string>
#include <vector>

namespace bc::test {
namespace {

class two_apis : public member_processes {
 public:
  /// A node that both processes know, as it is now.
  session_member new_node(int n = 1) {
    auto m = new_member(n);
    // No events: it is adopted already, or answered as it is.
    for (auto* p : {&a, &b})
      REQUIRE(on(*p, "nodes.adopt", m).status == 200);
    return m;
  }
  api_reply change_pool(process& p, const std::string& change) {
    return p.call("pools.update", key,
                  "{\"tenantId\":\"" + w.owner.str() + "\",\"poolId\":\"" +
                      w.pool.str() + "\"," + change + "}");
  }
};

std::string code_of(const api_reply& r) {
  return r.status == 200 ? "OK" : at(r.body, "/error/code");
}

}  // namespace

TEST_CASE_METHOD(two_apis,
                 "two processes: a node cordoned through one is deleted "
                 "through the other",
                 "[actors][shared]") {
  start(no_tail);
  auto m = new_node();
  REQUIRE(on(a, "nodes.cordon", m).status == 200);
  CHECK(code_of(on(b, "nodes.delete", m)) == "OK");
  stop();
  CHECK(w.count("node.retired") == 1);
  check_journal();
}

TEST_CASE_METHOD(two_apis,
                 "two processes: what one did to a node the other decides by",
                 "[actors][shared]") {
  start(no_tail);
  auto m = new_node();
  REQUIRE(on(a, "nodes.cordon", m).status == 200);
  // Adopted, as far as the other knows: an unchanged node would be answered.
  auto adopted = on(b, "nodes.adopt", m);
  CHECK(at(adopted.body, "/status") == "adopted");
  CHECK(w.count("node.adopted") == 2);
  // And the first one knows it as cordoned still.
  auto again = on(a, "nodes.cordon", m);
  CHECK(at(again.body, "/status") == "cordoned");
  CHECK(w.count("node.cordoned") == 2);
  // Of the certificates the other knows none is revoked.
  REQUIRE(on(a, "nodes.revokeIdentity", m).status == 200);
  REQUIRE(on(b, "nodes.revokeIdentity", m).status == 200);
  CHECK(w.count("security.certificate-revoked") == 1);
  REQUIRE(on(a, "nodes.delete", m).status == 200);
  const std::string ping = R"(,"kind":"ping","idempotencyKey":"k")";
  CHECK(code_of(on(b, "commands.enqueue", m, ping)) == "INVALID_STATE");
  CHECK(code_of(on(b, "nodes.adopt", m)) == "INVALID_STATE");
  CHECK(w.count("node.command.enqueued") == 0);
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_apis,
                 "two processes: what a pool asks since, a call goes by",
                 "[actors][shared]") {
  start(no_tail);
  auto m = new_node();
  const auto run = [](const std::string& k) {
    return R"(,"kind":"acceptance.run","idempotencyKey":")" + k + "\"";
  };
  REQUIRE(code_of(on(b, "commands.enqueue", m, run("1"))) == "INVALID_STATE");
  REQUIRE(code_of(change_pool(
              a, R"("policy":{"acceptance":{"checks":["clock"]}})")) == "OK");
  CHECK(code_of(on(b, "commands.enqueue", m, run("2"))) == "OK");

  // Machines of a pool that runs no daemon, and then runs one again.
  REQUIRE(code_of(change_pool(b, R"("agent":"none")")) == "OK");
  REQUIRE(code_of(b.call("joinTokens.create", key, create_input("k"))) ==
          "INVALID_STATE");
  REQUIRE(code_of(change_pool(a, R"("agent":"bcd")")) == "OK");
  CHECK(code_of(b.call("joinTokens.create", key, create_input("k"))) == "OK");
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_apis,
                 "two processes: a token for a site that one has made since",
                 "[actors][shared]") {
  namespace sites = events::site;
  start(no_tail);
  const auto later = pki::mint<site_id>(w.time.now());
  auto create = [&] {
    return code_of(b.call("siteTokens.create", key,
                          "{\"tenantId\":\"" + w.owner.str() +
                              "\",\"siteId\":\"" + later.str() +
                              R"(","ttlSeconds":600,"idempotencyKey":"k"})"));
  };
  REQUIRE(create() == "NOT_FOUND");
  w.append<sites::event>(events::stream_of(later),
                         sites::created{later, w.owner, "later",
                                        sites::kind::custom, w.time.now()},
                         w.owner);
  CHECK(create() == "OK");
  w.delete_site(later);
  CHECK(create() == "OK");  // A retry.
  stop();
  check_journal();
}

TEST_CASE_METHOD(two_apis,
                 "two processes: a join request that came with another CSR "
                 "through one is approved by it through the other",
                 "[actors][shared]") {
  namespace request = events::join_request;
  auto order = order_of(w.owner, w.site, "a", csr_of('a'));
  request::defer first{{}, seconds{600}};
  first.what.id = pki::mint<join_request_id>(w.time.now());
  first.what.tenant = w.owner;
  first.what.site = w.site;
  first.what.attestor = order.attestor;
  first.what.subject = order.subject;
  first.what.seen = order.seen;
  first.what.at = w.time.now();
  const auto stream = events::stream_of(first.what.id);
  auto opened = decide(request::state{}, first).value().front();
  w.append<request::event>(stream, opened, w.owner);
  start(no_tail);
  auto approve = [&](process& p, char csr) {
    return code_of(p.call("joinRequests.approve", key,
                          "{\"tenantId\":\"" + w.owner.str() +
                              "\",\"poolId\":\"" + w.pool.str() +
                              "\",\"requestId\":\"" + first.what.id.str() +
                              "\",\"csrSha256\":\"" + csr_of(csr) + "\"}"));
  };
  REQUIRE(approve(b, 'b') == "CONFLICT");
  auto next = first;
  next.what.seen.csr_sha256 = csr_of('b');
  w.append<request::event>(
      stream, decide(evolve({}, opened), next).value().front(), w.owner);
  CHECK(approve(b, 'b') == "OK");
  stop();
  check_journal();
}

}  // namespace bc::test
