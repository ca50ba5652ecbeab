#include "events/kafka/stretch_reader.hpp"

#include "events/kafka/rdkafka.hpp"

#include <array>
#include <chrono>
#include <map>
#include <utility>

namespace bc::events::kafka {

namespace {

using steady = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{60};

std::string text_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

received received_of(const rd_kafka_message_t& m) {
  received out{rd_kafka_topic_name(m.rkt), m.partition, m.offset, {}, {}, {}};
  if (m.key != nullptr)
    out.key = text_of(m.key, m.key_len);
  if (m.payload != nullptr)
    out.value = text_of(m.payload, m.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return out;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
       RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i)
    out.headers.emplace_back(name, text_of(value, size));
  return out;
}

// Reads without a consumer group: no group is joined, no offset stored.
class stretch_reader final : private client_state {
 public:
  stretch_reader(const cluster::on_received& each, const keep_going& go_on)
      : each_(each), go_on_(go_on) {}

  ~stretch_reader() override {
    for (const auto& [where, until] : open_)
      rd_kafka_consume_stop(topics_.at(where.first).get(), where.second);
  }

  result<void> run(const properties& client, const std::vector<stretch>& what) {
    auto reading = client;
    reading["isolation.level"] = "read_committed";
    reading["enable.partition.eof"] = "true";
    // Never a silent jump (case 155).
    reading["auto.offset.reset"] = "error";
    BC_TRY(handle, make_handle(RD_KAFKA_CONSUMER, reading, *this));
    handle_ = std::move(handle);
    queue_.reset(rd_kafka_queue_new(handle_.get()));
    for (const auto& one : what)
      if (one.from < one.until) {
        BC_TRYV(start(one));
      }
    auto moved = steady::now();
    while (!open_.empty()) {
      BC_TRY(some, take_some());
      if (some)
        moved = steady::now();
      if (!go_on_())
        return fail(errc::unavailable, "Kafka: reading was given up");
      if (steady::now() - moved > patience)
        return fail(errc::unavailable,
                    "Kafka: topic " + open_.begin()->first.first +
                        " cannot be read to its end" + because());
    }
    return ok();
  }

 private:
  std::string because() {
    rd_kafka_poll(handle_.get(), 0);
    return last_said().empty() ? "" : " (" + last_said() + ")";
  }

  result<void> start(const stretch& one) {
    auto& topic = topics_[one.topic];
    if (!topic)
      topic.reset(
          rd_kafka_topic_new(handle_.get(), one.topic.c_str(), nullptr));
    if (!topic || rd_kafka_consume_start_queue(topic.get(), one.partition,
                                               one.from, queue_.get()) != 0)
      return kafka_fault(rd_kafka_last_error(), "reading topic " + one.topic);
    open_[{one.topic, one.partition}] = one.until;
    return ok();
  }

  // True when something came.
  result<bool> take_some() {
    std::array<rd_kafka_message_t*, 500> raw{};
    auto count =
        rd_kafka_consume_batch_queue(queue_.get(), 100, raw.data(), raw.size());
    rd_kafka_poll(handle_.get(), 0);
    if (count < 0)
      return kafka_fault(rd_kafka_last_error(), "reading");
    std::vector<message_owner> messages;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      messages.emplace_back(raw[i]);
    bool some = false;
    for (const auto& m : messages) {
      BC_TRY(moved, take(*m));
      some |= moved;
    }
    return some;
  }

  result<bool> take(const rd_kafka_message_t& m) {
    if (m.rkt == nullptr)
      return false;
    const std::pair<std::string, std::int32_t> where{rd_kafka_topic_name(m.rkt),
                                                     m.partition};
    auto it = open_.find(where);
    if (it == open_.end())
      return false;
    const auto until = it->second;
    auto next = m.offset;
    if (m.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (m.offset < until) {
        BC_TRYV(each_(received_of(m)));
      }
      next = m.offset + 1;
    } else if (m.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
               m.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      return fail(errc::unavailable,
                  "Kafka: topic " + where.first +
                      " lost events while it was read: they aged out, or the "
                      "topic was made anew");
    } else if (m.err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      said(rd_kafka_err2str(m.err));
      return false;
    }
    if (next >= until) {
      open_.erase(it);
      rd_kafka_consume_stop(m.rkt, m.partition);
    }
    return true;
  }

  const cluster::on_received& each_;
  const keep_going& go_on_;
  // The handle goes last: what follows was made from it.
  handle_owner handle_;
  queue_owner queue_;
  std::map<std::string, topic_owner> topics_;
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> open_;
};

}  // namespace

result<void> read_stretches(const properties& client,
                            const std::vector<stretch>& what,
                            const cluster::on_received& each,
                            const keep_going& go_on) {
  stretch_reader reader{each, go_on};
  return reader.run(client, what);
}

}  // namespace bc::events::kafka
