#pragma once

#include "actors/ledger.hpp"
#include "events/streams.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bc::test {

/// A ledger without actors: each call does its work on the journal at once
/// and calls back before it returns. The journal, the clock and the queries
/// must outlive it.
class sync_ledger : public actors::ledger {
 public:
  explicit sync_ledger(events::journal& journal, const clock& time,
                       projections::queries* queries = nullptr)
      : journal_(journal), time_(time), queries_(queries) {}

  void tenant(const tenant_id& id,
              actors::reply_to<actors::shared_state<events::tenant::state>>
                  done) override {
    done(fold<events::tenant::state>(id, events::tenant::decode));
  }
  void site(const site_id& id,
            actors::reply_to<actors::shared_state<events::site::state>> done)
      override {
    done(fold<events::site::state>(id, events::site::decode));
  }
  void pool(const pool_id& id,
            actors::reply_to<actors::shared_state<events::pool::state>> done)
      override {
    done(fold<events::pool::state>(id, events::pool::decode));
  }
  void credential(
      const credential_id& id,
      actors::reply_to<actors::shared_state<events::credential::state>> done)
      override {
    done(fold<events::credential::state>(id, events::credential::decode));
  }
  void token(const join_token_id& id,
             actors::reply_to<actors::shared_state<events::join_token::state>>
                 done) override {
    done(fold<events::join_token::state>(id, events::join_token::decode));
  }
  void node(const node_id& id,
            actors::reply_to<actors::shared_state<events::node::state>> done)
      override {
    done(fold<events::node::state>(id, events::node::decode));
  }

  void append(events::batch b,
              actors::reply_to<events::append_outcome> done) override {
    auto group = journal_.append(std::span<const events::batch>{&b, 1});
    if (group)
      return done(std::move(group).value().front());
    // Preconditions alone leave nothing to look up.
    if (!b.has_events())
      return done(group.error());
    auto found = journal_.outcome(b.id);
    if (!found)
      return done(found.error());
    if (!found.value())
      return done(group.error());
    done(events::append_outcome{std::move(*found.value())});
  }

  void holder(
      std::string claim,
      actors::reply_to<std::optional<events::claim_holder>> done) override {
    done(journal_.holder(claim));
  }
  void refusals(
      std::string owner, std::string csr_sha256, std::size_t limit,
      actors::reply_to<std::vector<events::refused_join>> done) override {
    done(journal_.find_refusals(owner, csr_sha256, limit));
  }
  void event_at(
      std::uint64_t position,
      actors::reply_to<std::optional<events::envelope>> done) override {
    if (position == 0)
      return done(std::optional<events::envelope>{});
    auto read = journal_.read_all(position - 1, 1);
    if (!read)
      return done(read.error());
    std::optional<events::envelope> found;
    if (!read.value().empty() && read.value().front().position == position)
      found = std::move(read.value().front());
    done(std::move(found));
  }
  void events_after(
      std::uint64_t position, std::size_t limit,
      actors::reply_to<std::vector<events::envelope>> done) override {
    done(journal_.read_all(position, limit));
  }
  void head(actors::reply_to<events::head_row> done) override {
    done(journal_.head());
  }

  void query(std::function<result<std::string>(projections::queries&)> read,
             actors::reply_to<std::string> done) override {
    if (queries_ == nullptr)
      return done(fail(errc::unavailable, "no read models here"));
    done(read(*queries_));
  }

  void after(milliseconds, std::function<void()> run) override { run(); }

  [[nodiscard]] time_point now() const override { return time_.now(); }

 private:
  template <class State, class Id, class Decode>
  result<actors::shared_state<State>> fold(const Id& id, Decode decode) {
    constexpr std::size_t page = 512;
    const auto stream = events::stream_of(id);
    State state;
    while (true) {
      BC_TRY(read, journal_.read_stream(stream, state.version, page));
      for (const auto& envelope : read) {
        BC_TRY(event, decode(envelope));
        state = evolve(std::move(state), event);
        // evolve may count versions itself; the envelope's is the truth.
        state.version = envelope.version;
      }
      if (read.size() < page)
        return std::make_shared<const State>(std::move(state));
    }
  }

  events::journal& journal_;
  const clock& time_;
  projections::queries* queries_;
};

}  // namespace bc::test
