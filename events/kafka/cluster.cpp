#include "events/kafka/cluster.hpp"

#include "events/kafka/rdkafka.hpp"
#include "events/kafka/stretch_reader.hpp"

#include <array>
#include <chrono>
#include <thread>

namespace bc::events::kafka {

namespace {

constexpr int ask_timeout_ms = 5'000;
constexpr int create_timeout_ms = 5'000;
constexpr int slice_ms = 250;

fault given_up(const std::string& what) {
  return fail(errc::unavailable, "Kafka: " + what + " was given up");
}

using metadata_owner =
    owner<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;
using new_topic_owner = owner<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;

class connected final : public cluster, private client_state {
 public:
  explicit connected(properties client) : client_(std::move(client)) {}

  result<void> open() {
    auto asking = client_;
    // Offsets are asked for with what is not committed yet.
    asking["isolation.level"] = "read_uncommitted";
    BC_TRY(handle, make_handle(RD_KAFKA_CONSUMER, asking, *this));
    handle_ = std::move(handle);
    return ok();
  }

  result<std::optional<std::int32_t>> partitions_of(
      const std::string& topic) override {
    topic_owner named{
        rd_kafka_topic_new(handle_.get(), topic.c_str(), nullptr)};
    if (!named)
      return failed(rd_kafka_last_error(), "topic " + topic);
    const rd_kafka_metadata_t* raw = nullptr;
    auto code =
        rd_kafka_metadata(handle_.get(), 0, named.get(), &raw, ask_timeout_ms);
    metadata_owner metadata{raw};
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return failed(code, "asking for topic " + topic);
    if (metadata->topic_cnt != 1)
      return std::optional<std::int32_t>{};
    const auto& found = metadata->topics[0];
    if (found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
      return std::optional<std::int32_t>{};
    if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return failed(found.err, "topic " + topic);
    return std::optional<std::int32_t>{found.partition_cnt};
  }

  result<void> ensure(const std::vector<topic_plan>& topics,
                      const keep_going& go_on) override {
    std::vector<topic_plan> missing;
    for (const auto& plan : topics) {
      if (!go_on())
        return given_up("asking for topics");
      BC_TRY(count, partitions_of(plan.name));
      if (!count)
        missing.push_back(plan);
      else {
        BC_TRYV(same_count(plan, *count));
      }
    }
    if (missing.empty())
      return ok();
    BC_TRYV(create(missing, go_on));
    return wait_for(missing, go_on);
  }

  result<stretch> extent(const std::string& topic,
                         std::int32_t partition) override {
    stretch out{topic, partition};
    auto code = rd_kafka_query_watermark_offsets(handle_.get(), topic.c_str(),
                                                 partition, &out.from,
                                                 &out.until, ask_timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
      return failed(code, "asking for the offsets of " + topic);
    return out;
  }

  result<std::vector<stretch>> extents(const std::string& topic,
                                       const keep_going& go_on) override {
    BC_TRY(count, partitions_of(topic));
    if (!count)
      return fail(errc::not_found, "there is no topic " + topic);
    std::vector<stretch> out;
    for (std::int32_t i = 0; i < *count; ++i) {
      if (!go_on())
        return given_up("asking for the offsets of " + topic);
      BC_TRY(one, extent(topic, i));
      out.push_back(std::move(one));
    }
    return out;
  }

  result<void> read(const std::vector<stretch>& what, const on_received& each,
                    const keep_going& go_on) override {
    return read_stretches(client_, what, each, go_on);
  }

 private:
  fault failed(rd_kafka_resp_err_t code, const std::string& what) {
    rd_kafka_poll(handle_.get(), 0);
    return kafka_fault(code, what, last_said());
  }

  static result<void> same_count(const topic_plan& plan, std::int32_t count) {
    if (count == plan.partitions)
      return ok();
    return fail(errc::invalid_config,
                "topic " + plan.name + " has " + std::to_string(count) +
                    " partitions, configured are " +
                    std::to_string(plan.partitions) +
                    ": with another number keys move between partitions and "
                    "subscribers lose the order");
  }

  result<void> create(const std::vector<topic_plan>& topics,
                      const keep_going& go_on) {
    std::vector<new_topic_owner> made;
    std::vector<rd_kafka_NewTopic_t*> raw;
    std::array<char, 256> why{};
    for (const auto& plan : topics) {
      new_topic_owner topic{rd_kafka_NewTopic_new(
          plan.name.c_str(), plan.partitions, -1, why.data(), why.size())};
      if (!topic)
        return fail(errc::invalid_config,
                    "topic " + plan.name + ": " + why.data());
      for (const auto& [name, value] : plan.config)
        rd_kafka_NewTopic_set_config(topic.get(), name.c_str(), value.c_str());
      raw.push_back(topic.get());
      made.push_back(std::move(topic));
    }
    queue_owner answers{rd_kafka_queue_new(handle_.get())};
    owner<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options{
        rd_kafka_AdminOptions_new(handle_.get(),
                                  RD_KAFKA_ADMIN_OP_CREATETOPICS)};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), create_timeout_ms,
                                              why.data(), why.size());
    rd_kafka_CreateTopics(handle_.get(), raw.data(), raw.size(), options.get(),
                          answers.get());
    event_owner event;
    for (int waited = 0; !event && waited < 2 * create_timeout_ms && go_on();
         waited += slice_ms)
      event.reset(rd_kafka_queue_poll(answers.get(), slice_ms));
    return event ? judge_created(*event)
                 : failed(RD_KAFKA_RESP_ERR__TIMED_OUT, "making topics");
  }

  result<void> judge_created(rd_kafka_event_t& event) {
    if (rd_kafka_event_error(&event) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return failed(rd_kafka_event_error(&event), "making topics");
    const auto* answer = rd_kafka_event_CreateTopics_result(&event);
    std::size_t count = 0;
    const auto* const* topics =
        rd_kafka_CreateTopics_result_topics(answer, &count);
    for (std::size_t i = 0; i < count; ++i) {
      auto code = rd_kafka_topic_result_error(topics[i]);
      const char* why = rd_kafka_topic_result_error_string(topics[i]);
      // Another process may have been quicker.
      if (code != RD_KAFKA_RESP_ERR_NO_ERROR &&
          code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return kafka_fault(code,
                           std::string{"making topic "} +
                               rd_kafka_topic_result_name(topics[i]),
                           why ? why : "");
    }
    return ok();
  }

  // A topic is known to the brokers a moment after it was made.
  result<void> wait_for(const std::vector<topic_plan>& topics,
                        const keep_going& go_on) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds{create_timeout_ms};
    for (const auto& plan : topics)
      for (;;) {
        BC_TRY(count, partitions_of(plan.name));
        if (count) {
          BC_TRYV(same_count(plan, *count));
        }
        if (count)
          break;
        if (std::chrono::steady_clock::now() > end)
          return fail(errc::unavailable, "Kafka: topic " + plan.name +
                                             " was made but does not appear");
        if (!go_on())
          return given_up("waiting for topic " + plan.name);
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
      }
    return ok();
  }

  properties client_;
  handle_owner handle_;
};

}  // namespace

result<std::unique_ptr<cluster>> cluster::connect(const properties& client) {
  auto made = std::make_unique<connected>(client);
  BC_TRYV(made->open());
  return std::unique_ptr<cluster>{std::move(made)};
}

}  // namespace bc::events::kafka
