#include "actors/stream_fold.hpp"

#include "actors/batches.hpp"
#include "events/streams.hpp"

#include <utility>
#include <variant>

namespace bc::actors {

namespace {

using node_state = shared_state<events::node::state>;

// A joined node is adopted at once, unless its pool's acceptance checks come
// first.
result<std::optional<events::batch>> adoption(const events::node::state& s,
                                              const std::string& correlation,
                                              time_point now) {
  if (!s.node || s.current != events::node::status::adopting ||
      s.node->acceptance)
    return std::nullopt;
  BC_TRY(decided, events::node::decide(s, events::node::adopt{now}));
  if (decided.empty())
    return std::nullopt;
  auto b = system_batch(s, decided, now);
  b.correlation = correlation;
  return b;
}

}  // namespace

result<void> stream_fold::apply(const events::envelope& e) {
  BC_TRYV(fold_->apply(e));
  last_correlation_ = e.correlation;
  return ok();
}

result<std::optional<events::batch>> stream_fold::follow_up(
    time_point now) const {
  auto all = fold_->state();
  if (const auto* node = std::get_if<node_state>(&all))
    return adoption(**node, last_correlation_, now);
  return std::nullopt;
}

std::unique_ptr<stream_fold> make_fold(std::string_view stream) {
  auto kind = events::kind_of(stream);
  if (kind == "refusal" || kind == events::pki_stream)
    return nullptr;
  auto fold = events::make_stream_fold(stream);
  return fold ? std::make_unique<stream_fold>(std::move(fold)) : nullptr;
}

}  // namespace bc::actors
