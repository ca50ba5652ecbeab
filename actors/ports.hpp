#pragma once

#include <cstddef>
#include <functional>
#include <string>

/// How the gateway reaches the actors. No CAF here: the gateway knows these
/// two interfaces alone, and a relay can take the first one's place.
namespace bc::actors {

/// POST /v1/join as it came.
struct join_call {
  std::string body;
  std::string correlation;  // request id
  /// DER of the client certificate that the gateway verified; empty without.
  std::string client_certificate = {};
};
struct join_reply {
  int status = 503;
  std::string body;  // JSON
};
class join_port {
 public:
  virtual ~join_port() = default;
  /// `done` runs once, on any thread, also when the service is overloaded or
  /// stopping (503 UNAVAILABLE).
  virtual void join(join_call call, std::function<void(join_reply)> done) = 0;
};

/// POST {basePath}/{group}/{method} as it came.
struct api_call {
  std::string group;
  std::string method;
  std::string authorization;  // the header's value, empty when absent
  std::string body;
  std::string request_id;
  std::string min_position;  // the header x-min-position, empty when absent
};
struct api_reply {
  int status = 503;
  std::string body;  // JSON
};
/// events.list looks at so many of the journal's rows in one call, however few
/// events it finds.
inline constexpr std::size_t max_events_scanned = 5'000;
class api_port {
 public:
  virtual ~api_port() = default;
  virtual void call(api_call call, std::function<void(api_reply)> done) = 0;
};

}  // namespace bc::actors
