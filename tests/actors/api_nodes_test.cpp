// What operators decide on nodes (spec: DESIGN sections 8 to 10).

#include "actors/api/node_records.hpp"
#include "events/actor.hpp"
#include "tests/actors/api_world.hpp"
#include "tests/actors/disturbed_ledgers.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace bc;
using namespace bc::api_test;
namespace node = bc::events::node;

namespace {

class nodes_world : public api_world {
 public:
  node::joined new_node(bool acceptance = false) {
    auto j = random.node_joined();
    j.tenant = acme;
    j.site = site;
    j.pool = pool;
    j.at = time.now();
    j.acceptance = acceptance;
    j.cert.not_before = time.now() - seconds{300};
    j.cert.not_after = time.now() + seconds{86'100};
    REQUIRE(decide_on(j, node::join{j}));
    return j;
  }

  /// A node that got there by what is done to any node.
  node::joined node_in(node::status status) {
    auto j = new_node();
    if (status == node::status::adopted)
      adopt(j);
    if (status == node::status::cordoned || status == node::status::retired)
      REQUIRE(decide_on(j, node::cordon{time.now(), ""}));
    if (status == node::status::retired)
      REQUIRE(decide_on(j, node::retire{time.now(), ""}));
    return j;
  }

  fields naming(const node::joined& j) const {
    return {{"tenantId", json_string(acme.str())},
            {"nodeId", json_string(j.id.str())}};
  }
  reply on(const node::joined& j, const std::string& method) {
    return call(acme_key, "nodes." + method, naming(j));
  }
  reply get(const node::joined& j) { return on(j, "get"); }

  /// Types of the node's conditions, in order.
  std::vector<std::string> conditions(const node::joined& j) {
    auto found = get(j);
    std::vector<std::string> out;
    for (int i = 0;; ++i) {
      auto at = "/conditions/" + std::to_string(i);
      if (!found.has(at))
        return out;
      CHECK(!found.at(at + "/message").empty());
      out.push_back(found.at(at + "/type"));
    }
  }
};

}  // namespace

TEST_CASE("api nodes: what each method does to a node in each state") {
  using node::status;
  struct outcome {
    status before;
    std::string method;
    std::string now;  // the status after, or an error's code
    std::vector<std::string> events;
  };
  const std::string revoked = "security.certificate-revoked";
  const std::vector<outcome> table = {
      {status::adopting, "adopt", "adopted", {"node.adopted"}},
      {status::adopted, "adopt", "adopted", {}},
      {status::cordoned, "adopt", "adopted", {"node.adopted"}},
      {status::retired, "adopt", "INVALID_STATE", {}},
      {status::adopting, "cordon", "cordoned", {"node.cordoned"}},
      {status::adopted, "cordon", "cordoned", {"node.cordoned"}},
      {status::cordoned, "cordon", "cordoned", {}},
      {status::retired, "cordon", "INVALID_STATE", {}},
      {status::adopting, "delete", "INVALID_STATE", {}},
      {status::adopted, "delete", "INVALID_STATE", {}},
      {status::cordoned, "delete", "retired", {revoked, "node.retired"}},
      {status::retired, "delete", "retired", {}},
      {status::adopting, "revokeIdentity", "adopting", {revoked}},
      {status::adopted, "revokeIdentity", "adopted", {revoked}},
      {status::cordoned, "revokeIdentity", "cordoned", {revoked}},
      {status::retired, "revokeIdentity", "retired", {}},
  };
  nodes_world w;
  for (const auto& row : table) {
    CAPTURE(node::status_text(row.before), row.method);
    auto j = w.node_in(row.before);
    auto before = w.position();
    w.time.advance(seconds{1});
    auto got = w.on(j, row.method);
    INFO(got.text);
    std::vector<std::string> written;
    const auto events = w.store->read_all(before, 10).value();
    for (const auto& e : events) {
      written.push_back(e.type);
      CHECK(events::parse_actor(e.actor).principal == "alice");
      CHECK(e.tenant == w.acme.str());
      CHECK(e.stream == "node:" + j.id.str());
    }
    CHECK(written == row.events);
    if (got.status != 200) {
      CHECK(got.code() == row.now);
      continue;
    }
    CHECK(got.at("/status") == row.now);
    CHECK(got.at("/position") == std::to_string(w.position()));
    // And once more: the same record, and nothing written.
    auto again = w.on(j, row.method);
    CHECK(again.text == got.text);
    CHECK(w.position() == before + row.events.size());
  }
}

TEST_CASE("api nodes: only a cordoned node is deleted, and it is said how") {
  nodes_world w;
  auto got = w.on(w.node_in(node::status::adopted), "delete");
  CHECK(got.status == 409);
  CHECK(got.at("/error/message").find("cordon it first") != std::string::npos);
}

TEST_CASE("api nodes: a change answers the record that lists show") {
  nodes_world w;
  auto j = w.new_node();
  for (const std::string method :
       {"adopt", "cordon", "revokeIdentity", "delete"}) {
    INFO(method);
    w.time.advance(seconds{7});
    auto changed = w.on(j, method);
    REQUIRE(changed.status == 200);
    auto listed = w.call(
        w.acme_key, "nodes.list",
        {{"tenantId", json_string(w.acme.str())}, {"includeRetired", "true"}});
    auto record = listed.at("/items/0");
    record.pop_back();
    CHECK(changed.text ==
          record + ",\"position\":" + std::to_string(w.position()) + "}");
    // The same but for the list of certificates.
    record += ",\"certificates\":[";
    CHECK(w.get(j).text.substr(0, record.size()) == record);
  }
}

TEST_CASE("api nodes: streams and read models agree, whatever happened") {
  nodes_world w;
  w.random_history(150);
  auto text_of = [&](const projections::node_row& row) {
    json::writer out;
    out.begin_object();
    put(out, actors::api::node_record{row, w.time.now()});
    return out.end_object().str();
  };
  int changed = 0;
  const auto events = w.store->read_all(0, 100'000).value();
  for (const auto& e : events) {
    if (e.type != "node.joined" || e.version != 1)
      continue;
    auto state = w.node_state(node_id::parse(e.stream.substr(5)).value());
    auto row = w.reader->get_node(e.tenant, state.node->id.str());
    REQUIRE(row);
    REQUIRE(row.value());
    CHECK(text_of(actors::api::row_of(state)) == text_of(*row.value()));
    changed += state.version > 2 ? 1 : 0;
  }
  CHECK(changed > 5);
}

TEST_CASE("api nodes: of many certificates the newest are shown, and counted") {
  nodes_world w;
  auto j = w.node_in(node::status::adopted);
  for (int i = 1; i <= 25; ++i) {
    w.time.advance(seconds{700});
    REQUIRE(w.reclaim(j));
  }
  auto found = w.get(j);
  CHECK(found.at("/certificateCount") == "26");
  CHECK(found.at("/certificates/0/generation") == "26");
  CHECK(found.at("/certificates/19/generation") == "7");
  CHECK(!found.has("/certificates/20"));
}

TEST_CASE("api nodes: the endorsement key that a node is bound to") {
  nodes_world w;
  auto j = w.new_node();
  CHECK(!w.get(j).has("/ekHash"));
  auto bound = w.random.node_joined();
  bound.tenant = w.acme;
  bound.site = w.site;
  bound.pool = w.pool;
  bound.ek_hash = w.random.hex();
  REQUIRE(w.decide_on(bound, node::join{bound}));
  CHECK(w.get(bound).at("/ekHash") == bound.ek_hash);
  // From the read model or from the stream.
  CHECK(w.on(bound, "cordon").at("/ekHash") == bound.ek_hash);
  // The machine goes on by a certificate, as the same one.
  REQUIRE(w.rejoin(bound, "again"));
  CHECK(w.get(bound).at("/ekHash") == bound.ek_hash);
}

TEST_CASE("api nodes: every certificate is shown, the newest first") {
  nodes_world w;
  auto j = w.node_in(node::status::adopted);
  for (int i = 0; i < 5; ++i) {
    w.time.advance(seconds{700});
    REQUIRE(w.reclaim(j));
  }
  auto found = w.get(j);
  for (int i = 0; i < 6; ++i) {
    auto at = "/certificates/" + std::to_string(i);
    CHECK(found.at(at + "/generation") == std::to_string(6 - i));
    CHECK(found.has(at + "/revokedAt") == (i > 0));
    CHECK(found.at(at + "/revokedFor") == (i > 0 ? "reclaimed" : ""));
  }
  CHECK(!found.has("/certificates/6"));
  CHECK(found.at("/certificate") == found.at("/certificates/0"));
}

TEST_CASE("api nodes: the reason is kept in the event") {
  nodes_world w;
  auto j = w.node_in(node::status::adopted);
  const std::string words = "fan 3 \xe2\x80\x93 \"smoke\"";
  auto because = with(w.naming(j), "reason", json_string(words));
  auto cordoned = w.call(w.acme_key, "nodes.cordon", because);
  REQUIRE(cordoned.status == 200);
  CHECK(cordoned.at("/conditions/0/type") == "Cordoned");
  CHECK(cordoned.at("/conditions/0/message") == words);
  // Whoever comes second does not put other words there.
  CHECK(
      w.call(w.acme_key, "nodes.cordon", with(because, "reason", "\"another\""))
          .at("/conditions/0/message") == words);
  REQUIRE(w.call(w.acme_key, "nodes.revokeIdentity", because).status == 200);
  REQUIRE(w.call(w.acme_key, "nodes.delete", because).status == 200);
  int kept = 0;
  const auto events = w.store->read_all(0, 1000).value();
  for (const auto& e : events) {
    auto data = json::parse_object(e.data);
    REQUIRE(data);
    for (const char* field : {"reason", "note"})
      if (auto it = data.value().FindMember(field);
          it != data.value().MemberEnd() && it->value.GetString() == words)
        ++kept;
  }
  CHECK(kept == 3);
}

TEST_CASE("api nodes: reasons are words of 1 to 256 characters") {
  nodes_world w;
  auto j = w.node_in(node::status::cordoned);
  std::string most;
  for (int i = 0; i < 256; ++i)
    most += "\xc3\xa9";
  for (const std::string method : {"cordon", "delete", "revokeIdentity"}) {
    auto try_reason = [&](const std::string& raw) {
      return w.call(w.acme_key, "nodes." + method,
                    with(w.naming(j), "reason", raw));
    };
    for (const auto& bad :
         {std::string{"\"\""}, std::string{"7"}, std::string{"null"},
          json_string("a\nb"), json_string("a\tb"), json_string("a\x7f"),
          json_string("\x01"), json_string(std::string(257, 'a'))}) {
      INFO(method << " " << bad);
      auto got = try_reason(bad);
      CHECK(got.code() == "INVALID_INPUT");
      CHECK(got.path() == "/reason");
    }
    if (method != "delete")
      CHECK(try_reason(json_string(most)).status == 200);
  }
  CHECK(w.call(w.acme_key, "nodes.adopt",
               with(w.naming(j), "reason", "\"because\""))
            .path() == "/reason");
}

TEST_CASE("api nodes: another tenant's node is as one that does not exist") {
  nodes_world w;
  auto j = w.node_in(node::status::cordoned);
  auto before = w.position();
  for (const std::string method :
       {"get", "adopt", "cordon", "delete", "revokeIdentity"})
    for (const auto& [key, tenant] :
         std::vector<std::pair<std::string, tenant_id>>{{w.other_key, w.other},
                                                        {w.root_key, w.root}}) {
      INFO(method);
      auto ask = [&](const std::string& id) {
        return w.call(key, "nodes." + method,
                      {{"tenantId", json_string(tenant.str())},
                       {"nodeId", json_string(id)}});
      };
      auto theirs = ask(j.id.str());
      CHECK(theirs.code() == "NOT_FOUND");
      CHECK(theirs.text == ask("node_" + std::string(26, '0')).text);
    }
  CHECK(w.position() == before);
}

TEST_CASE("api nodes: a node that moved meanwhile is decided on again") {
  nodes_world w;
  auto racing = test::interrupt(w);
  SECTION("another operator cordoned it: unchanged, and one event") {
    auto j = w.node_in(node::status::adopted);
    racing->meanwhile = [&] {
      w.decide_on(j, node::cordon{w.time.now(), "the first"});
    };
    auto got = w.on(j, "cordon");
    CHECK(got.at("/conditions/0/message") == "the first");
    CHECK(w.count("node.cordoned") == 1);
  }
  SECTION("it was adopted: what needs a cordon is refused") {
    auto j = w.node_in(node::status::cordoned);
    racing->meanwhile = [&] { w.decide_on(j, node::adopt{w.time.now()}); };
    CHECK(w.on(j, "delete").code() == "INVALID_STATE");
    CHECK(w.count("node.retired") == 0);
  }
  SECTION("it was reclaimed: the new certificate is revoked, not the old") {
    auto j = w.node_in(node::status::adopted);
    racing->meanwhile = [&] { w.reclaim(j); };
    auto got = w.on(j, "revokeIdentity");
    CHECK(got.at("/identityGeneration") == "2");
    CHECK(got.at("/certificate/revokedFor") == "revoked");
    CHECK(w.count("security.certificate-revoked") == 2);
  }
  SECTION("an answer without an event is confirmed") {
    auto j = w.node_in(node::status::cordoned);
    racing->meanwhile = [&] { w.decide_on(j, node::adopt{w.time.now()}); };
    CHECK(w.on(j, "cordon").at("/status") == "cordoned");
    CHECK(w.count("node.cordoned") == 2);
  }
}

TEST_CASE("api nodes: conditions say what an operator should know") {
  nodes_world w;
  SECTION("none of a node in service") {
    CHECK(w.conditions(w.node_in(node::status::adopted)) == names{});
  }
  SECTION("waiting for acceptance, until it is adopted") {
    auto j = w.new_node(true);
    auto found = w.get(j);
    CHECK(found.at("/conditions/0/type") == "AwaitingAcceptance");
    CHECK(found.at("/conditions/0/since") == found.at("/joinedAt"));
    w.adopt(j);
    CHECK(w.conditions(j) == names{});
  }
  SECTION("acceptance that failed, until it is adopted or joins again") {
    auto j = w.new_node(true);
    w.time.advance(seconds{1});
    REQUIRE(w.open_session(j, "sess_1"));
    CHECK(w.conditions(j) == names{"AwaitingAcceptance"});
    CHECK(w.get(j).at("/conditions/0/since") == to_rfc3339(w.time.now()));
    w.time.advance(seconds{1});
    REQUIRE(w.decide_on(
        j, node::acceptance_result{w.time.now(), {"burn-in", "links"}}));
    CHECK(w.conditions(j) == names{"AcceptanceFailed"});
    CHECK(w.get(j).at("/conditions/0/since") == to_rfc3339(w.time.now()));
    CHECK(w.get(j).at("/conditions/0/message").find("burn-in, links") !=
          std::string::npos);
    SECTION("nodes.adopt after a fix") {
      REQUIRE(w.on(j, "adopt").status == 200);
      CHECK(w.conditions(j) == names{});
    }
    SECTION("reclaimed") {
      w.reclaim(j);
      CHECK(w.conditions(j) == names{"AwaitingAcceptance"});
    }
  }
  SECTION("without acceptance it waits for nothing") {
    CHECK(w.conditions(w.new_node()) == names{});
  }
  SECTION("a certificate that is over, at its very end") {
    auto j = w.node_in(node::status::adopted);
    const auto due = node::warn_from(j.cert);
    w.time.set(due - milliseconds{1});
    CHECK(w.conditions(j) == names{});
    w.time.set(due);
    CHECK(w.conditions(j) == names{"CertificateExpiring"});
    CHECK(w.get(j).at("/conditions/0/since") == to_rfc3339(due));
    w.time.set(j.cert.not_after - milliseconds{1});
    CHECK(w.conditions(j) == names{"CertificateExpiring"});
    w.time.set(j.cert.not_after);
    CHECK(w.conditions(j) == names{"CertificateExpired"});
    CHECK(w.get(j).at("/conditions/0/since") == to_rfc3339(j.cert.not_after));
    // It could bring the machine back still (x509pop): there is something to
    // revoke until that is over too.
    const bool in_time = GENERATE(true, false);
    w.time.set(j.cert.not_after + node::rejoin_window +
               milliseconds{in_time ? 0 : 1});
    auto before = w.position();
    CHECK(w.on(j, "revokeIdentity").status == 200);
    CHECK((w.position() == before) == !in_time);
    CHECK(w.conditions(j) ==
          names{in_time ? "IdentityRevoked" : "CertificateExpired"});
  }
  SECTION("an identity that was revoked, until the machine is back") {
    auto j = w.node_in(node::status::adopted);
    REQUIRE(w.on(j, "revokeIdentity").status == 200);
    CHECK(w.conditions(j) == names{"IdentityRevoked"});
    w.time.set(j.cert.not_after + seconds{1});
    CHECK(w.conditions(j) == names{"IdentityRevoked"});
    w.reclaim(j);
    CHECK(w.conditions(j) == names{});
  }
  SECTION("a suspected clone, until its identity is revoked (case 68)") {
    auto j = w.node_in(node::status::adopted);
    w.time.advance(seconds{1});
    w.decide_on(j, node::suspect_clone{w.time.now()});
    CHECK(w.conditions(j) == names{"CloneSuspected"});
    SECTION("revoked") {
      REQUIRE(w.on(j, "revokeIdentity").status == 200);
      CHECK(w.conditions(j) == names{"IdentityRevoked"});
    }
    SECTION("joined again") {
      w.time.advance(seconds{1});
      w.reclaim(j);
      CHECK(w.conditions(j) == names{});
    }
    SECTION("cordoned too") {
      REQUIRE(w.on(j, "cordon").status == 200);
      CHECK(w.conditions(j) == names{"Cordoned", "CloneSuspected"});
    }
  }
  SECTION("none once it is over") {
    auto j = w.node_in(node::status::retired);
    CHECK(w.conditions(j) == names{});
    CHECK(w.get(j).has("/retiredAt"));
    CHECK(w.get(j).at("/certificates/0/revokedFor") == "deleted");
  }
}

TEST_CASE("api nodes: its session, while it lives and after") {
  nodes_world w;
  auto j = w.node_in(node::status::adopted);
  CHECK(w.get(j).at("/connected") == "false");
  CHECK_FALSE(w.get(j).has("/lastSession"));
  w.time.advance(seconds{1});
  const auto since = to_rfc3339(w.time.now());
  REQUIRE(w.open_session(j, "sess_1", "gw_7"));
  auto found = w.get(j);
  CHECK(found.at("/connected") == "true");
  CHECK(found.at("/connectedAt") == since);
  CHECK(found.at("/lastSession/id") == "sess_1");
  CHECK(found.at("/lastSession/gatewayId") == "gw_7");
  CHECK(found.at("/lastSession/address") == "192.0.2.1");
  CHECK(found.at("/lastSession/version") == "0.1.0");
  CHECK_FALSE(found.has("/lastSession/disconnectedAt"));
  w.time.advance(seconds{1});
  REQUIRE(w.decide_on(j, node::disconnect{w.time.now(), "sess_1",
                                          node::session_end::stopping}));
  // A command's answer comes from the stream's state, the same.
  for (const auto& answer : {w.get(j), w.on(j, "cordon")}) {
    CHECK(answer.at("/connected") == "false");
    CHECK_FALSE(answer.has("/connectedAt"));
    CHECK(answer.at("/lastSession/connectedAt") == since);
    CHECK(answer.at("/lastSession/disconnectedAt") == to_rfc3339(w.time.now()));
    CHECK(answer.at("/lastSession/reason") == "stopping");
  }
}

TEST_CASE("api nodes: lists by pool, site and status; retired on demand") {
  nodes_world w;
  std::map<std::string, std::string> by_status;
  for (auto s : {node::status::adopting, node::status::adopted,
                 node::status::cordoned, node::status::retired})
    by_status[std::string{status_text(s)}] = w.node_in(s).id.str();
  auto list = [&](const fields& input) {
    return w
        .call(w.acme_key, "nodes.list",
              with(input, "tenantId", json_string(w.acme.str())))
        .ids();
  };
  CHECK(list({}).size() == 3);
  CHECK(list({{"includeRetired", "true"}}).size() == 4);
  for (const auto& [status, id] : by_status) {
    INFO(status);
    CHECK(list({{"status", json_string(status)}}) == names{id});
    CHECK(list({{"status", json_string(status)},
                {"poolId", json_string(w.pool.str())},
                {"siteId", json_string(w.site.str())}}) == names{id});
    CHECK(list({{"status", json_string(status)},
                {"siteId", json_string(w.other_site.str())}}) == names{});
  }
  CHECK(list({{"siteId", json_string(w.site.str())}}).size() == 3);
  CHECK(list({{"siteId", json_string(w.other_site.str())}}).empty());
  auto bad = w.call(
      w.acme_key, "nodes.list",
      {{"tenantId", json_string(w.acme.str())}, {"status", "\"Adopted\""}});
  CHECK(bad.path() == "/status");
}

TEST_CASE("api nodes: a site agent is of no pool") {
  nodes_world w;
  auto j = w.random.node_joined();
  j.tenant = w.acme;
  j.site = w.site;
  j.pool = std::nullopt;
  j.cert.role = pki::certificate_role::site;
  j.cert.not_after = w.time.now() + seconds{86'100};
  j.at = w.time.now();
  REQUIRE(w.decide_on(j, node::join{j}));
  auto found = w.get(j);
  CHECK(found.at("/role") == "site");
  CHECK(!found.has("/poolId"));
  CHECK(!w.on(j, "cordon").has("/poolId"));
}
