#pragma once

#include "events/command.hpp"
#include "events/journal.hpp"
#include "events/node_sessions.hpp"
#include "tests/events/stream_samples.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

/// Events as the product makes them, in a journal of whatever store.
namespace bc::testing {

using events::stream_of;

class history {
 public:
  /// Events of one stream, appended at whatever version it has.
  events::stream_write on(events::stream_id stream, const tenant_id& tenant,
                          std::vector<events::event_write> written);

  void append(std::vector<events::stream_write> writes);

  tenant_id add_tenant();

  site_id add_site(const tenant_id& owner,
                   events::site::kind kind = events::site::kind::custom,
                   std::optional<tenant_id> dedicated_to = std::nullopt);

  /// What the site's, pool's or token's stream decides.
  template <class State, class Id, class Decode, class Command>
  void decide_on_stream(const Id& id, const tenant_id& owner, Decode decode,
                        const Command& c) {
    State s;
    auto all = store->read_stream(stream_of(id), 0, 1000);
    REQUIRE(all);
    for (const auto& e : all.value())
      s = evolve(std::move(s), decode(e).value());
    auto decided = decide(s, c);
    REQUIRE(decided);
    for (const auto& e : decided.value())
      append({on(stream_of(id), owner, {encode(e)})});
  }
  template <class Command>
  void change_site(const site_id& id, const tenant_id& owner,
                   const Command& c) {
    decide_on_stream<events::site::state>(id, owner, events::site::decode, c);
  }
  template <class Command>
  void change_pool(const pool_id& id, const tenant_id& owner,
                   const Command& c) {
    decide_on_stream<events::pool::state>(id, owner, events::pool::decode, c);
  }

  pool_id add_pool(const tenant_id& tenant, const site_id& site);

  events::join_token::created add_token(const tenant_id& tenant,
                                        const pool_id& pool,
                                        const site_id& site,
                                        std::int64_t uses = 1,
                                        seconds ttl = seconds{3600});

  void revoke(const events::join_token::created& t);

  events::credential::created add_credential(const tenant_id& tenant);

  void revoke(const events::credential::created& c);

  /// None, or one that a few machines have.
  std::vector<std::string> some_macs();

  /// As a join does: one use and one node in one batch.
  events::node::joined join(const events::join_token::created& t);

  void adopt(const events::node::joined& j);

  events::node::state node_state(const node_id& id);

  /// What the node's stream decides; false when that is nothing.
  template <class Command>
  bool decide_on(const events::node::joined& j, const Command& c) {
    auto decided = decide(node_state(j.id), c);
    if (!decided || decided.value().empty())
      return false;
    std::vector<events::event_write> written;
    for (const auto& e : decided.value())
      written.push_back(events::node::encode(e));
    append({on(stream_of(j.id), j.tenant, std::move(written))});
    return true;
  }

  /// The machine comes back with a new key.
  bool reclaim(const events::node::joined& j);

  /// The machine goes on with another key.
  bool renew(const events::node::joined& j);

  /// The machine goes on by its certificate that is over.
  bool rejoin(const events::node::joined& j, const std::string& hostname);

  /// A session of the node at a gateway.
  /// A command to the node, and what it says became of it.
  events::command::enqueued enqueue(const events::node::joined& j,
                                    seconds lifetime);
  void complete(const events::command::enqueued& c, bool succeeded);

  bool open_session(const events::node::joined& j, const std::string& session,
                    const std::string& gateway = "gw_1");

  /// Something that an operator or the machine may do to its node.
  void change(const events::node::joined& j);

  /// Something that an owner may do to its sites and pools; what ends is
  /// another site, and another pool.
  void change_directory(const tenant_id& owner, const site_id& site,
                        const pool_id& pool);

  /// A machine that waits, a machine of its own; unclaimed without a pool.
  events::join_request::opened open_request(
      const tenant_id& owner, const site_id& site,
      const std::optional<pool_id>& pool = std::nullopt);
  /// What the request's stream decides; nothing when it refuses.
  template <class Command>
  void decide_on_request(const events::join_request::opened& o,
                         const Command& c) {
    events::join_request::state s;
    auto all = store->read_stream(stream_of(o.id), 0, 1000);
    REQUIRE(all);
    for (const auto& e : all.value())
      s = evolve(std::move(s), events::join_request::decode(e).value());
    auto decided = decide(s, c);
    if (!decided)
      return;
    for (const auto& e : decided.value())
      append({on(stream_of(o.id), o.tenant, {encode(e)})});
  }
  /// The machine of a request becomes a node of the pool by another way.
  events::node::joined join_as(const events::join_request::opened& o,
                               const pool_id& pool);
  /// Something that its machine, or an operator, may do about it.
  void change(const events::join_request::opened& o, const pool_id& pool);

  /// Many events of every kind, with time passing.
  void random_history(int steps);

  /// In whose name events are appended, and for which request.
  std::string actor = "system";
  std::string correlation = "req-0";
  std::string last_session;
  sampler random{static_cast<unsigned>(Catch::rngSeed() + 1)};
  manual_clock time{at("2026-11-29T12:00:00Z")};
  std::unique_ptr<events::journal> store;
};

}  // namespace bc::testing
