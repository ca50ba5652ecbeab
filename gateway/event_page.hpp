#pragma once

#include "base/result.hpp"

#include <string>

namespace bc::gateway {

/// An answer of events.list as server-sent events.
struct event_page {
  std::string frames;
  std::string cursor;  // what to go on from
};

/// At most about 256 KiB of frames, and one event at least: of a page of long
/// events the rest is read again. INTERNAL for what is no such answer.
[[nodiscard]] result<event_page> read_event_page(const std::string& answer);

}  // namespace bc::gateway
