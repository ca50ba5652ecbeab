#include "events/kafka/topics.hpp"

#include "events/catalog.hpp"

#include <algorithm>

namespace bc::events::kafka {

namespace {

constexpr auto events_kept_ms = "7776000000";  // 90 days

}  // namespace

std::string_view text_of(layout l) noexcept {
  return l == layout::type ? "type" : "single";
}

std::optional<layout> parse_layout(std::string_view text) noexcept {
  for (auto l : {layout::single, layout::type})
    if (text_of(l) == text)
      return l;
  return std::nullopt;
}

std::string topic_names::events(std::string_view type) const {
  return events_by == layout::type ? std::string{type} : prefix + ".events";
}

std::string topic_names::control() const {
  return prefix + ".publisher";
}

std::string topic_names::parked() const {
  return prefix + ".parked";
}

std::string topic_names::checkpoints() const {
  return prefix + ".checkpoints";
}

std::vector<std::string> topic_names::event_topics() const {
  std::vector<std::string> out;
  for (const auto& type : event_types())
    if (type.is_public)
      out.push_back(events(type.name));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<topic_plan> topic_names::plans() const {
  std::vector<topic_plan> out;
  for (auto& topic : event_topics())
    out.push_back(
        {std::move(topic), partitions, {{"retention.ms", events_kept_ms}}});
  // Only the last control record counts; what was parked and what was signed
  // is kept until an operator removes it.
  out.push_back({control(), 1, {{"cleanup.policy", "compact"}}});
  out.push_back({parked(), 1, {{"retention.ms", "-1"}}});
  out.push_back({checkpoints(), 1, {{"retention.ms", "-1"}}});
  return out;
}

result<void> check_names(const topic_names& names) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (names.prefix.empty() || names.prefix.size() > 200 ||
      names.prefix.find_first_not_of(allowed) != std::string::npos)
    return fail(errc::invalid_config,
                "the topic prefix is 1 to 200 of a-z, A-Z, 0-9, '.', '_', '-'");
  if (names.partitions < 1 || names.partitions > most_partitions)
    return fail(errc::invalid_config,
                "a topic of events has 1 to 1000 partitions");
  return ok();
}

}  // namespace bc::events::kafka
