#include "events/kafka/producer.hpp"

#include "base/fault_point.hpp"
#include "events/kafka/rdkafka.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>

namespace bc::events::kafka {

namespace {

using steady = std::chrono::steady_clock;

constexpr int slice_ms = 250;
// Of a commit; a healthy one is done long before, and none is cut short
// because somebody stops the program.
constexpr int commit_slice_ms = 2'000;
constexpr int end_txn = 26;  // Kafka's API key

fault broken(const std::string& what) {
  return fail(errc::unavailable, "Kafka: " + what + " (a test's fault)");
}

class rd_producer final : public producer, private client_state {
 public:
  ~rd_producer() override {
    if (handle_)
      rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE |
                                        RD_KAFKA_PURGE_F_INFLIGHT |
                                        RD_KAFKA_PURGE_F_NON_BLOCKING);
    topics_.clear();
    handle_.reset();
  }

  result<void> open(properties client, const std::string& id) {
    // Transactions need room for a broker's change of leader, and a producer
    // that hangs must not keep readers waiting for a minute.
    client.try_emplace("transaction.timeout.ms", "30000");
    limit_ = std::chrono::milliseconds{30'000};
    if (const auto& text = client.at("transaction.timeout.ms"); !id.empty()) {
      int ms = 0;
      std::from_chars(text.data(), text.data() + text.size(), ms);
      limit_ = std::chrono::milliseconds{ms};
      client["transactional.id"] = id;
    }
    client["enable.idempotence"] = "true";
    client["acks"] = "all";
    client["partitioner"] = "murmur2_random";
    BC_TRY(handle, make_handle(RD_KAFKA_PRODUCER, client, *this));
    handle_ = std::move(handle);
    return ok();
  }

  result<void> init_transactions(const keep_going& go_on) override {
    // The predecessor's transaction may have to end first.
    return until_done(2 * limit_, slice_ms, "starting transactions", go_on,
                      rd_kafka_init_transactions);
  }

  // A failure shows when the messages are sent.
  void look_up(const std::vector<std::string>& topics) override {
    for (const auto& topic : topics)
      topics_.emplace_back(
          rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr));
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(handle_.get(), 0, nullptr, &metadata, 2'000) ==
        RD_KAFKA_RESP_ERR_NO_ERROR)
      rd_kafka_metadata_destroy(metadata);
  }

  result<void> begin() override {
    error_owner error{rd_kafka_begin_transaction(handle_.get())};
    if (error)
      return kafka_fault(error, "beginning a transaction");
    return ok();
  }

  result<sending> send(const record& r, std::uint64_t tag,
                       const keep_going& go_on) override {
    const auto end = steady::now() + limit_;
    for (;;) {
      headers_owner headers{rd_kafka_headers_new(r.headers.size())};
      for (const auto& [name, value] : r.headers)
        rd_kafka_header_add(headers.get(), name.data(),
                            static_cast<ssize_t>(name.size()), value.data(),
                            static_cast<ssize_t>(value.size()));
      auto code = produce(r, tag, headers);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return sending::queued;
      if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        return sending::too_large;
      if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || steady::now() > end ||
          !go_on())
        return failed(code, "sending an event");
      rd_kafka_poll(handle_.get(), 50);
    }
  }

  result<void> flush(const keep_going& go_on) override {
    // librdkafka gives up a message after message.timeout.ms by itself.
    const auto end = steady::now() + 2 * limit_;
    for (;;) {
      auto code = rd_kafka_flush(handle_.get(), slice_ms);
      {
        std::lock_guard lock{mutex_};
        if (failed_code_ != RD_KAFKA_RESP_ERR_NO_ERROR)
          return kafka_fault(failed_code_, "an event was not delivered",
                             last_said());
      }
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ok();
      if (steady::now() > end || !go_on())
        return failed(code, "events were not delivered");
    }
  }

  result<void> commit(const keep_going& go_on) override {
    if (hit(fault_point::publisher_before_commit) == fault_action::error)
      return broken("before the commit");
    BC_TRYV(until_done(limit_, commit_slice_ms, "committing", go_on,
                       rd_kafka_commit_transaction));
    if (answer_lost_)
      return broken("the commit's answer was lost");
    if (hit(fault_point::publisher_after_commit) == fault_action::error)
      return broken("after the commit");
    return ok();
  }

  std::optional<undelivered> failure() const override {
    std::lock_guard lock{mutex_};
    return failure_;
  }

 private:
  rd_kafka_resp_err_t produce(const record& r, std::uint64_t tag,
                              headers_owner& headers) {
    auto code = rd_kafka_producev(
        handle_.get(), RD_KAFKA_V_TOPIC(r.topic.c_str()),
        RD_KAFKA_V_PARTITION(r.partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(r.key.empty() ? nullptr : r.key.data(), r.key.size()),
        RD_KAFKA_V_VALUE(const_cast<char*>(r.value.data()), r.value.size()),
        RD_KAFKA_V_HEADERS(headers.get()),
        RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(tag)), RD_KAFKA_V_END);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
      static_cast<void>(headers.release());
    return code;
  }

  // These calls may be made again after their time-out, to go on waiting.
  result<void> until_done(std::chrono::milliseconds limit, int slice,
                          const std::string& what, const keep_going& go_on,
                          rd_kafka_error_t* (*call)(rd_kafka_t*, int)) {
    const auto end = steady::now() + limit;
    for (;;) {
      error_owner error{call(handle_.get(), slice)};
      if (!error)
        return ok();
      rd_kafka_poll(handle_.get(), 0);
      if (rd_kafka_error_is_retriable(error.get()) == 0 ||
          steady::now() > end || !go_on())
        return failed(rd_kafka_error_code(error.get()), what);
    }
  }

  fault failed(rd_kafka_resp_err_t code, const std::string& what) {
    std::array<char, 512> why{};
    // A fatal error hides behind the call's own code.
    auto fatal = rd_kafka_fatal_error(handle_.get(), why.data(), why.size());
    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
      return kafka_fault(fatal, what, why.data());
    // A transaction that a refused message ended fails whatever comes next;
    // which message it was may be on its way here still.
    rd_kafka_poll(handle_.get(),
                  code == RD_KAFKA_RESP_ERR__STATE ? slice_ms : 0);
    return kafka_fault(code, what, last_said());
  }

  void delivered(const rd_kafka_message_t& m) override {
    if (m.err == RD_KAFKA_RESP_ERR_NO_ERROR)
      return;
    std::lock_guard lock{mutex_};
    const bool too_large = m.err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    // What follows the first failure is purged; the first one tells why.
    if (failure_)
      return;
    failed_code_ = m.err;
    failure_ = {reinterpret_cast<std::uint64_t>(m._private), too_large};
  }

  void request_sent(int api_key) override {
    if (api_key == end_txn &&
        hit(fault_point::publisher_commit_sent) == fault_action::error)
      answer_lost_ = true;
  }

  mutable std::mutex mutex_;
  std::optional<undelivered> failure_;
  rd_kafka_resp_err_t failed_code_ = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::atomic<bool> answer_lost_ = false;
  std::chrono::milliseconds limit_{};
  handle_owner handle_;
  std::vector<topic_owner> topics_;
};

}  // namespace

result<std::unique_ptr<producer>> producer::make(
    properties client, const std::string& transactional_id) {
  auto made = std::make_unique<rd_producer>();
  BC_TRYV(made->open(std::move(client), transactional_id));
  return std::unique_ptr<producer>{std::move(made)};
}

}  // namespace bc::events::kafka
