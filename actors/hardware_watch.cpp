#include "actors/hardware_watch.hpp"

#include "actors/look.hpp"
#include "actors/requests/superseding.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "projections/queries.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <utility>
#include <variant>
#include <vector>

namespace bc::actors {
namespace {

namespace node = events::node;

using node_state = shared_state<node::state>;

// MACs at a time: the rest waits for the next look.
constexpr int at_once = 256;

events::stream_write told(const node::state& s, const node::tell_shared& c) {
  events::stream_write out;
  out.stream = events::stream_of(s.node->id);
  out.expected_version = s.version;
  auto decided = node::decide(s, c);
  if (!decided || decided.value().empty())
    return out;
  out.tenant = s.node->tenant.str();
  for (const auto& e : decided.value())
    out.events.push_back(node::encode(e));
  return out;
}

bool is_there(const node::state& s) {
  return s.node && s.current != node::status::retired;
}

/// What is untold, one pair of nodes after the other.
class telling : public std::enable_shared_from_this<telling> {
 public:
  telling(std::shared_ptr<ledger> streams, std::function<void()> done)
      : streams_(std::move(streams)), done_(std::move(done)) {}

  void start() {
    auto found = std::make_shared<rows>();
    streams_->query(
        [found](projections::queries& q) -> result<std::string> {
          BC_TRY(untold, q.untold_shared_hardware(at_once));
          *found = std::move(untold);
          return std::string{};
        },
        then<std::string>([this, found](const std::string&) {
          left_ = std::move(*found);
          next();
        }));
  }

 private:
  using rows = std::vector<projections::shared_hardware_row>;

  template <class T, class Step>
  reply_to<T> then(Step step) {
    return [self = shared_from_this(), step = std::move(step)](result<T> got) {
      if (got)
        return step(std::move(got).value());
      if (ends_look("shared hardware", self->about_, got.error()))
        return self->done_();
      self->next();
    };
  }

  void next() {
    if (left_.empty())
      return done_();
    pair_ = std::move(left_.back());
    left_.pop_back();
    about_ = pair_.node + ' ' + pair_.other;
    auto newer = node_id::parse(pair_.node),
         elder = node_id::parse(pair_.other);
    if (!newer || !elder)
      return next();
    newer_id_ = newer.value();
    elder_id_ = elder.value();
    streams_->node(newer_id_, then<node_state>([this](node_state s) {
                     newer_ = std::move(s);
                     read_elder();
                   }));
  }

  void read_elder() {
    streams_->node(elder_id_, then<node_state>([this](node_state s) {
                     elder_ = std::move(s);
                     both_read();
                   }));
  }

  void both_read() {
    // The read models are behind.
    if (!is_there(*newer_) || !is_there(*elder_))
      return next();
    for_elder_.clear();
    unasked_ = pair_.macs;
    if (newer_->node->tenant == elder_->node->tenant)
      return append();
    ask_what_elder_knows();
  }

  // The elder is told of each of its MACs once, whoever else has it.
  void ask_what_elder_knows() {
    if (unasked_.empty())
      return append();
    auto mac = std::move(unasked_.back());
    unasked_.pop_back();
    auto claim = node::told_claim(elder_id_, mac);
    streams_->holder(std::move(claim),
                     then<std::optional<events::claim_holder>>(
                         [this, mac](const auto& holder) {
                           if (!holder)
                             for_elder_.push_back(mac);
                           ask_what_elder_knows();
                         }));
  }

  void append() {
    const auto now = streams_->now();
    events::batch b;
    b.id = pki::mint<batch_id>(now);
    b.actor = "system";
    for (const auto& mac : pair_.macs)
      b.answers_free.push_back(node::told_claim(newer_id_, mac));
    for (const auto& mac : for_elder_)
      b.answers_free.push_back(node::told_claim(elder_id_, mac));
    b.writes.push_back(told(
        *newer_, {pair_.macs, elder_id_, elder_->node->tenant, false, now}));
    auto& elder = b.writes.emplace_back();
    elder.stream = events::stream_of(elder_id_);
    elder.expected_version = elder_->version;
    if (!for_elder_.empty())
      elder = told(*elder_,
                   {for_elder_, newer_id_, newer_->node->tenant, true, now});
    if (!b.has_events())
      return next();
    // Rejected: something moved, or another process told. The next look finds
    // what is left.
    streams_->append(std::move(b), then<events::append_outcome>(
                                       [this](const auto&) { next(); }));
  }

  std::shared_ptr<ledger> streams_;
  std::function<void()> done_;
  rows left_;
  projections::shared_hardware_row pair_;
  std::string about_;  // the nodes that are looked at
  node_id newer_id_, elder_id_;
  node_state newer_, elder_;
  std::vector<std::string> for_elder_, unasked_;
};

using watch = hardware_watch_actor::pointer;

hardware_watch_actor::behavior_type hardware_watch(
    watch self, const hardware_watch_options& options) {
  auto streams = std::make_shared<actor_ledger<watch>>(self, options.others);
  self->delayed_send(self, options.every, tick{});
  return {
      [=, every = options.every](tick) {
        tell_shared_hardware(streams, [=] {
          supersede_requests(streams,
                             [=] { self->delayed_send(self, every, tick{}); });
        });
      },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

void tell_shared_hardware(std::shared_ptr<ledger> streams,
                          std::function<void()> done) {
  std::make_shared<telling>(std::move(streams), std::move(done))->start();
}

hardware_watch_actor spawn_hardware_watch(caf::actor_system& system,
                                          hardware_watch_options options) {
  return system.spawn(hardware_watch, std::move(options));
}

}  // namespace bc::actors
