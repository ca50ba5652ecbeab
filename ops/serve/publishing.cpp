#include "ops/serve/publishing.hpp"

namespace bc::serve {

namespace kafka = events::kafka;

result<kafka::publisher_options> publisher_of(const serve_config& c) {
  kafka::publisher_options p;
  if (!c.kafka_properties_file.empty()) {
    BC_TRY(more, kafka::read_properties(c.kafka_properties_file));
    p.client = std::move(more);
  }
  p.client.insert(c.kafka_properties.begin(), c.kafka_properties.end());
  p.client["bootstrap.servers"] = c.kafka_brokers;
  p.topics.events_by =
      c.kafka_layout == "type" ? kafka::layout::type : kafka::layout::single;
  p.topics.prefix = c.kafka_prefix;
  p.topics.partitions = static_cast<std::int32_t>(c.kafka_partitions);
  p.transactional_id = c.kafka_transactional_id;
  p.source = c.source;
  return p;
}

}  // namespace bc::serve
