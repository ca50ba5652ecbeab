#include "actors/certificate_watch.hpp"

#include "actors/batches.hpp"
#include "actors/look.hpp"
#include "events/node_sessions.hpp"
#include "projections/queries.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <string>
#include <utility>
#include <vector>

namespace bc::actors {
namespace {

namespace node = events::node;

using node_state = shared_state<node::state>;

// Nodes at a time: the rest waits for the next look.
constexpr int at_once = 256;

/// One node after the other.
class warning : public std::enable_shared_from_this<warning> {
 public:
  warning(std::shared_ptr<ledger> streams, std::function<void()> done)
      : streams_(std::move(streams)), done_(std::move(done)) {}

  void start() {
    auto found = std::make_shared<std::vector<std::string>>();
    streams_->query(
        [found, now = streams_->now()](
            projections::queries& q) -> result<std::string> {
          BC_TRY(nodes, q.nodes_to_warn(now, at_once));
          found->assign(nodes.rbegin(), nodes.rend());
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
      if (ends_look("certificates that expire", self->about_, got.error()))
        return self->done_();
      self->next();
    };
  }

  void next() {
    if (left_.empty())
      return done_();
    about_ = std::move(left_.back());
    left_.pop_back();
    auto id = node_id::parse(about_);
    if (!id)
      return next();
    streams_->node(id.value(),
                   then<node_state>([this](node_state s) { warn(*s); }));
  }

  // Nothing to tell: the read models are behind.
  void warn(const node::state& s) {
    const auto now = streams_->now();
    auto decided = decide(s, node::warn_of_expiry{now});
    if (!decided || decided.value().empty())
      return next();
    // Rejected: it was renewed, or another process told. The next look finds
    // what is left.
    streams_->append(
        system_batch(s, decided.value(), now),
        then<events::append_outcome>([this](const auto&) { next(); }));
  }

  std::shared_ptr<ledger> streams_;
  std::function<void()> done_;
  std::vector<std::string> left_;
  std::string about_;  // the node that is looked at
};

using watch = certificate_watch_actor::pointer;

certificate_watch_actor::behavior_type certificate_watch(
    watch self, const certificate_watch_options& options) {
  auto streams = std::make_shared<actor_ledger<watch>>(self, options.others);
  self->delayed_send(self, options.every, tick{});
  return {
      [=, every = options.every](tick) {
        warn_of_certificates(streams,
                             [=] { self->delayed_send(self, every, tick{}); });
      },
      [](const continuation& c) { c.run(); },
  };
}

}  // namespace

void warn_of_certificates(std::shared_ptr<ledger> streams,
                          std::function<void()> done) {
  std::make_shared<warning>(std::move(streams), std::move(done))->start();
}

certificate_watch_actor spawn_certificate_watch(
    caf::actor_system& system, certificate_watch_options options) {
  return system.spawn(certificate_watch, std::move(options));
}

}  // namespace bc::actors
