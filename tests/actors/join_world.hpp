#pragma once

#include "actors/joining/join_flow.hpp"
#include "actors/sync_ledger.hpp"
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
#include "tests/support/world_store.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bc::test {

using actors::sync_ledger;

inline const time_point start_of_time = from_millis(1'790'000'000'000);

std::shared_ptr<const pki::key_bundle> test_keys();

/// One machine with its key, request and hardware.
struct machine {
  pki::private_key key = pki::private_key::generate();
  bytes csr = pki::build_csr(key);
  wire::claims claims;

  [[nodiscard]] pki::sha256_digest csr_sha256() const;
};

/// The nth machine: two independent identifiers that nobody else has.
machine make_machine(int n);

/// A token as it is minted, and the text a machine presents.
struct minted {
  events::join_token::created token;
  std::string secret;
  [[nodiscard]] std::string text() const;
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
  explicit join_world(const open_journal& open = nullptr);
  ~join_world();

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

  tenant_id new_tenant(const std::string& name, bool is_root);
  site_id new_site();
  site_id new_site(const tenant_id& of, events::site::kind kind);
  void delete_site(const site_id& id);
  pool_id new_pool(const tenant_id& tenant, const site_id& where,
                   events::pool::agent agent,
                   const events::pool::policy& rules = {});
  void archive(const pool_id& id);

  /// A token of the pool: one use, an hour. `change` sees it before it is
  /// written.
  minted mint_token(
      const std::function<void(events::join_token::created&)>& change = {});
  void revoke(const minted& m);
  void use_up(const minted& m);

  /// A token by which a known machine of the pool may take its node back.
  minted mint_reclaim_token();

  [[nodiscard]] events::node::state node(const node_id& id) const;
  /// What the command makes of the node, as its actor or an operator would.
  template <class Command>
  void command(const node_id& id, const Command& c) {
    auto state = node(id);
    // Found by the command: the deciders have headers of their own.
    auto decided = decide(state, c);
    REQUIRE(decided.has_value());
    for (const auto& e : decided.value())
      append<events::node::event>(events::stream_of(id), e, state.node->tenant);
  }
  /// As nodes.delete: cordoned first.
  void retire(const node_id& id);

  [[nodiscard]] std::string seal(std::string_view token,
                                 const machine& m) const;
  /// What a good daemon sends.
  [[nodiscard]] wire::join_request request(const machine& m,
                                           std::string_view token) const;

  [[nodiscard]] std::shared_ptr<actors::join_environment> environment();
  tried send(const std::string& body);
  tried join(const wire::join_request& r);
  tried join(const machine& m, std::string_view token);

  [[nodiscard]] std::uint64_t head() const;
  [[nodiscard]] std::int64_t uses_left(const minted& m) const;
  [[nodiscard]] std::vector<events::envelope> after(
      std::uint64_t position) const;
  [[nodiscard]] std::size_t count(std::string_view type) const;

  testing::world_store store{start_of_time};
  testing::world_clock& time = store.time;
  std::unique_ptr<events::journal> journal;
  std::shared_ptr<sync_ledger> ledger =
      std::make_shared<sync_ledger>(*journal, time);
  std::shared_ptr<const pki::key_bundle> keys = test_keys();
  std::vector<actors::refusal_report> reports;
  seconds lifetime = pki::max_node_lifetime;
  pki::shared_uuids shared_uuids;
  bool x509pop = false;  // whether it is configured
  std::optional<actors::tpm_attestor> tpm;
  std::optional<actors::discovery_attestor> discovery;
  tenant_id root, owner;
  site_id site;
  pool_id pool;
};

/// The answer's bytes with the signed time blanked.
std::string without_time(wire::join_answer answer);

node_id node_of(const wire::join_answer& answer);

inline bool joined(const tried& t) {
  return t.answer.what == wire::join_answer::kind::joined;
}

/// The rule for every refusal: the one wire answer, exactly one report with
/// hashes only, and nothing written or spent.
void check_refused(join_world& w, const tried& t, std::uint64_t head,
                   events::refusal_reason reason, const tenant_id& owner);

}  // namespace bc::test
