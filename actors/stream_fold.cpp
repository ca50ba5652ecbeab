#include "actors/stream_fold.hpp"

#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <utility>

namespace bc::actors {
namespace {

template <class State, auto Decode, auto Evolve>
class fold_of : public stream_fold {
 public:
  std::uint64_t version() const override { return state_->version; }
  any_state state() const override { return state_; }

  result<void> apply(const events::envelope& e) override {
    if (e.version != version() + 1)
      return fail(errc::internal, "The stream has a hole", {},
                  e.stream + " version " + std::to_string(e.version));
    auto event = Decode(e);
    if (!event)
      return fail(errc::internal,
                  "The stream holds events this version does not know", {},
                  e.stream + " version " + std::to_string(e.version) + ", " +
                      e.type + ": " + event.error().message);
    state_ = std::make_shared<const State>(Evolve(*state_, event.value()));
    last_correlation_ = e.correlation;
    return ok();
  }

  result<std::optional<events::batch>> follow_up(time_point) const override {
    return std::nullopt;
  }

 protected:
  shared_state<State> state_ = std::make_shared<const State>();
  std::string last_correlation_;
};

using tenant_fold = fold_of<events::tenant::state, &events::tenant::decode,
                            &events::tenant::evolve>;
using site_fold =
    fold_of<events::site::state, &events::site::decode, &events::site::evolve>;
using pool_fold =
    fold_of<events::pool::state, &events::pool::decode, &events::pool::evolve>;
using credential_fold =
    fold_of<events::credential::state, &events::credential::decode,
            &events::credential::evolve>;
using token_fold =
    fold_of<events::join_token::state, &events::join_token::decode,
            &events::join_token::evolve>;

/// A joined node is adopted at once: pools have no acceptance checks yet.
class node_fold final
    : public fold_of<events::node::state, &events::node::decode,
                     &events::node::evolve> {
 public:
  result<std::optional<events::batch>> follow_up(
      time_point now) const override {
    if (!state_->node || state_->current != events::node::status::adopting)
      return std::nullopt;
    BC_TRY(decided, events::node::decide(*state_, events::node::adopt{now}));
    if (decided.empty())
      return std::nullopt;
    events::stream_write write;
    write.stream = events::stream_of(state_->node->id);
    write.tenant = state_->node->tenant.str();
    write.expected_version = state_->version;
    for (const auto& e : decided)
      write.events.push_back(events::node::encode(e));
    events::batch b;
    b.id = pki::mint<batch_id>(now);
    b.actor = "system";
    b.correlation = last_correlation_;
    b.writes.push_back(std::move(write));
    return b;
  }
};

}  // namespace

std::unique_ptr<stream_fold> make_fold(std::string_view stream) {
  auto kind = events::kind_of(stream);
  if (kind == "node")
    return std::make_unique<node_fold>();
  if (kind == "join_token")
    return std::make_unique<token_fold>();
  if (kind == "tenant")
    return std::make_unique<tenant_fold>();
  if (kind == "site")
    return std::make_unique<site_fold>();
  if (kind == "pool")
    return std::make_unique<pool_fold>();
  if (kind == "credential")
    return std::make_unique<credential_fold>();
  return nullptr;
}

}  // namespace bc::actors
