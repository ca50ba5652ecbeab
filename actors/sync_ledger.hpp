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

namespace bc::actors {

/// A ledger without actors, of one caller: for a command on the store, and for
/// tests. Each call does its work on the journal at once and calls back before
/// it returns; what is to run later runs at once. The journal, the clock and
/// the queries must outlive it.
class sync_ledger : public ledger {
 public:
  explicit sync_ledger(events::journal& journal, const clock& time,
                       projections::queries* queries = nullptr);

  void tenant(const tenant_id& id,
              reply_to<shared_state<events::tenant::state>> done) override;
  void site(const site_id& id,
            reply_to<shared_state<events::site::state>> done) override;
  void pool(const pool_id& id,
            reply_to<shared_state<events::pool::state>> done) override;
  void credential(
      const credential_id& id,
      reply_to<shared_state<events::credential::state>> done) override;
  void token(const join_token_id& id,
             reply_to<shared_state<events::join_token::state>> done) override;
  void request(
      const join_request_id& id,
      reply_to<shared_state<events::join_request::state>> done) override;
  void node(const node_id& id,
            reply_to<shared_state<events::node::state>> done) override;
  void command(const command_id& id,
               reply_to<shared_state<events::command::state>> done) override;

  void boot_lease(
      const site_id& of,
      reply_to<shared_state<events::boot_lease::state>> done) override;

  void append(events::batch b, reply_to<events::append_outcome> done) override;

  void holder(std::string claim,
              reply_to<std::optional<events::claim_holder>> done) override;
  void refusals(std::string owner, std::string csr_sha256, std::size_t limit,
                reply_to<std::vector<events::refused_join>> done) override;
  void event_at(std::uint64_t position,
                reply_to<std::optional<events::envelope>> done) override;
  void events_after(std::uint64_t position, std::size_t limit,
                    reply_to<std::vector<events::envelope>> done) override;
  void head(reply_to<events::head_row> done) override;

  void query(std::function<result<std::string>(projections::queries&)> read,
             reply_to<std::string> done) override;

  void after(milliseconds, std::function<void()> run) override;

  [[nodiscard]] time_point now() const override;

 private:
  template <class State, class Id, class Decode>
  result<shared_state<State>> fold(const Id& id, Decode decode) {
    return fold_stream<State>(events::stream_of(id), decode);
  }

  template <class State, class Decode>
  result<shared_state<State>> fold_stream(const events::stream_id& stream,
                                          Decode decode) {
    constexpr std::size_t page = 512;
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

}  // namespace bc::actors
