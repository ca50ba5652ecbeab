#pragma once

#include <cstdint>
#include <librdkafka/rdkafka.h>
#include <string>

/// What only a test does to a cluster. Each answers an error's text, or "".
namespace bc::testing {

class broker_admin {
 public:
  explicit broker_admin(const std::string& brokers) {
    char why[256];
    auto* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), why,
                      sizeof why);
    rk_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    answers_ = rd_kafka_queue_new(rk_);
  }
  broker_admin(const broker_admin&) = delete;
  broker_admin& operator=(const broker_admin&) = delete;
  ~broker_admin() {
    rd_kafka_queue_destroy(answers_);
    rd_kafka_destroy(rk_);
  }

  std::string delete_topic(const std::string& name) {
    auto* topic = rd_kafka_DeleteTopic_new(name.c_str());
    rd_kafka_DeleteTopics(rk_, &topic, 1, nullptr, answers_);
    auto out = answer();
    rd_kafka_DeleteTopic_destroy(topic);
    return out;
  }

  /// So many from now on.
  std::string add_partitions(const std::string& topic, std::int32_t count) {
    char why[256];
    auto* what = rd_kafka_NewPartitions_new(
        topic.c_str(), static_cast<std::size_t>(count), why, sizeof why);
    rd_kafka_CreatePartitions(rk_, &what, 1, nullptr, answers_);
    auto out = answer();
    rd_kafka_NewPartitions_destroy(what);
    return out;
  }

  /// As retention would: what is before the offset goes.
  std::string trim(const std::string& topic, std::int32_t partition,
                   std::int64_t before) {
    auto* offsets = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(offsets, topic.c_str(), partition)
        ->offset = before;
    auto* what = rd_kafka_DeleteRecords_new(offsets);
    rd_kafka_DeleteRecords(rk_, &what, 1, nullptr, answers_);
    auto out = answer();
    rd_kafka_DeleteRecords_destroy(what);
    rd_kafka_topic_partition_list_destroy(offsets);
    return out;
  }

  /// Nobody may write to the topic.
  std::string deny(const std::string& topic) {
    auto* rule =
        rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str(),
                                RD_KAFKA_RESOURCE_PATTERN_LITERAL, "User:*",
                                "*", RD_KAFKA_ACL_OPERATION_WRITE,
                                RD_KAFKA_ACL_PERMISSION_TYPE_DENY, nullptr, 0);
    rd_kafka_CreateAcls(rk_, &rule, 1, nullptr, answers_);
    auto out = answer();
    rd_kafka_AclBinding_destroy(rule);
    return out;
  }

  /// Takes back what deny() did.
  std::string allow(const std::string& topic) {
    auto* rules = rd_kafka_AclBindingFilter_new(
        RD_KAFKA_RESOURCE_TOPIC, topic.c_str(),
        RD_KAFKA_RESOURCE_PATTERN_LITERAL, nullptr, nullptr,
        RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, nullptr,
        0);
    rd_kafka_DeleteAcls(rk_, &rules, 1, nullptr, answers_);
    auto out = answer();
    rd_kafka_AclBinding_destroy(rules);
    return out;
  }

 private:
  std::string answer() {
    auto* event = rd_kafka_queue_poll(answers_, 60'000);
    if (event == nullptr)
      return "no answer";
    std::string out;
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
      out = rd_kafka_event_error_string(event);
    rd_kafka_event_destroy(event);
    return out;
  }

  rd_kafka_t* rk_ = nullptr;
  rd_kafka_queue_t* answers_ = nullptr;
};

}  // namespace bc::testing
