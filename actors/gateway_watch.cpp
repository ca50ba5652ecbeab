#include "actors/gateway_watch.hpp"

#include "actors/batches.hpp"
#include "actors/look.hpp"
#include "events/node_sessions.hpp"
#include "projections/queries.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace bc::actors {
namespace {

namespace node = events::node;

using node_state = shared_state<node::state>;

// Nodes at a time: the rest waits for the next look.
constexpr int at_once = 256;

/// A node with a session at a gateway that is lost.
struct left_behind {
  std::string gateway;
  std::string node;
};
using left_nodes = std::vector<left_behind>;

result<bool> is_lost(events::gateway_presence& presence,
                     const std::string& gateway) {
  BC_TRY(silence, presence.silent_for(gateway));
  return !silence || *silence >= gateway_silence;
}

result<left_nodes> find_left(const gateway_look& look,
                             projections::queries& q) {
  BC_TRYV(look.presence->seen(look.here));
  left_nodes out;
  // Asked now: to be heard by the store may have taken long.
  if (!look.judges())
    return out;
  for (std::string at; out.size() < at_once;) {
    BC_TRY(next, q.next_gateway(at));
    if (!next)
      break;
    at = *next;
    if (std::ranges::find(look.here, at) != look.here.end())
      continue;
    BC_TRY(lost, is_lost(*look.presence, at));
    if (!lost)
      continue;
    BC_TRY(nodes, q.nodes_at(at, at_once));
    for (auto& one : nodes)
      out.push_back({at, std::move(one)});
  }
  return out;
}

/// One node after the other.
class giving_up : public std::enable_shared_from_this<giving_up> {
 public:
  giving_up(std::shared_ptr<ledger> streams, gateway_look look,
            std::function<void(bool)> done)
      : streams_(std::move(streams)),
        look_(std::move(look)),
        done_(std::move(done)) {}

  void start() {
    auto found = std::make_shared<left_nodes>();
    streams_->query(
        [found, look = look_](projections::queries& q) -> result<std::string> {
          BC_TRY(left, find_left(look, q));
          *found = std::move(left);
          return std::string{};
        },
        then<std::string>([this, found](const std::string&) {
          left_ = std::move(*found);
          next();
        }));
  }

 private:
  template <class T, class Step>
  reply_to<T> then(Step step) {
    return [self = shared_from_this(), step = std::move(step)](result<T> got) {
      if (got)
        return step(std::move(got).value());
      if (ends_look("gateways", self->about_, got.error()))
        return self->done_(false);
      self->next();
    };
  }

  void next() {
    if (left_.empty())
      return done_(true);
    auto one = std::move(left_.back());
    left_.pop_back();
    about_ = one.node;
    auto id = node_id::parse(one.node);
    if (!id)
      return next();
    streams_->node(id.value(), then<node_state>(
                                   [this, gateway = one.gateway](node_state s) {
                                     end_session(*s, gateway);
                                   }));
  }

  // No such session: the read models are behind.
  void end_session(const node::state& s, const std::string& gateway) {
    const auto now = streams_->now();
    const auto* live = node::live_session(s);
    if (live == nullptr || live->gateway != gateway ||
        now - live->at < gateway_silence)
      return next();
    auto decided = decide(s, node::disconnect{now, live->session,
                                              node::session_end::gateway_lost});
    if (!decided || decided.value().empty())
      return next();
    // Rejected: the node moved on. The next look finds what is left.
    streams_->append(
        system_batch(s, decided.value(), now),
        then<events::append_outcome>([this](const auto&) { next(); }));
  }

  std::shared_ptr<ledger> streams_;
  gateway_look look_;
  std::function<void(bool)> done_;
  left_nodes left_;
  std::string about_;  // the node that is looked at
};

using watch = gateway_watch_actor::pointer;

gateway_watch_actor::behavior_type gateway_watch(
    watch self, const gateway_watch_options& options) {
  auto streams = std::make_shared<actor_ledger<watch>>(self, options.others);
  auto looks = std::make_shared<unbroken_looks>();
  self->delayed_send(self, options.every, tick{});
  return {
      [=, here = options.here, presence = options.presence,
       every = options.every](tick) {
        look_after_gateways(
            streams,
            {presence, here->all(),
             [until_now = *looks] {
               return until_now.may_judge(unbroken_looks::steady::now());
             }},
            [=](bool well) {
              looks->ended(well, unbroken_looks::steady::now());
              self->delayed_send(self, every, tick{});
            });
      },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

void gateways_here::set(const std::string& gateway, bool here) {
  std::lock_guard lock{mutex_};
  auto& watches = watches_[gateway];
  watches += here ? 1 : -1;
  if (watches <= 0)
    watches_.erase(gateway);
}

std::vector<std::string> gateways_here::all() const {
  std::lock_guard lock{mutex_};
  std::vector<std::string> out;
  for (const auto& [gateway, watches] : watches_)
    out.push_back(gateway);
  return out;
}

bool unbroken_looks::may_judge(steady::time_point now) const {
  return since_ && now - last_ <= longest_gap &&
         now - *since_ >= gateway_silence;
}

void unbroken_looks::ended(bool well, steady::time_point now) {
  if (!well)
    return since_.reset();
  if (!since_ || now - last_ > longest_gap)
    since_ = now;
  last_ = now;
}

void look_after_gateways(std::shared_ptr<ledger> streams, gateway_look look,
                         std::function<void(bool)> done) {
  std::make_shared<giving_up>(std::move(streams), std::move(look),
                              std::move(done))
      ->start();
}

gateway_watch_actor spawn_gateway_watch(caf::actor_system& system,
                                        gateway_watch_options options) {
  return system.spawn(gateway_watch, std::move(options));
}

}  // namespace bc::actors
