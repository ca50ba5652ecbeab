#pragma once

#include "actors/joining/join_flow.hpp"
#include "base/clock.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "base/wire.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "events/memory_journal.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/bundle.hpp"
#include "pki/csr.hpp"
#include "pki/digest.hpp"
#include "pki/jwe.hpp"
#include "tests/support/sync_ledger.hpp"
#include "tests/support/world_store.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bc::test {

inline const time_point start_of_time = from_millis(1'790'000'000'000);

inline std::shared_ptr<const pki::key_bundle> test_keys() {
  static const auto keys = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("compute.example.test", start_of_time).value());
  return keys;
}

/// One machine with its key, request and hardware.
struct machine {
  pki::private_key key = pki::private_key::generate();
  bytes csr = pki::build_csr(key);
  wire::claims claims;

  [[nodiscard]] pki::sha256_digest csr_sha256() const {
    return pki::sha256(csr);
  }
};

/// The nth machine: two independent identifiers that nobody else has.
inline machine make_machine(int n) {
  auto digits = std::to_string(1'000'000 + n).substr(1);
  machine out;
  out.claims.product_uuid = "4f1c3a52-9b7d-4e60-8a21-d0c5b7" + digits;
  out.claims.product_serial = "SN-77" + digits + "K";
  out.claims.hostname = "rack-" + digits;
  return out;
}

/// A token as it is minted, and the text a machine presents.
struct minted {
  events::join_token::created token;
  std::string secret;
  [[nodiscard]] std::string text() const {
    return "bcjt_" + token.id.str() + "." + secret;
  }
};

struct tried {
  wire::join_answer answer;
  std::vector<actors::refusal_report> reports;
};

using open_journal =
    std::function<std::unique_ptr<events::journal>(const clock&)>;

/// A deployment on the store of BC_TEST_STORE unless told otherwise: a root
/// tenant, a tenant with a site of its own and a pool, and the join flow over
/// them.
class join_world {
 public:
  explicit join_world(const open_journal& open = nullptr)
      : journal(open ? open(time) : store.open()) {
    root = new_tenant("root", true);
    owner = new_tenant("acme", false);
    site = new_site();
    pool = new_pool(owner, site, events::pool::agent::bcd);
    disarm_all();
  }
  ~join_world() { disarm_all(); }

  template <class Event>
  void append(const std::string& stream, const Event& event,
              const tenant_id& tenant) {
    events::batch b;
    b.id = pki::mint<batch_id>(time.now());
    b.actor = "system";
    b.writes.push_back({stream, tenant.str(), std::nullopt, {encode(event)}});
    auto outcome = journal->append(std::span<const events::batch>{&b, 1});
    REQUIRE(outcome.has_value());
    REQUIRE(std::holds_alternative<events::appended>(outcome.value().front()));
  }

  tenant_id new_tenant(const std::string& name, bool is_root) {
    auto id = pki::mint<tenant_id>(time.now());
    append<events::tenant::event>(
        events::stream_of(id),
        events::tenant::created{id, name, is_root, time.now()}, id);
    return id;
  }
  site_id new_site() { return new_site(owner, events::site::kind::custom); }
  site_id new_site(const tenant_id& of, events::site::kind kind) {
    auto id = pki::mint<site_id>(time.now());
    append<events::site::event>(
        events::stream_of(id),
        events::site::created{id, of, id.str(), kind, time.now(), {}}, of);
    return id;
  }
  void delete_site(const site_id& id) {
    append<events::site::event>(
        events::stream_of(id),
        events::site::deleted{id, time.now(), owner, id.str()}, owner);
  }
  pool_id new_pool(const tenant_id& tenant, const site_id& where,
                   events::pool::agent agent,
                   const events::pool::policy& rules = {}) {
    auto id = pki::mint<pool_id>(time.now());
    append<events::pool::event>(
        events::stream_of(id),
        events::pool::created{id, tenant, where, id.str(), agent, time.now(),
                              rules},
        tenant);
    return id;
  }
  void archive(const pool_id& id) {
    append<events::pool::event>(
        events::stream_of(id),
        events::pool::archived{id, time.now(), owner, id.str()}, owner);
  }

  /// A token of the pool: one use, an hour. `change` sees it before it is
  /// written.
  minted mint_token(
      const std::function<void(events::join_token::created&)>& change = {}) {
    minted out;
    out.secret = to_base64url(pki::random_bytes(32));
    auto& t = out.token;
    t.id = pki::mint<join_token_id>(time.now());
    t.tenant = owner;
    t.pool = pool;
    t.site = site;
    t.created_at = time.now();
    t.expires_at = time.now() + seconds{3600};
    t.secret_sha256 = to_hex(
        events::join_token::secret_digest(secret_bytes{as_bytes(out.secret)}));
    if (change)
      change(t);
    append<events::join_token::event>(events::stream_of(t.id), t, t.tenant);
    return out;
  }
  void revoke(const minted& m) {
    append<events::join_token::event>(
        events::stream_of(m.token.id),
        events::join_token::revoked{m.token.id, m.token.pool, time.now()},
        m.token.tenant);
  }
  void use_up(const minted& m) {
    for (std::int64_t i = 0; i < m.token.max_uses; ++i)
      append<events::join_token::event>(
          events::stream_of(m.token.id),
          events::join_token::redeemed{
              m.token.id, pki::mint<node_id>(time.now()), std::string(64, 'a')},
          m.token.tenant);
  }

  /// A token by which a known machine of the pool may take its node back.
  minted mint_reclaim_token() {
    return mint_token([](auto& t) { t.allow_reclaim = true; });
  }

  [[nodiscard]] events::node::state node(const node_id& id) const {
    events::node::state out;
    ledger->node(id, [&](auto state) { out = *state.value(); });
    return out;
  }
  /// What the command makes of the node, as its actor or an operator would.
  template <class Command>
  void command(const node_id& id, const Command& c) {
    auto state = node(id);
    auto decided = events::node::decide(state, c);
    REQUIRE(decided.has_value());
    for (const auto& e : decided.value())
      append<events::node::event>(events::stream_of(id), e, state.node->tenant);
  }
  /// As nodes.delete: cordoned first.
  void retire(const node_id& id) {
    command(id, events::node::cordon{time.now(), ""});
    command(id, events::node::retire{time.now(), ""});
  }

  [[nodiscard]] std::string seal(std::string_view token,
                                 const machine& m) const {
    return pki::seal_token(keys->join_encryption.pub(), token, m.csr_sha256(),
                           time.now());
  }
  /// What a good daemon sends.
  [[nodiscard]] wire::join_request request(const machine& m,
                                           std::string_view token) const {
    wire::join_request out;
    out.role = "node";
    out.site_id = site.str();
    out.csr = m.csr;
    out.hardware = m.claims;
    out.sealed_token = seal(token, m);
    return out;
  }

  [[nodiscard]] std::shared_ptr<actors::join_environment> environment() {
    auto env = std::make_shared<actors::join_environment>();
    env->keys = keys;
    env->root_tenant = root;
    env->certificate_lifetime = lifetime;
    env->shared_uuids = shared_uuids;
    env->refused = [this](actors::refusal_report r) {
      reports.push_back(std::move(r));
    };
    return env;
  }
  tried send(const std::string& body) {
    reports.clear();
    int answers = 0;
    tried out;
    actors::run_join(environment(), ledger, {body, "req-1"},
                     [&](wire::join_answer answer) {
                       ++answers;
                       out.answer = std::move(answer);
                     });
    REQUIRE(answers == 1);
    out.reports = reports;
    return out;
  }
  tried join(const wire::join_request& r) { return send(wire::encode(r)); }
  tried join(const machine& m, std::string_view token) {
    return join(request(m, token));
  }

  [[nodiscard]] std::uint64_t head() const {
    return journal->head().value().position;
  }
  [[nodiscard]] std::int64_t uses_left(const minted& m) const {
    std::int64_t left = 0;
    ledger->token(m.token.id,
                  [&](auto state) { left = state.value()->uses_left; });
    return left;
  }
  [[nodiscard]] std::vector<events::envelope> after(
      std::uint64_t position) const {
    return journal->read_all(position, 1000).value();
  }
  [[nodiscard]] std::size_t count(std::string_view type) const {
    std::size_t n = 0;
    const auto all = journal->read_all(0, 100'000).value();
    for (const auto& e : all)
      n += e.type == type ? 1 : 0;
    return n;
  }

  testing::world_store store{start_of_time};
  testing::world_clock& time = store.time;
  std::unique_ptr<events::journal> journal;
  std::shared_ptr<sync_ledger> ledger =
      std::make_shared<sync_ledger>(*journal, time);
  std::shared_ptr<const pki::key_bundle> keys = test_keys();
  std::vector<actors::refusal_report> reports;
  seconds lifetime = pki::max_node_lifetime;
  pki::shared_uuids shared_uuids;
  tenant_id root, owner;
  site_id site;
  pool_id pool;
};

/// The answer's bytes with the signed time blanked.
inline std::string without_time(wire::join_answer answer) {
  REQUIRE(answer.time.has_value());
  answer.time = wire::server_time{0, bytes(64)};
  return wire::encode(answer);
}

inline node_id node_of(const wire::join_answer& answer) {
  auto body = wire::decode_joined_body(answer.body);
  REQUIRE(body.has_value());
  return node_id::parse(body.value().node_id).value();
}

inline bool joined(const tried& t) {
  return t.answer.what == wire::join_answer::kind::joined;
}

/// The rule for every refusal: the one wire answer, exactly one report with
/// hashes only, and nothing written or spent.
inline void check_refused(join_world& w, const tried& t, std::uint64_t head,
                          events::refusal_reason reason,
                          const tenant_id& owner) {
  CHECK(t.answer.what == wire::join_answer::kind::failed);
  CHECK(t.answer.code == errc::access_denied);
  CHECK(t.answer.message == "Join refused");
  CHECK(t.answer.path.empty());
  REQUIRE(t.reports.size() == 1);
  const auto& r = t.reports.front();
  CHECK(events::text_of(r.reason) == events::text_of(reason));
  CHECK(r.owner == owner);
  CHECK(r.correlation == "req-1");
  CHECK(r.csr_sha256.size() == 64);
  CHECK((r.hardware_key.empty() || r.hardware_key.size() == 64));
  CHECK(w.head() == head);
}

}  // namespace bc::test
