#pragma once

#include "base/result.hpp"
#include "events/kafka/properties.hpp"

#include <librdkafka/rdkafka.h>
#include <memory>
#include <mutex>
#include <string>

/// librdkafka's handles as owners. Private to events/kafka/*.cpp.
namespace bc::events::kafka {

template <auto Destroy>
struct deleter {
  template <class T>
  void operator()(T* p) const noexcept {
    Destroy(p);
  }
};
template <class T, auto Destroy>
using owner = std::unique_ptr<T, deleter<Destroy>>;

using handle_owner = owner<rd_kafka_t, rd_kafka_destroy>;
using queue_owner = owner<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using topic_owner = owner<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using message_owner = owner<rd_kafka_message_t, rd_kafka_message_destroy>;
using event_owner = owner<rd_kafka_event_t, rd_kafka_event_destroy>;
using error_owner = owner<rd_kafka_error_t, rd_kafka_error_destroy>;
using headers_owner = owner<rd_kafka_headers_t, rd_kafka_headers_destroy>;

/// Kafka's code as a fault: INVALID_CONFIG when only an operator can mend it,
/// else UNAVAILABLE. `detail` is the code's name ("_FENCED").
[[nodiscard]] fault kafka_fault(rd_kafka_resp_err_t code,
                                const std::string& what,
                                const std::string& why = {});
[[nodiscard]] fault kafka_fault(const error_owner& error,
                                const std::string& what);

/// What librdkafka last said was wrong with the connections; most calls tell
/// of a time-out only. Must outlive the handle it is made for.
class client_state {
 public:
  virtual ~client_state() = default;
  virtual void delivered(const rd_kafka_message_t&) {}
  virtual void request_sent(int /*api_key*/) {}
  void said(std::string why);
  [[nodiscard]] std::string last_said() const;

 private:
  mutable std::mutex mutex_;
  std::string last_said_;
};

/// A handle with these properties, silent but for `state`. INVALID_CONFIG
/// naming a property that is not accepted.
[[nodiscard]] result<handle_owner> make_handle(rd_kafka_type_t type,
                                               const properties& from,
                                               client_state& state);

}  // namespace bc::events::kafka
