#include "events/kafka/record.hpp"

#include "events/kafka/rdkafka.hpp"

namespace bc::events::kafka {

const std::string* received::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name)
      return &value;
  return nullptr;
}

std::int32_t partition_of(std::string_view key, std::int32_t count) {
  return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(),
                                          count, nullptr, nullptr);
}

record record_of(const public_event& event, const std::string& topic,
                 const std::string& key, std::int32_t partitions) {
  record out{topic, partition_of(key, partitions), key, {}, event.data};
  out.headers.reserve(event.attributes.size() + 1);
  for (const auto& [name, value] : event.attributes)
    out.headers.emplace_back("ce_" + std::string{name}, value);
  out.headers.emplace_back("content-type", "application/json");
  return out;
}

}  // namespace bc::events::kafka
