// joins.explain and joins.simulate (DESIGN section 7): what they tell, and
// whom.
#include "actors/api/refusal_texts.hpp"
#include "events/reclaim_rules.hpp"
#include "events/refusal_reason.hpp"
#include "tests/actors/api_world.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace bc;
using namespace bc::api_test;
using events::refused_join;

namespace {

const std::string csr(64, 'c');

class joins_world : public api_world {
 public:
  refused_join refusal(const tenant_id& owner, std::string reason,
                       const std::string& token = {}) {
    refused_join r;
    r.owner = owner.str();
    r.csr_sha256 = csr;
    r.reason = std::move(reason);
    r.token = token;
    r.attestor = "join-token";
    r.role = "node";
    r.first_at = r.last_at = time.now();
    r.details = "{}";
    return r;
  }

  /// Of the tenant's own token, with what a machine came with.
  refused_join own_refusal(std::string reason) {
    auto r = refusal(acme, std::move(reason), random.id<join_token_id>().str());
    r.details = "{\"poolId\":" + json_string(pool.str()) +
                ",\"claimedSiteId\":\"site_x\",\"expected\":\"serial A-1001\","
                "\"presented\":\"serial B-2002\",\"identifiers\":{\"serials\":"
                "[\"B-2002\"],\"macs\":[],\"gpuUuids\":[\"gpu-5d1c3a52\"]}}";
    return r;
  }

  /// Of a machine that is a node already; `fault` as the rule words it.
  refused_join reclaim_refusal(const events::node::joined& node,
                               events::reclaim_fault fault) {
    auto r = own_refusal("join:reclaim");
    r.details =
        "{\"poolId\":" + json_string(pool.str()) +
        ",\"hardwareKey\":" + json_string(node.hardware_key) +
        ",\"presented\":" + json_string(events::reclaim_fault_text(fault)) +
        "}";
    return r;
  }

  /// For the pool, which nobody has the secret of.
  void add_token(const join_token_id& id, seconds lifetime) {
    events::join_token::created c;
    c.id = id;
    c.tenant = acme;
    c.pool = pool;
    c.site = site;
    c.created_at = time.now();
    c.expires_at = time.now() + lifetime;
    append(
        {on(events::stream_of(c.id), acme, {events::join_token::encode(c)})});
  }

  /// A node that may be taken back.
  events::node::joined add_node(const tenant_id& owner, const pool_id& where,
                                const site_id& at) {
    auto j = random.node_joined();
    j.tenant = owner;
    j.pool = where;
    j.site = at;
    j.reclaim = false;
    j.hardware_key_trusted = true;
    append({on(events::stream_of(j.id), owner, {events::node::encode(j)})});
    return j;
  }

  void keep(const std::vector<refused_join>& refused) {
    REQUIRE(store->keep_refusals(random.id<batch_id>(), refused));
  }

  reply explain(const std::string& key, const tenant_id& tenant,
                const std::string& hash = csr) {
    return call(key, "joins.explain",
                {{"tenantId", json_string(tenant.str())},
                 {"csrSha256", json_string(hash)}});
  }

  fields simulate_input(const std::string& token) {
    return {{"tenantId", json_string(acme.str())},
            {"tokenId", json_string(token)},
            {"claims",
             "{\"productUuid\":\"4f1c3a52-9b7d-4e60-8a21-d0c5b7000001\","
             "\"productSerial\":\"SN-7701\"}"}};
  }

  /// A token as the API makes it; `more` are fields of its input.
  std::string token(const fields& more = {}) {
    static int n = 0;
    auto input = token_input("joins-" + std::to_string(++n));
    for (const auto& [name, raw] : more)
      input[name] = raw;
    auto made = call(acme_key, "joinTokens.create", input);
    INFO(made.text);
    REQUIRE(made.status == 200);
    return made.at("/id");
  }
};

}  // namespace

TEST_CASE("joins.explain: to its owner alone, and to others like nothing") {
  joins_world w;
  w.keep({w.own_refusal("join:expect"),
          w.refusal(w.root, "join-token:secret-mismatch")});

  auto mine = w.explain(w.acme_key, w.acme);
  CHECK(mine.status == 200);
  CHECK(mine.at("/csrSha256") == csr);
  CHECK(mine.at("/refusals/0/reason") == "join:expect");
  CHECK(mine.at("/refusals/0/times") == "1");
  CHECK(mine.at("/refusals/0/expected") == "serial A-1001");
  CHECK(mine.at("/refusals/0/presented") == "serial B-2002");
  CHECK(mine.at("/refusals/0/claimedSiteId") == "site_x");
  CHECK(mine.at("/refusals/0/identifiers/serials/0") == "B-2002");
  CHECK(mine.at("/refusals/0/identifiers/gpuUuids/0") == "GPU-5d1c3a52");
  CHECK(mine.at("/refusals/0/poolId") == w.pool.str());
  CHECK(mine.has("/refusals/0/tokenId"));
  CHECK_FALSE(mine.has("/refusals/1"));
  CHECK_FALSE(mine.has("/refusals/0/liveToken"));

  // As bcd prints it.
  CHECK(w.explain(w.acme_key, w.acme, std::string(16, 'c')).text == mine.text);

  auto roots = w.explain(w.root_key, w.root);
  CHECK(roots.at("/refusals/0/reason") == "join-token:secret-mismatch");
  CHECK_FALSE(roots.has("/refusals/0/tokenId"));
  CHECK_FALSE(roots.has("/refusals/0/identifiers"));
  CHECK_FALSE(roots.has("/refusals/1"));

  auto others = w.explain(w.other_key, w.other);
  auto unknown = w.explain(w.other_key, w.other, std::string(64, 'd'));
  CHECK(others.status == 404);
  CHECK(others.text == unknown.text);
}

TEST_CASE("joins.explain: needs its own grant, the tokens theirs") {
  joins_world w;
  w.keep({w.own_refusal("join-token:expired")});
  w.token();
  auto on_tenant = "compute-tenant/" + w.acme.str();
  auto blind =
      w.add_credential(w.acme, "bob", {{"compute:joins:*", on_tenant}});
  auto got = w.explain(blind, w.acme);
  CHECK(got.status == 200);
  CHECK_FALSE(got.has("/refusals/0/liveToken"));
  auto reader = w.add_credential(
      w.acme, "carol",
      {{"compute:joins:explain", on_tenant},
       {"compute:join-tokens:read", "compute-pool/" + w.pool.str()}});
  CHECK(w.explain(reader, w.acme).has("/refusals/0/liveToken"));
  auto none = w.add_credential(w.acme, "dave", {{"compute:nodes:*", "*"}});
  CHECK(w.explain(none, w.acme).code() == "ACCESS_DENIED");
  CHECK(w.call(reader, "joins.simulate", w.simulate_input(w.token())).code() ==
        "ACCESS_DENIED");
}

TEST_CASE("joins.explain: the nearest live token would have passed the rule") {
  joins_world w;
  auto shown = [&w](const std::string& reason) {
    auto hash = csr;
    hash.back() = static_cast<char>('0' + reason.size() % 10);
    auto r = w.own_refusal(reason);
    r.csr_sha256 = hash;
    w.keep({r});
    return w.explain(w.acme_key, w.acme, hash).at("/refusals/0/liveToken/id");
  };
  CHECK(shown("join-token:expired").empty());
  auto others = w.token({{"expect", "{\"serial\":\"A-1001\"}"}});
  auto spent = w.token({{"ttlSeconds", "7200"}});
  CHECK(w.call(w.acme_key, "joinTokens.revoke",
               {{"tenantId", json_string(w.acme.str())},
                {"poolId", json_string(w.pool.str())},
                {"tokenId", json_string(spent)}})
            .status == 200);
  CHECK(shown("join-token:expired").empty());

  auto short_lived = w.token({{"ttlSeconds", "60"}});
  auto open = w.token();
  CHECK(shown("join-token:expired") == open);
  CHECK(shown("join:placeholder-hardware").empty());

  auto bound =
      w.token({{"expect", "{\"serial\":\"b-2002\"}"}, {"ttlSeconds", "120"}});
  CHECK(shown("join-token:expired") == bound);
  CHECK(shown("join:placeholder-hardware") == bound);

  // No token changes what the machine's configuration says.
  CHECK(shown("join:site").empty());
  // Another role is no help.
  auto site_agent = w.own_refusal("join-token:role-mismatch");
  site_agent.role = "site";
  w.keep({site_agent});
  CHECK_FALSE(w.explain(w.acme_key, w.acme).has("/refusals/0/liveToken"));
}

TEST_CASE("joins.explain: the refused token itself is never offered") {
  joins_world w;
  auto refused = w.token();
  auto r = w.own_refusal("join:expect");
  r.token = refused;
  w.keep({r});
  CHECK_FALSE(w.explain(w.acme_key, w.acme).has("/refusals/0/liveToken"));
  auto other = w.token({{"ttlSeconds", "60"}});
  CHECK(w.explain(w.acme_key, w.acme).at("/refusals/0/liveToken/id") == other);
  // Nor is one to who came without, as by a TPM.
  r.token.clear();
  r.attestor = "tpm";
  r.csr_sha256 = std::string(64, 'd');
  w.keep({r});
  CHECK_FALSE(
      w.explain(w.acme_key, w.acme, r.csr_sha256).has("/refusals/0/liveToken"));
}

TEST_CASE("joins.explain: a token that may take a node back, of its pool") {
  using events::reclaim_fault;
  joins_world w;
  const auto node = w.add_node(w.acme, w.pool, w.site);
  auto shown = [&w](const events::node::joined& of, reclaim_fault fault) {
    static int n = 0;
    auto r = w.reclaim_refusal(of, fault);
    r.csr_sha256 = std::string(62, 'e') + std::to_string(10 + n++);
    w.keep({r});
    return w.explain(w.acme_key, w.acme, r.csr_sha256)
        .at("/refusals/0/liveToken/id");
  };
  w.token();
  CHECK(shown(node, reclaim_fault::not_allowed).empty());
  auto reclaims = w.token({{"allowReclaim", "true"}, {"ttlSeconds", "90"}});
  CHECK(shown(node, reclaim_fault::not_allowed) == reclaims);
  // No token mends these.
  for (auto fault :
       {reclaim_fault::site, reclaim_fault::pool, reclaim_fault::role,
        reclaim_fault::named, reclaim_fault::too_often})
    CHECK(shown(node, fault).empty());

  // The refused token was for another pool than the node's.
  const auto elsewhere = w.add_pool(w.acme, w.site);
  const auto moved = w.add_node(w.acme, elsewhere, w.site);
  CHECK(shown(moved, reclaim_fault::not_allowed).empty());
  auto there = w.token(
      {{"allowReclaim", "true"}, {"poolId", json_string(elsewhere.str())}});
  CHECK(shown(moved, reclaim_fault::not_allowed) == there);

  // Another tenant's node, and hardware that nobody holds.
  const auto foreign = w.add_node(w.other, w.other_pool, w.other_site);
  CHECK(shown(foreign, reclaim_fault::not_allowed).empty());
  auto nobody = node;
  nobody.hardware_key = std::string(64, '0');
  CHECK(shown(nobody, reclaim_fault::not_allowed).empty());
}

TEST_CASE("joins.explain: a token beyond the first page is found") {
  joins_world w;
  w.keep({w.own_refusal("join-token:expired")});
  std::vector<join_token_id> ids;
  for (int i = 0; i < 401; ++i)
    ids.push_back(w.random.hashed_id<join_token_id>());
  // Pages are in the order of ids.
  std::sort(ids.begin(), ids.end(),
            [](const auto& a, const auto& b) { return a.str() < b.str(); });
  for (const auto& id : ids)
    w.add_token(id, seconds{id == ids.back() ? 120 : 60});
  CHECK(w.explain(w.acme_key, w.acme).at("/refusals/0/liveToken/id") ==
        ids.back().str());
}

TEST_CASE("joins.explain: ten at most, newest first, each counted") {
  joins_world w;
  std::vector<refused_join> all;
  for (int i = 0; i < 12; ++i) {
    auto r = w.own_refusal("join:site");
    r.last_at += seconds{i};
    r.times = i + 1;
    all.push_back(r);
  }
  w.keep(all);
  auto got = w.explain(w.acme_key, w.acme);
  CHECK(got.at("/refusals/0/times") == "12");
  CHECK(got.at("/refusals/9/times") == "3");
  CHECK_FALSE(got.has("/refusals/10"));
}

TEST_CASE("joins.explain: a reason of a later release is shown without words") {
  joins_world w;
  w.keep({w.own_refusal("tpm:quote-stale")});
  auto got = w.explain(w.acme_key, w.acme);
  CHECK(got.status == 200);
  CHECK(got.at("/refusals/0/reason") == "tpm:quote-stale");
  CHECK_FALSE(got.has("/refusals/0/advice"));
}

TEST_CASE("joins.explain: every reason has its own words") {
  std::set<std::string_view> meanings;
#define BC_X(name, attestor, text)                                         \
  CHECK(meanings.insert(meaning_of(events::refusal_reason::name)).second); \
  CHECK(advice_on(events::refusal_reason::name).ends_with('.'));           \
  CHECK(events::reason_of(text) == events::refusal_reason::name);
  using actors::api::advice_on;
  using actors::api::meaning_of;
  BC_REFUSAL_REASONS(BC_X)
#undef BC_X
  CHECK(events::reason_of("join:expec") == std::nullopt);
}

TEST_CASE("joins.simulate: rule by rule, and nothing is written") {
  joins_world w;
  auto id = w.token({{"expect", "{\"serial\":\"SN-7701\"}"}});
  auto before = w.position();
  auto got = w.call(w.acme_key, "joins.simulate", w.simulate_input(id));
  CHECK(got.status == 200);
  CHECK(got.at("/outcome") == "joined");
  CHECK(got.at("/role") == "node");
  CHECK(got.at("/trust") == "tenant-owned");
  std::vector<std::string> rules;
  for (int i = 0; got.has("/rules/" + std::to_string(i)); ++i) {
    auto at = "/rules/" + std::to_string(i);
    rules.push_back(got.at(at + "/rule") + " " + got.at(at + "/verdict"));
  }
  CHECK(rules ==
        std::vector<std::string>{
            "join:csr not-checked", "join:attestor passed",
            "join:token not-checked", "join-token:malformed not-checked",
            "join-token:unknown passed",
            "join-token:secret-mismatch not-checked",
            "join-token:revoked passed", "join-token:expired passed",
            "join-token:exhausted passed", "join-token:role-mismatch passed",
            "join:expect passed", "join:placeholder-hardware passed",
            "join:reclaim passed", "join:pool passed", "join:tenant passed",
            "join:site passed", "join:pool-attestor passed"});
  CHECK(w.position() == before);

  auto wrong =
      with(w.simulate_input(id), "claims", "{\"productSerial\":\"SN-7702\"}");
  auto refused = w.call(w.acme_key, "joins.simulate", wrong);
  CHECK(refused.at("/outcome") == "refused");
  CHECK(refused.at("/reason") == "join:expect");
  CHECK(refused.at("/rules/10/expected") == "serial SN-7701");
  CHECK(refused.at("/rules/10/presented") == "serial SN-7702");
  CHECK(refused.at("/rules/11/verdict") == "not-reached");
  CHECK_FALSE(refused.has("/role"));
}

TEST_CASE("joins.simulate: of the tenant's own tokens alone") {
  joins_world w;
  auto id = w.token();
  auto input = w.simulate_input(id);
  auto foreign = with(input, "tenantId", json_string(w.other.str()));
  auto got = w.call(w.other_key, "joins.simulate", foreign);
  auto unknown = w.call(
      w.other_key, "joins.simulate",
      with(foreign, "tokenId", json_string("jt_" + std::string(26, '0'))));
  CHECK(got.status == 404);
  CHECK(got.text == unknown.text);
}

TEST_CASE("joins.simulate: what the daemon would say may be given") {
  joins_world w;
  auto input = w.simulate_input(w.token());
  struct row {
    const char* field;
    std::string raw, reason;
  };
  for (const auto& r : std::vector<row>{
           {"siteId", json_string(w.other_site.str()), "join:site"},
           {"siteId", json_string(w.site.str()), ""},
           {"siteId", "\"\"", "join:site"},
           {"role", "\"ramdisk\"", "join-token:role-mismatch"},
           {"role", "\"node\"", ""},
           {"attestor", "\"tpm\"", "join:attestor"},
           {"attestor", "\"join-token\"", ""},
           {"nodeId", "\"node_x\"", "join:expect"},
           {"claims", "{}", "join:placeholder-hardware"}}) {
    INFO(r.field << " " << r.raw);
    CHECK(w.call(w.acme_key, "joins.simulate", with(input, r.field, r.raw))
              .at("/reason") == r.reason);
  }
}

TEST_CASE("joins: inputs that their schemas refuse") {
  joins_world w;
  auto id = w.token();
  struct row {
    const char* field;
    std::string raw, path;
  };
  auto try_rows = [&w](const char* method, const fields& good,
                       const std::vector<row>& rows) {
    for (const auto& r : rows) {
      INFO(method << " " << r.field << " " << r.raw.substr(0, 80));
      auto got = w.call(w.acme_key, method, with(good, r.field, r.raw));
      INFO(got.text);
      CHECK(got.code() == "INVALID_INPUT");
      CHECK(got.path() == r.path);
    }
  };
  try_rows("joins.explain",
           {{"tenantId", json_string(w.acme.str())},
            {"csrSha256", json_string(csr)}},
           {{"csrSha256", "", "/csrSha256"},
            {"csrSha256", "7", "/csrSha256"},
            {"csrSha256", json_string(std::string(64, 'C')), "/csrSha256"},
            {"csrSha256", json_string(csr + "c"), "/csrSha256"},
            {"csrSha256", json_string(std::string(15, 'c')), "/csrSha256"},
            {"tokenId", json_string(id), "/tokenId"}});
  auto text_of = [](std::size_t n) { return json_string(std::string(n, 'a')); };
  std::string many = "[\"a\"";
  for (int i = 0; i < 64; ++i)
    many += ",\"a\"";
  many += "]";
  try_rows(
      "joins.simulate", w.simulate_input(id),
      {{"tokenId", "", "/tokenId"},
       {"tokenId", json_string("bcjt_" + id + ".x"), "/tokenId"},
       {"claims", "", "/claims"},
       {"claims", "[]", "/claims"},
       {"claims", "{\"surprise\":1}", "/claims/surprise"},
       {"claims", "{\"macs\":\"a\"}", "/claims/macs"},
       {"claims", "{\"macs\":" + many + "}", "/claims/macs"},
       {"claims", "{\"macs\":[7]}", "/claims/macs/0"},
       {"claims", "{\"hostname\":" + text_of(257) + "}", "/claims/hostname"},
       {"siteId", text_of(257), "/siteId"},
       {"role", "\"king\"", "/role"},
       {"attestor", text_of(65), "/attestor"},
       {"nodeId", "null", "/nodeId"}});
}
