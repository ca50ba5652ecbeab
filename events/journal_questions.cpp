#include "events/journal_questions.hpp"

#include <algorithm>

namespace bc::events::detail {

namespace {

void add_moves(questions& q, const moves& effect) {
  for (const auto& m : effect.claims)
    q.claims.insert(m.claim);
  for (const auto& m : effect.budgets)
    q.budgets.insert(m.budget);
}

void add_batch(questions& q, const batch& b) {
  if (b.has_events())
    q.batches.insert(b.id.str());
  q.claims.insert(b.answers_free.begin(), b.answers_free.end());
  for (const auto& w : b.writes) {
    if (w.expected_version || !w.events.empty())
      q.streams.insert(w.stream);
    for (const auto& e : w.events)
      add_moves(q, e.effect);
  }
  for (const auto& need : b.budgets)
    q.budgets.insert(need.budget);
  for (const auto& need : b.claims)
    q.claims.insert(need.claim);
  if (b.limiter) {
    auto& newest = q.limiters[b.limiter->stream];
    newest = std::max<std::int64_t>({newest, b.limiter->limit, 1});
  }
}

}  // namespace

questions questions_of(std::span<const batch> group) {
  questions q;
  for (const auto& b : group)
    add_batch(q, b);
  return q;
}

}  // namespace bc::events::detail
