#pragma once

#include "actors/api/exchange.hpp"
#include "actors/api/records.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace bc::actors::api {

/// The end of a call that changes one stream: appends what was decided, at the
/// version it was decided on, or holds the unchanged state by that version,
/// and answers the record. `b` brings what else the decision rests on; when
/// something of it moved, `again` runs.
template <class State, class Event>
void settle(exchange_ptr x, events::batch b, events::stream_id stream,
            const State& before, const std::vector<Event>& decided,
            std::function<void()> again) {
  State after = before;
  events::stream_write write{std::move(stream), {}, before.version, {}};
  for (const auto& e : decided) {
    after = evolve(std::move(after), e);
    write.tenant = x->who.tenant.str();
    write.events.push_back(encode(e));
  }
  b.writes.push_back(std::move(write));
  auto answer = [x, row = row_of(after)](std::uint64_t position) {
    x->answer(record_text(row, position));
  };
  if (decided.empty())
    return confirm(x, std::move(b), std::move(answer), std::move(again));
  append(x, std::move(b), std::move(answer), std::move(again));
}

}  // namespace bc::actors::api
