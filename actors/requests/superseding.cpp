#include "actors/requests/superseding.hpp"

#include "actors/batches.hpp"
#include "actors/look.hpp"
#include "events/same_machine.hpp"
#include "events/streams.hpp"
#include "pki/digest.hpp"
#include "projections/queries.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bc::actors {

namespace {

namespace request = events::join_request;
namespace node = events::node;

using request_state = shared_state<request::state>;
using node_state = shared_state<node::state>;
using pool_state = shared_state<events::pool::state>;
using site_state = shared_state<events::site::state>;

// Which node it became is told of one of the pool that claimed it. What nobody
// claimed every tenant sees that the site serves: there only a node of the
// site's owner is named, as the agent that vouched is, and no other tenant's.
std::optional<node_id> told_to(const request::opened& who_sees,
                               const node::joined& joined) {
  return events::is_of_its_own(who_sees, joined) ? std::optional{joined.id}
                                                 : std::nullopt;
}

/// One request after the other.
class superseding : public std::enable_shared_from_this<superseding> {
 public:
  superseding(std::shared_ptr<ledger> streams, std::function<void()> done,
              int at_once)
      : streams_(std::move(streams)),
        done_(std::move(done)),
        at_once_(at_once) {}

  /// Past those that were left, which must not hold up the others.
  void read_page() {
    about_.clear();
    auto found = std::make_shared<rows>();
    streams_->query(
        [found, after = row_, now = streams_->now(),
         most = at_once_](projections::queries& q) -> result<std::string> {
          BC_TRY(joined, q.joined_requests(after, now, most));
          found->assign(joined.rbegin(), joined.rend());
          return std::string{};
        },
        then<std::string>([this, found](const std::string&) {
          left_ = std::move(*found);
          is_last_page_ = left_.size() < static_cast<std::size_t>(at_once_);
          next();
        }));
  }

 private:
  using rows = std::vector<projections::joined_request_row>;

  template <class T, class Step>
  reply_to<T> then(Step step) {
    return [self = shared_from_this(), step = std::move(step)](result<T> got) {
      if (got)
        return step(std::move(got).value());
      if (ends_look("join requests of nodes", self->about_, got.error()))
        return self->done_();
      self->next();
    };
  }

  void next() {
    if (left_.empty())
      return is_last_page_ ? done_() : read_page();
    row_ = std::move(left_.back());
    left_.pop_back();
    about_ = row_.request + ' ' + row_.node;
    auto id = join_request_id::parse(row_.request);
    auto node = node_id::parse(row_.node);
    if (!id || !node)
      return next();
    node_id_ = node.value();
    streams_->request(id.value(), then<request_state>([this](request_state s) {
                        request_ = std::move(s);
                        read_node();
                      }));
  }

  void read_node() {
    streams_->node(node_id_, then<node_state>([this](node_state s) {
                     joined_ = std::move(s);
                     find_who_waits();
                   }));
  }

  // The tenant of the pool that has claimed it, else the site's owner, or the
  // only tenant that a dedicated site serves beside it.
  void find_who_waits() {
    const auto& waiting = request_->request;
    if (!waiting)
      return next();
    if (waiting->pool)
      return streams_->pool(*waiting->pool,
                            then<pool_state>([this](pool_state s) {
                              s->pool ? close(s->pool->tenant) : next();
                            }));
    streams_->site(
        waiting->site, then<site_state>([this](site_state s) {
          const auto& joined = joined_->node;
          const bool is_theirs =
              joined && s->site &&
              s->site->site_kind == events::site::kind::dedicated &&
              s->site->dedicated_to == joined->tenant;
          close(is_theirs ? joined->tenant : request_->request->tenant);
        }));
  }

  // Nothing to close: the read models are behind, or it was approved or the
  // site given to another tenant since. The read models' mark of it stays until
  // it ends, and each look passes over it.
  void close(const tenant_id& waits_for) {
    const auto& joined = *joined_;
    if (!joined.node || joined.current == node::status::retired ||
        !events::is_same_machine(*request_, waits_for, *joined.node))
      return next();
    const auto now = streams_->now();
    auto decided = decide(
        *request_, request::supersede{told_to(*request_->request, *joined.node),
                                      {row_.csr_sha256, row_.refreshed_at},
                                      now});
    if (!decided || decided.value().empty())
      return next();
    events::batch b;
    b.id = pki::mint<batch_id>(now);
    b.actor = "system";
    auto& write = b.writes.emplace_back(
        pin(events::stream_of(request_->request->id), request_->version));
    write.tenant = request_->request->tenant.str();
    for (const auto& e : decided.value())
      write.events.push_back(request::encode(e));
    b.writes.push_back(pin(events::stream_of(node_id_), joined.version));
    // Rejected: something moved, or another process closed it. The next look
    // finds what is left.
    streams_->append(std::move(b),
                     then<events::append_outcome>([this](const auto& outcome) {
                       say(outcome);
                       next();
                     }));
  }

  // Whoever looks for an approval that is gone.
  void say(const events::append_outcome& outcome) const {
    if (std::holds_alternative<events::appended>(outcome))
      spdlog::info("join request {} is closed, its machine became {} ({})",
                   row_.request, row_.node,
                   request_->stored == request::status::approved
                       ? "it was approved"
                       : "it waited");
  }

  std::shared_ptr<ledger> streams_;
  std::function<void()> done_;
  const int at_once_;
  rows left_;
  bool is_last_page_ = false;
  projections::joined_request_row row_;  // the newest that was looked at
  std::string about_;                    // what is looked at
  node_id node_id_;
  request_state request_;
  node_state joined_;
};

}  // namespace

void supersede_requests(std::shared_ptr<ledger> streams,
                        std::function<void()> done, int at_once) {
  std::make_shared<superseding>(std::move(streams), std::move(done), at_once)
      ->read_page();
}

}  // namespace bc::actors
