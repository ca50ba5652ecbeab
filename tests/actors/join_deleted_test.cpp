// What a deleted node leaves behind, and what a join tells of another tenant's
// machine (cases 11, 64 and 71).

#include "actors/api/api.hpp"
#include "base/json.hpp"
#include "events/audit.hpp"
#include "events/credential.hpp"
#include "events/incarnations.hpp"
#include "tests/actors/join_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::test;

namespace {

/// The join flow, and the API over the same journal.
class operated_world : public join_world {
 public:
  operated_world() {
    auto secret = to_base64url(pki::random_bytes(32));
    events::credential::created c{pki::mint<credential_id>(time.now()),
                                  owner,
                                  "alice",
                                  {{"*", "*"}},
                                  time.now(),
                                  to_hex(pki::sha256(as_bytes(secret)))};
    append<events::credential::event>(events::stream_of(c.id), c, owner);
    bearer_ = "Bearer " + c.id.str() + "." + secret;
  }

  void call(const std::string& method, const node_id& node) {
    auto known = events::incarnations::load(*journal);
    REQUIRE(known);
    actors::api_environment env{
        root, "test",
        std::make_shared<const events::incarnations>(std::move(known).value())};
    int status = 0;
    actors::run_api_call(
        std::make_shared<const actors::api_environment>(std::move(env)), ledger,
        {"nodes", method, bearer_,
         R"({"tenantId":")" + owner.str() + R"(","nodeId":")" + node.str() +
             R"("})",
         "req-2", ""},
        [&](actors::api_reply r) {
          INFO(r.body);
          status = r.status;
          CHECK(r.status == 200);
        });
    REQUIRE(status == 200);
  }

  void delete_node(const node_id& node) {
    call("cordon", node);
    call("delete", node);
  }

  /// Ids of all rows of the audit, of one tenant.
  std::vector<std::string> audit_of(const tenant_id& tenant) {
    std::vector<std::string> out;
    for (const auto& e : after(0)) {
      auto entry = events::audit_of(e);
      REQUIRE(entry);
      if (entry.value() && entry.value()->tenant == tenant.str())
        out.push_back(entry.value()->id);
    }
    return out;
  }

 private:
  std::string bearer_;
};

}  // namespace

TEST_CASE("join after delete: a used token stays used up (case 11)") {
  operated_world w;
  auto m = make_machine(1);
  auto token = w.mint_token();
  auto first = w.join(m, token.text());
  REQUIRE(joined(first));
  w.delete_node(node_of(first.answer));
  // Reinstalled, and another machine.
  for (int i : {1, 2}) {
    auto head = w.head();
    auto refused = w.join(make_machine(i), token.text());
    check_refused(w, refused, head, events::refusal_reason::token_exhausted,
                  w.owner);
    CHECK(w.uses_left(token) == 0);
  }
  // Not even the stored answer: its certificate is revoked.
  auto head = w.head();
  check_refused(w, w.join(m, token.text()), head,
                events::refusal_reason::token_exhausted, w.owner);
}

TEST_CASE("join after delete: reinstalled, it is a new node (case 64)") {
  operated_world w;
  auto old = make_machine(1);
  auto first = w.join(old, w.mint_token().text());
  REQUIRE(joined(first));
  auto node = node_of(first.answer);
  w.delete_node(node);
  // The same hardware and hostname, another key, and a plain token.
  auto token = w.mint_token();
  auto second = w.join(make_machine(1), token.text());
  REQUIRE(joined(second));
  CHECK(node_of(second.answer) != node);
  CHECK(w.uses_left(token) == 0);
  auto written = w.after(0);
  const auto& e =
      *std::find_if(written.rbegin(), written.rend(),
                    [](const auto& one) { return one.type == "node.joined"; });
  auto event = events::node::decode(e);
  REQUIRE(event);
  const auto& j = std::get<events::node::joined>(event.value());
  CHECK(!j.reclaim);
  CHECK(j.cert.generation == 1);
  auto entry = events::audit_of(e);
  REQUIRE(entry);
  CHECK(entry.value()->action == "node.joined");
  // The old one is over and stays so.
  auto holder = w.journal->holder(events::node::hardware_claim(j.hardware_key));
  REQUIRE(holder);
  REQUIRE(holder.value());
  CHECK(holder.value()->stream == events::stream_of(node_of(second.answer)));
}

TEST_CASE("join: two machines called localhost are two nodes (case 64)") {
  operated_world w;
  auto one = make_machine(1), two = make_machine(2);
  one.claims.hostname = two.claims.hostname = "localhost";
  auto token = w.mint_token([](auto& t) { t.max_uses = 2; });
  auto first = w.join(one, token.text());
  auto second = w.join(two, token.text());
  REQUIRE(joined(first));
  REQUIRE(joined(second));
  CHECK(node_of(first.answer) != node_of(second.answer));
}

TEST_CASE(
    "join: who owns a machine learns nothing of others' tries (case 71)") {
  operated_world w;
  auto first = w.join(make_machine(1), w.mint_token().text());
  REQUIRE(joined(first));
  auto node = node_of(first.answer);
  auto stranger = w.new_tenant("stranger", false);
  auto their_site = w.new_site();
  auto their_pool = w.new_pool(stranger, their_site, events::pool::agent::bcd);
  auto token = w.mint_token([&](auto& t) {
    t.tenant = stranger;
    t.site = their_site;
    t.pool = their_pool;
    t.allow_reclaim = true;
  });
  auto before = w.audit_of(w.owner);
  auto head = w.head();
  auto request = w.request(make_machine(1), token.text());
  request.site_id = their_site.str();
  auto refused = w.join(request);
  check_refused(w, refused, head, events::refusal_reason::join_reclaim,
                stranger);
  CHECK(w.uses_left(token) == 1);
  CHECK(w.audit_of(w.owner) == before);
  CHECK(w.audit_of(stranger).size() == 3);  // itself, its pool, its token
  // Nor do they learn of the owner.
  const auto& r = refused.reports.front();
  for (const auto& text :
       {refused.answer.message, r.hardware_key, r.csr_sha256, r.attestor})
    for (const auto& secret :
         {node.str(), w.owner.str(), w.site.str(), w.pool.str()})
      CHECK(text.find(secret) == std::string::npos);
  std::int64_t generation = 0;
  w.ledger->node(node,
                 [&](auto state) { generation = state.value()->generation; });
  CHECK(generation == 1);
}
