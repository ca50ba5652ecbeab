#include "actors/batches.hpp"

#include "events/streams.hpp"
#include "pki/digest.hpp"

#include <utility>

namespace bc::actors {

namespace {

constexpr std::string_view machine = "machine";

}  // namespace

events::batch machine_batch(std::string correlation, time_point now) {
  events::batch out;
  out.id = pki::mint<batch_id>(now);
  out.actor = machine;
  out.correlation = std::move(correlation);
  return out;
}

events::stream_write pin(events::stream_id stream, std::uint64_t version) {
  return {std::move(stream), {}, version, {}};
}

std::vector<events::event_write> encoded(
    const std::vector<events::node::event>& decided) {
  std::vector<events::event_write> out;
  out.reserve(decided.size());
  for (const auto& e : decided)
    out.push_back(events::node::encode(e));
  return out;
}

events::batch system_batch(const events::node::state& node,
                           const std::vector<events::node::event>& decided,
                           time_point now) {
  events::batch out;
  out.id = pki::mint<batch_id>(now);
  out.actor = "system";
  out.writes.push_back({events::stream_of(node.node->id),
                        node.node->tenant.str(), node.version,
                        encoded(decided)});
  return out;
}

events::batch confirm_node(const node_id& node, std::uint64_t version,
                           std::string correlation, time_point now) {
  auto out = machine_batch(std::move(correlation), now);
  out.writes.push_back(pin(events::stream_of(node), version));
  return out;
}

}  // namespace bc::actors
