#pragma once

#include "base/result.hpp"
#include "gateway/http_server.hpp"

#include <string>

namespace bc::gateway {

/// What a request for the event stream asks for.
struct event_query {
  std::string tenant;  // empty: the credential's
  std::string type;    // empty: every type
  std::string cursor;  // empty: from the first event

  /// The input of events.list for the next page.
  [[nodiscard]] std::string list_body(int limit) const;
};

/// From the query and `Last-Event-ID`, which wins over ?cursor= (a client that
/// reconnects sends both). INVALID_INPUT for a name that is unknown or comes
/// twice, and for an escape that is none; the values are for events.list to
/// judge.
[[nodiscard]] result<event_query> read_event_query(const http_request& request);

}  // namespace bc::gateway
