#include "actors/commands/command_flow.hpp"
#include "actors/commands/command_run.hpp"
#include "base/wire_session.hpp"
#include "events/admission.hpp"
#include "events/command_output.hpp"
#include "events/command_rules.hpp"
#include "events/node_inventory.hpp"
#include "events/streams.hpp"
#include "pki/hardware_key.hpp"
#include "pki/identifier_hash.hpp"

#include <optional>
#include <vector>

// What a node said became of a command.
namespace bc::actors {

namespace {

namespace command = events::command;

using detail::node_state;
using command_state = shared_state<command::state>;
using holder = std::optional<events::claim_holder>;

class result_run : public detail::command_run,
                   public std::enable_shared_from_this<result_run> {
 public:
  using detail::command_run::command_run;

  void start() {
    auto said = wire::decode_relayed_result(call_.body);
    if (!said)
      return finish(said.error());
    auto node = node_id::parse(said.value().node_id);
    if (!node)
      return refuse();
    node_id_ = node.value();
    outcome_.node = node_id_;
    outcome_.succeeded = said.value().what.succeeded;
    outcome_.output = std::move(said.value().what.output);
    if (auto id = command_id::parse(said.value().what.command_id))
      command_id_ = id.value();
    attempt();
  }

 private:
  friend class detail::command_run;

  template <class T, class Step>
  [[nodiscard]] reply_to<T> on(Step step) {
    return then<T>(shared_from_this(), std::move(step));
  }

  void attempt() {
    streams_->node(node_id_, on<node_state>([this](node_state s) {
                     node_ = std::move(s);
                     if (caller_of(*node_) == nullptr)
                       return refuse_if_known(shared_from_this(), node_id_,
                                              *node_, [this] { attempt(); });
                     if (command_id_.empty())
                       return finish(no_such_command());
                     load_command();
                   }));
  }

  void load_command() {
    streams_->command(command_id_, on<command_state>([this](command_state s) {
                        command_ = std::move(s);
                        outcome_.now = streams_->now();
                        auto decided = decide(*command_, outcome_);
                        if (!decided)
                          return finish(no_such_command());
                        completed_ = std::move(decided).value();
                        look_at_hardware();
                      }));
  }

  static fault no_such_command() {
    return fail(errc::not_found, "No such command of this node");
  }

  // Who has the hardware that an inventory names, before it is decided on.
  void look_at_hardware() {
    found_.reset();
    if (completed_.empty() || !outcome_.succeeded ||
        command_->command->kind != events::kind_inventory)
      return append();
    auto claims = events::claims_in(outcome_.output);
    if (!claims)
      return append();
    const auto ids = pki::normalise(
        pki::without_shared(events::hardware_of(*claims), env_->shared_uuids));
    const auto key = pki::derive_hardware_key(ids);
    const auto known =
        events::node::known_identifiers(*node_, env_->shared_uuids);
    auto found = pki::hashes_of(ids);
    found_ = {key.hex, key.names_a_machine(), false,
              pki::changed_kinds(known, found), std::move(found)};
    if (!found_->trusted)
      return append();
    streams_->holder(events::node::hardware_claim(key.hex),
                     on<holder>([this](const holder& h) {
                       found_->taken =
                           h && h->stream != events::stream_of(node_id_);
                       append();
                     }));
  }

  void append() {
    std::vector<events::node::event> follows;
    if (!completed_.empty()) {
      auto decided =
          events::decide_outcome(*node_, *command_->command, outcome_, found_);
      if (!decided)
        return finish(decided.error());
      follows = std::move(decided).value();
    }
    auto b = machine_batch(call_.correlation, streams_->now());
    const auto tenant = node_->node->tenant.str();
    auto& of_command = b.writes.emplace_back(
        pin(events::stream_of(command_id_), command_->version));
    for (const auto& e : completed_)
      of_command.events.push_back(command::encode(e));
    if (!completed_.empty())
      of_command.tenant = tenant;
    auto& of_node =
        b.writes.emplace_back(pin(events::stream_of(node_id_), node_->version));
    of_node.events = encoded(follows);
    if (!follows.empty())
      of_node.tenant = tenant;
    streams_->append(
        std::move(b),
        on<events::append_outcome>(
            [this](const events::append_outcome& outcome) {
              if (std::holds_alternative<events::appended>(outcome))
                return finish({200, "{}"});
              if (--tries_left_ == 0)
                return unavailable("The node keeps moving");
              attempt();
            }));
  }

  node_id node_id_;
  command_id command_id_;  // empty: the text is none
  command::complete outcome_;
  node_state node_;
  command_state command_;
  std::vector<command::event> completed_;
  std::optional<events::found_hardware> found_;
};

}  // namespace

void run_result(std::shared_ptr<const session_environment> env,
                std::shared_ptr<ledger> streams, daemon_call call,
                std::function<void(daemon_reply)> done) {
  std::make_shared<result_run>(std::move(env), std::move(streams),
                               std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
