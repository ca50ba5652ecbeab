#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/boot_lease.hpp"
#include "events/command.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/journal.hpp"
#include "events/node.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::projections {
class queries;
}

namespace bc::actors {

template <class T>
using reply_to = std::function<void(result<T>)>;

template <class State>
using shared_state = std::shared_ptr<const State>;

/// What the join service and the API need of the actors that own state, the
/// journal writer and the reader: each call sends a message and comes back
/// later through its callback, in the context of the actor that asked.
/// A stream that does not exist is a state of version 0. A fault is
/// infrastructure (UNAVAILABLE, INTERNAL).
class ledger {
 public:
  virtual ~ledger() = default;

  virtual void tenant(const tenant_id& id,
                      reply_to<shared_state<events::tenant::state>> done) = 0;
  virtual void site(const site_id& id,
                    reply_to<shared_state<events::site::state>> done) = 0;
  virtual void pool(const pool_id& id,
                    reply_to<shared_state<events::pool::state>> done) = 0;
  virtual void credential(
      const credential_id& id,
      reply_to<shared_state<events::credential::state>> done) = 0;
  virtual void token(
      const join_token_id& id,
      reply_to<shared_state<events::join_token::state>> done) = 0;
  virtual void request(
      const join_request_id& id,
      reply_to<shared_state<events::join_request::state>> done) = 0;
  virtual void node(const node_id& id,
                    reply_to<shared_state<events::node::state>> done) = 0;
  virtual void command(const command_id& id,
                       reply_to<shared_state<events::command::state>> done) = 0;
  virtual void boot_lease(
      const site_id& of,
      reply_to<shared_state<events::boot_lease::state>> done) = 0;

  /// Gives the batch to the journal writer. An outcome that is unknown after
  /// a commit is looked up before the callback runs.
  virtual void append(events::batch b,
                      reply_to<events::append_outcome> done) = 0;

  virtual void holder(std::string claim,
                      reply_to<std::optional<events::claim_holder>> done) = 0;
  /// This owner's for this CSR, newest first (journal::find_refusals).
  virtual void refusals(std::string owner, std::string csr_sha256,
                        std::size_t limit,
                        reply_to<std::vector<events::refused_join>> done) = 0;
  virtual void event_at(std::uint64_t position,
                        reply_to<std::optional<events::envelope>> done) = 0;
  virtual void events_after(std::uint64_t position, std::size_t limit,
                            reply_to<std::vector<events::envelope>> done) = 0;
  virtual void head(reply_to<events::head_row> done) = 0;

  /// Runs the function on the thread that may block, with the read models;
  /// its text (JSON of an answer) comes back.
  virtual void query(
      std::function<result<std::string>(projections::queries&)> read,
      reply_to<std::string> done) = 0;

  /// Runs the function later, in the same context.
  virtual void after(milliseconds pause, std::function<void()> run) = 0;

  [[nodiscard]] virtual time_point now() const = 0;
};

}  // namespace bc::actors
