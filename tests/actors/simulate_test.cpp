// joins.simulate says what the join does (DESIGN section 7): over random
// deployments, tokens and machines.
#include "actors/api/api.hpp"
#include "base/json.hpp"
#include "events/credential.hpp"
#include "events/incarnations.hpp"
#include "tests/actors/answer_schema.hpp"
#include "tests/actors/join_world.hpp"

#include <map>
#include <random>

namespace bc::test {
namespace {

/// What became of a join, or would.
struct ending {
  std::string outcome;  // joined, reclaimed, or the reason
  std::string node;     // of a reclaim
  std::string role, trust;
  bool operator==(const ending&) const = default;
};

std::ostream& operator<<(std::ostream& out, const ending& e) {
  return out << e.outcome << " " << e.node << " " << e.role << " " << e.trust;
}

class simulation_world : public join_world {
 public:
  explicit simulation_world(std::uint32_t seed) : random_(seed) {
    other_ = new_tenant("other", false);
    sites_ = {site,
              site,
              site,
              site,
              site_of(owner, kind::custom),
              site_of(root, kind::shared),
              site_of(root, kind::dedicated),
              site_of(other_, kind::custom),
              deleted_site()};
    for (const auto& s : sites_)
      for (int i = 0; i < 2; ++i)
        pools_.push_back(pool_on(s));
    key_ = add_credential();
    const std::vector<std::string> shared{machine_of(2).claims.product_uuid};
    shared_uuids = pki::shared_uuids::parse(shared).value();
  }

  /// Another deployment, token and machine; the same ones come again.
  void step() {
    time.advance(milliseconds{pick(40'000)});
    m_ = machine_of(pick(16));
    token_ = random_token();
    if (one_in(12))
      use_up(*token_);
    if (one_in(12))
      revoke(*token_);
    request_ = request(m_, token_->text());
    request_.role = one_in(6) ? pick_of(roles) : admitted_role();
    request_.site_id =
        one_in(8) ? pick_of(sites_).str() : token_->token.site.str();
    if (one_in(15))
      request_.attestor = "tpm";
    if (token_->token.node && !one_in(4))
      request_.node_id = token_->token.node->str();
    else if (one_in(25))
      request_.node_id = "node_elsewhere";
  }

  ending simulated() {
    const auto before = head();
    auto text = call("simulate", simulate_body());
    CHECK(head() == before);
    auto answer = json::parse_object(text);
    REQUIRE(answer);
    json::reader in{answer.value()};
    auto at = [&in](const char* name) {
      return in.optional_text(name).value().value_or("");
    };
    check_rules(answer.value());
    return {at("outcome") == "refused" ? at("reason") : at("outcome"),
            at("nodeId"), at("role"), at("trust")};
  }

  ending real() {
    const auto before = head();
    auto got = join(request_);
    if (!joined(got)) {
      REQUIRE(got.answer.code == errc::access_denied);
      REQUIRE(got.reports.size() == 1);
      return {std::string{events::text_of(got.reports[0].reason)}, {}, {}, {}};
    }
    for (const auto& e : after(before)) {
      if (e.type != "node.joined")
        continue;
      auto event = events::node::decode(e).value();
      const auto& j = std::get<events::node::joined>(event);
      last_node_ = j.id;
      return {j.reclaim ? "reclaimed" : "joined",
              j.reclaim ? j.id.str() : std::string{},
              std::string{pki::role_text(j.cert.role)},
              std::string{events::node::trust_text(j.node_trust)}};
    }
    return {"no node.joined", {}, {}, {}};
  }

 private:
  using kind = events::site::kind;
  static inline const std::vector<std::string> roles{"node", "site", "ramdisk",
                                                     "node-tenant"};

  int pick(int below) {
    return std::uniform_int_distribution<int>{0, below - 1}(random_);
  }
  bool one_in(int n) { return pick(n) == 0; }
  template <class T>
  const T& pick_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
  }

  site_id site_of(const tenant_id& who, kind k) {
    auto id = pki::mint<site_id>(time.now());
    events::site::created c{id, who, id.str(), k, time.now()};
    if (k == kind::dedicated && one_in(2))
      c.dedicated_to = owner;
    append<events::site::event>(events::stream_of(id), c, who);
    return id;
  }
  site_id deleted_site() {
    auto id = site_of(owner, kind::custom);
    append<events::site::event>(
        events::stream_of(id),
        events::site::deleted{id, time.now(), owner, id.str()}, owner);
    return id;
  }

  pool_id pool_on(const site_id& where) {
    const auto whose = one_in(10) ? other_ : one_in(10) ? root : owner;
    auto id = pki::mint<pool_id>(time.now());
    events::pool::created c{
        id,
        whose,
        where,
        id.str(),
        one_in(10) ? events::pool::agent::none : events::pool::agent::bcd,
        time.now()};
    if (one_in(6))
      c.rules.join_attestors = {"tpm"};
    c.rules.platform_operated = one_in(3);
    if (one_in(3))
      c.rules.acceptance_checks = {"burn-in"};
    append<events::pool::event>(events::stream_of(id), c, whose);
    if (one_in(10))
      append<events::pool::event>(
          events::stream_of(id),
          events::pool::archived{id, time.now(), whose, id.str()}, whose);
    return id;
  }

  // The nth identity, with a new key; some with too little hardware.
  machine machine_of(int n) {
    auto out = make_machine(n);
    if (n % 8 == 5)
      out.claims.product_uuid = "";
    if (n % 8 == 6)
      out.claims.product_serial = "To Be Filled By O.E.M.";
    if (n % 8 == 7)
      out.claims.product_uuid = out.claims.product_serial = "";
    if (n % 4 == 3)
      out.claims.macs = {"9c:6b:00:11:22:3" + std::to_string(n % 10)};
    return out;
  }

  minted random_token() {
    return mint_token([this](events::join_token::created& t) {
      using events::join_token::role;
      const auto at =
          static_cast<std::size_t>(pick(static_cast<int>(pools_.size())));
      t.pool = pools_[at];
      t.site = sites_[at / 2];
      if (one_in(15))
        t.site = pick_of(sites_);
      if (one_in(30))
        t.pool = pki::mint<pool_id>(time.now());
      if (one_in(12))
        t.expires_at = time.now();
      t.max_uses = 1 + pick(3);
      t.allow_reclaim = !one_in(3);
      if (one_in(5))
        t.hosted = "kubernetes";
      if (one_in(8))
        t.token_role =
            std::vector{role::provisioned, role::discovery,
                        role::site}[static_cast<std::size_t>(pick(3))];
      if (t.token_role == role::site)
        t.pool.reset();
      if (t.token_role == role::provisioned && one_in(2))
        t.node = one_in(2) && last_node_ ? *last_node_
                                         : pki::mint<node_id>(time.now());
      add_expectation(t);
    });
  }

  void add_expectation(events::join_token::created& t) {
    if (!one_in(3))
      return;
    const auto claims = one_in(4) ? machine_of(pick(16)).claims : m_.claims;
    pki::hardware_expectation wanted;
    wanted.serial = claims.product_serial;
    if (auto normal = pki::normalise_expectation(wanted); !normal.bad_field)
      t.expect = normal.value;
  }

  std::string admitted_role() {
    const auto& t = token_->token;
    return std::string{pki::role_text(events::join_token::admits(
        t.token_role, t.hosted.has_value() && one_in(2)))};
  }

  std::string add_credential() {
    auto secret = to_base64url(pki::random_bytes(32));
    events::credential::created c{pki::mint<credential_id>(time.now()),
                                  owner,
                                  "alice",
                                  {{"*", "*"}},
                                  time.now(),
                                  to_hex(pki::sha256(as_bytes(secret)))};
    append<events::credential::event>(events::stream_of(c.id), c, owner);
    return c.id.str() + "." + secret;
  }

  std::string simulate_body() const {
    json::writer out;
    const auto& c = request_.hardware;
    out.begin_object()
        .field("tenantId", owner.str())
        .field("tokenId", token_->token.id.str())
        .field("siteId", request_.site_id)
        .field("role", request_.role)
        .field("attestor", request_.attestor);
    if (!request_.node_id.empty())
      out.field("nodeId", request_.node_id);
    out.key("claims")
        .begin_object()
        .field("productUuid", c.product_uuid)
        .field("productSerial", c.product_serial)
        .field("macs", c.macs)
        .field("hostname", c.hostname)
        .end_object();
    return out.end_object().str();
  }

  std::string call(const std::string& method, const std::string& body) {
    auto env = std::make_shared<actors::api_environment>();
    env->root_tenant = root;
    env->shared_uuids = shared_uuids;
    std::optional<actors::api_reply> got;
    actors::run_api_call(env, ledger,
                         {"joins", method, "Bearer " + key_, body, "req-1", ""},
                         [&](actors::api_reply r) { got = std::move(r); });
    REQUIRE(got);
    INFO(body << "\n" << got->body);
    REQUIRE(got->status == 200);
    api_test::check_answer("joins." + method, got->status, got->body);
    return got->body;
  }

  // Passed, then at most one that failed, then not reached.
  static void check_rules(const json::document& answer) {
    bool failed = false;
    for (const auto& rule : answer["rules"].GetArray()) {
      const std::string verdict = rule["verdict"].GetString();
      CHECK((verdict == "not-reached") == failed);
      if (verdict != "failed")
        continue;
      failed = true;
      CHECK(rule["rule"] == answer["reason"]);
    }
    CHECK(failed == (std::string{answer["outcome"].GetString()} == "refused"));
  }

  std::mt19937 random_;
  tenant_id other_;
  std::vector<site_id> sites_;
  std::vector<pool_id> pools_;  // two on each site
  std::string key_;
  machine m_;
  std::optional<minted> token_;
  wire::join_request request_;
  std::optional<node_id> last_node_;
};

std::map<std::string, int> compare(std::uint32_t seed, int cases) {
  // A world grows with every case; each begins small again.
  constexpr int per_world = 400;
  std::map<std::string, int> seen;
  for (int done = 0; done < cases; done += per_world) {
    simulation_world w{seed + static_cast<std::uint32_t>(done)};
    for (int i = 0; i < std::min(per_world, cases - done); ++i) {
      w.step();
      const auto said = w.simulated();
      const auto was = w.real();
      INFO("seed " << seed << " world at " << done << " case " << i);
      REQUIRE(said == was);
      ++seen[was.outcome];
    }
  }
  return seen;
}

TEST_CASE("simulate: what it says is what the join does") {
  const auto seen = compare(1, 2'000);
  // Everything a token id and claims can come to was there.
  for (const auto* outcome :
       {"joined", "reclaimed", "join:attestor", "join-token:revoked",
        "join-token:expired", "join-token:exhausted",
        "join-token:role-mismatch", "join:expect", "join:placeholder-hardware",
        "join:reclaim", "join:pool", "join:tenant", "join:site",
        "join:pool-attestor"}) {
    INFO(outcome);
    CHECK(seen.contains(outcome));
  }
}

TEST_CASE("simulate: the same for 100,000 cases", "[.long]") {
  compare(std::random_device{}(), 100'000);
}

}  // namespace
}  // namespace bc::test
