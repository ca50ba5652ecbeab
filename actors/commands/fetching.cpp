#include "actors/api/models_wait.hpp"
#include "actors/commands/command_flow.hpp"
#include "actors/commands/command_run.hpp"
#include "base/wire_session.hpp"
#include "events/actor.hpp"
#include "events/command_output.hpp"
#include "events/command_rules.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "pki/signature.hpp"
#include "projections/queries.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

// What waits for a node, read where it is true: the read model says where to
// look, each command's stream what it is.
namespace bc::actors {

namespace {

namespace command = events::command;

using detail::node_state;
using command_state = shared_state<command::state>;

// More than are answered: some may not be allowed.
constexpr int most_looked_at = 64;
constexpr milliseconds a_moment{20};
// Of one answer, in bytes; one more command stays below what a relay carries.
constexpr std::size_t enough = 192 * 1024;
// One more each time that a run's time was up while the node was there.
constexpr int most_acceptance_rounds = 16;

class fetch_run : public detail::command_run,
                  public std::enable_shared_from_this<fetch_run> {
 public:
  using detail::command_run::command_run;

  void start() {
    if (!env_->keys)
      return finish(
          fail(errc::invalid_config, "This server has no command keys"));
    auto asked = wire::decode_fetch_commands(call_.body);
    if (!asked)
      return finish(asked.error());
    auto id = node_id::parse(asked.value().node_id);
    if (!id)
      return refuse();
    id_ = id.value();
    load();
  }

 private:
  template <class T, class Step>
  [[nodiscard]] reply_to<T> on(Step step) {
    return then<T>(shared_from_this(), std::move(step));
  }
  friend class detail::command_run;

  void load() {
    streams_->node(id_, on<node_state>([this](node_state s) {
                     node_ = std::move(s);
                     begin();
                   }));
  }

  void begin() {
    const auto* held = caller_of(*node_);
    if (held == nullptr)
      return refuse_if_known(shared_from_this(), id_, *node_,
                             [this] { load(); });
    allowed_ = held->allowed_kinds;
    // The hello that began it is not known here yet.
    if (node_->current == events::node::status::adopting &&
        node_->node->acceptance && !node_->acceptance_started_at)
      return unavailable("The node's acceptance has not begun");
    accept();
  }

  // Acceptance: its run is a command of the server's own, made at most once in
  // each round by its id.

  void accept() {
    auto id = events::acceptance_id(*node_, round_);
    if (!id || node_->failed_acceptance || !node_->node->pool ||
        !events::allows_kind(allowed_, events::kind_acceptance))
      return await_models();
    streams_->command(*id, on<command_state>([this, id = *id](command_state s) {
      if (!s->command)
        return enqueue_acceptance(id);
      if (was_not_run(*s) && ++round_ < most_acceptance_rounds)
        return accept();
      await_models();
    }));
  }

  [[nodiscard]] bool was_not_run(const command::state& s) const {
    return status_at(s, streams_->now()) == command::status::expired ||
           (s.outcome &&
            events::was_not_run(s.outcome->succeeded, s.outcome->output));
  }

  void enqueue_acceptance(const command_id& id) {
    using pool_state = shared_state<events::pool::state>;
    streams_->pool(*node_->node->pool,
                   on<pool_state>([this, id](const pool_state& pool) {
                     if (!pool->pool)
                       return await_models();
                     append_acceptance(id, *pool);
                   }));
  }

  void append_acceptance(const command_id& id,
                         const events::pool::state& pool) {
    const auto now = streams_->now();
    command::enqueued run;
    run.id = id;
    run.node = id_;
    run.tenant = node_->node->tenant;
    run.kind = events::kind_acceptance;
    run.payload =
        events::acceptance_payload(pool.pool->rules.acceptance_checks);
    // Never before the beginning that it is of, whichever clocks these are by;
    // what counts is the version.
    run.at = std::max(now, *node_->acceptance_started_at);
    run.node_version = node_->version;
    run.expires_at = run.at + command::longest_lifetime;
    events::batch b;
    b.id = pki::mint<batch_id>(now);
    b.actor = events::system_actor;
    b.correlation = call_.correlation;
    b.writes.push_back(
        {events::stream_of(id), run.tenant.str(), 0, {command::encode(run)}});
    b.writes.push_back(pin(events::stream_of(id_), node_->version));
    b.writes.push_back(pin(events::stream_of(pool.pool->id), pool.version));
    // When something moved meanwhile, the next fetch tries again, and there is
    // one soon: the notice of the command, or of what moved the node.
    streams_->append(
        std::move(b),
        on<events::append_outcome>(
            [this](const events::append_outcome& outcome) {
              if (std::holds_alternative<events::rejected>(outcome))
                return unavailable("The node keeps moving");
              await_models();
            }));
  }

  // What waits.

  void await_models() {
    if (!env_->models)
      return ask_models();
    streams_->head(on<events::head_row>([this](const events::head_row& head) {
      wait_for_models(env_->models, streams_, head.position,
                      on<std::uint64_t>([this, wanted = head.position](
                                            std::uint64_t reached) {
                        if (reached < wanted)
                          return unavailable("The read models are behind");
                        ask_models();
                      }));
    }));
  }

  void ask_models() {
    streams_->query(
        [node = id_.str(), now = streams_->now()](
            projections::queries& q) -> result<std::string> {
          BC_TRY(ids, q.pending_commands(node, now, most_looked_at));
          std::string lines;
          for (const auto& id : ids)
            lines += id + "\n";
          return lines;
        },
        on<std::string>([this](const std::string& lines) {
          for (std::size_t at = 0; at < lines.size();) {
            const auto end = lines.find('\n', at);
            if (auto id = command_id::parse(lines.substr(at, end - at)))
              ids_.push_back(std::move(id).value());
            at = end + 1;
          }
          next();
        }));
  }

  void next() {
    if (looked_at_ == ids_.size())
      return confirm();
    if (out_.commands.size() == most_fetched || answer_size_ > enough) {
      out_.more = true;
      return confirm();
    }
    streams_->command(ids_[looked_at_],
                      on<command_state>([this](const command_state& s) {
                        if (!s->command)
                          return look_again();
                        ++looked_at_;
                        take(*s);
                        next();
                      }));
  }

  // The read models are ahead of the command's own actor, which has not heard
  // yet what was just written: to pass over it would be to lose it, since the
  // notice that brought this fetch comes once.
  void look_again() {
    if (--looks_left_ == 0)
      return unavailable("The command is not known here yet");
    streams_->after(a_moment, [self = shared_from_this()] { self->next(); });
  }

  void take(const command::state& s) {
    if (s.command->node != id_ ||
        status_at(s, streams_->now()) != command::status::pending ||
        !events::allows_kind(allowed_, s.command->kind))
      return;
    const auto& c = *s.command;
    wire::command one;
    one.body = wire::encode(wire::command_body{c.id.str(), c.node.str(), c.kind,
                                               c.payload, to_millis(c.at),
                                               to_millis(c.expires_at)});
    const auto signature =
        pki::sign(env_->keys->command_signing, pki::purpose::command,
                  {as_bytes(one.body)});
    one.signature.assign(signature.begin(), signature.end());
    answer_size_ += wire::encode(wire::fetched_commands{{one}}).size();
    out_.commands.push_back(std::move(one));
  }

  // The node may be over, and this process not know it yet.
  void confirm() {
    if (out_.commands.empty())
      return give();
    streams_->append(
        confirm_node(id_, node_->version, call_.correlation, streams_->now()),
        on<events::append_outcome>(
            [this](const events::append_outcome& outcome) {
              if (std::holds_alternative<events::appended>(outcome))
                return give();
              reload();
            }));
  }

  // It moved: what was found stands while the caller still is the node.
  void reload() {
    if (--tries_left_ == 0)
      return unavailable("The node keeps moving");
    streams_->node(id_, on<node_state>([this](node_state s) {
                     node_ = std::move(s);
                     if (caller_of(*node_) == nullptr)
                       return refuse();
                     confirm();
                   }));
  }

  void give() {
    out_.allowed_kinds = allowed_;
    finish({200, wire::encode(out_)});
  }

  node_id id_;
  node_state node_;
  std::vector<std::string> allowed_;
  int round_ = 0;
  std::vector<command_id> ids_;
  std::size_t looked_at_ = 0;
  int looks_left_ = 20;
  std::size_t answer_size_ = 0;
  wire::fetched_commands out_;
};

}  // namespace

void run_fetch(std::shared_ptr<const session_environment> env,
               std::shared_ptr<ledger> streams, daemon_call call,
               std::function<void(daemon_reply)> done) {
  std::make_shared<fetch_run>(std::move(env), std::move(streams),
                              std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
