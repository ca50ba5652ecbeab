#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"
#include "gateway/http_server.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace bc::gateway {

struct event_feed_options {
  std::size_t max_streams = 256;
  std::size_t max_streams_per_credential = 16;
  /// How long a stream that is up to date waits for a wake before it looks by
  /// itself; it also bounds how long a revoked credential is served.
  milliseconds poll{500};
  /// Between two looks of one stream, however often it is woken.
  milliseconds pause{50};
  /// After a page that failed on our side; so many in a row end the stream.
  milliseconds after_failure{1'000};
  int max_failures = 30;
  milliseconds heartbeat{15'000};
};

/// GET {basePath}/events/stream: a tenant's public events as server-sent events
/// (WHATWG HTML 9.2). Each stream is a loop over the API's own events.list, so
/// every page authenticates and authorises anew, and a credential that is
/// revoked ends its stream with the next one. `id` is the event's id, `event`
/// its type, `data` the CloudEvent; an id alone moves the resume point on.
class event_feed {
 public:
  [[nodiscard]] static std::shared_ptr<event_feed> start(
      event_feed_options options = {});
  virtual ~event_feed() = default;

  /// Answers with the stream, or with the API's error. From `Last-Event-ID`,
  /// else `?cursor=` (an event's id, or "head"), else the tenant's first event;
  /// `?type=` and `?tenantId=` as in events.list. UNAVAILABLE once stop() was
  /// called, which the port must outlive.
  virtual void open(actors::api_port& api, const http_request& request,
                    std::string request_id, respond done) = 0;

  /// Something was committed. Any thread, at any rate; returns at once.
  virtual void wake() = 0;

  /// How many streams are open.
  [[nodiscard]] virtual std::size_t open_streams() const = 0;

  /// Ends every stream and calls the port no more. Before the runtime stops.
  virtual void stop() = 0;
};

}  // namespace bc::gateway
