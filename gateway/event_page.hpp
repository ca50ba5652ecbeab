#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace bc::gateway {

/// An answer of events.list as server-sent events.
struct event_page {
  std::string frames;
  std::string cursor;  // what to go on from
  bool more = false;   // a bound ended it, not the journal's end
};

/// What came of asking for `limit` events after `from`: at most about 256 KiB
/// of frames, and one event at least; of a page of long events the rest is read
/// again. INTERNAL for what is no such answer, and for an id or a type of
/// several lines.
[[nodiscard]] result<event_page> read_event_page(const std::string& answer,
                                                 std::string_view from,
                                                 std::size_t limit);

}  // namespace bc::gateway
