#include "events/kafka/control.hpp"

#include "base/json.hpp"
#include "events/kafka/read_ends.hpp"

#include <vector>

namespace bc::events::kafka {

namespace {

fault mismatch(const control_record& c, const std::string& journal_has) {
  return fail(errc::invalid_state,
              "Kafka has this deployment's events up to position " +
                  std::to_string(c.position) + " of incarnation " +
                  c.incarnation + " (event hash " + c.hash +
                  "), but the journal " + journal_has +
                  ": it is another journal, or an older copy was restored. "
                  "Nothing is published until an operator decides");
}

}  // namespace

std::uint64_t misplaced_until(const control_record& c,
                              const topic_names& now) noexcept {
  return c.partitions == now.partitions && c.events_by == now.events_by
             ? c.placed_after
             : c.position;
}

record to_record(const control_record& c, const std::string& topic,
                 const std::string& transactional_id) {
  json::writer out;
  out.begin_object()
      .field("incarnation", c.incarnation)
      .field("position", c.position)
      .field("hash", c.hash)
      .field("checkpoint", c.checkpoint)
      .field("partitions", c.partitions);
  if (c.events_by)
    out.field("layout", text_of(*c.events_by));
  out.field("placedAfter", c.placed_after).end_object();
  return {topic, 0, transactional_id, {}, out.str()};
}

result<control_record> parse_control(const std::string& text) {
  auto read = [&]() -> result<control_record> {
    BC_TRY(doc, json::parse_object(text));
    json::reader in{doc};
    BC_TRY(incarnation, in.text("incarnation"));
    BC_TRY(position, in.integer("position"));
    BC_TRY(hash, in.text("hash"));
    BC_TRY(checkpoint, in.optional_integer("checkpoint"));
    // Not in the records of older programs.
    BC_TRY(partitions, in.optional_integer("partitions"));
    BC_TRY(by, in.optional_text("layout"));
    BC_TRY(placed_after, in.optional_integer("placedAfter"));
    if (position < 1 || checkpoint.value_or(0) < 0 ||
        placed_after.value_or(0) < 0)
      return fail(errc::invalid_input, "is no position");
    if (partitions.value_or(0) < 0 || partitions.value_or(0) > most_partitions)
      return fail(errc::invalid_input, "is no number of partitions");
    const auto events_by = by ? parse_layout(*by) : std::nullopt;
    if (by && !events_by)
      return fail(errc::invalid_input, "is no layout");
    return control_record{incarnation,
                          static_cast<std::uint64_t>(position),
                          hash,
                          static_cast<std::uint64_t>(checkpoint.value_or(0)),
                          static_cast<std::int32_t>(partitions.value_or(0)),
                          events_by,
                          static_cast<std::uint64_t>(placed_after.value_or(0))};
  };
  auto out = read();
  if (!out)
    return fail(errc::internal,
                "the publisher's control record in Kafka cannot be "
                "understood: " +
                    out.error().message);
  return out;
}

result<std::optional<control_record>> read_control(
    cluster& from, const std::string& topic,
    const std::string& transactional_id, const keep_going& go_on) {
  BC_TRY(all, from.extent(topic, 0));
  std::optional<control_record> last;
  BC_TRYV(read_ends(
      from, {all},
      [&](const received& m) -> result<void> {
        if (m.key != transactional_id || !m.value)
          return ok();
        BC_TRY(parsed, parse_control(*m.value));
        last = std::move(parsed);
        return ok();
      },
      [&](const stretch&) { return last.has_value(); }, go_on));
  return last;
}

result<void> must_be_unpublished(cluster& from, const topic_names& topics,
                                 const std::string& source,
                                 const keep_going& go_on) {
  std::vector<stretch> all;
  for (const auto& topic : topics.event_topics()) {
    BC_TRY(some, from.extents(topic, go_on));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::string sequence, id, where;
  BC_TRYV(read_ends(
      from, all,
      [&](const received& m) -> result<void> {
        const auto* its_source = m.header("ce_source");
        const auto* its_id = m.header("ce_id");
        const auto* place = m.header("ce_sequence");
        if (!its_source || *its_source != source || !its_id || !place ||
            *place <= sequence)
          return ok();
        sequence = *place;
        id = *its_id;
        where = m.topic;
        return ok();
      },
      [&](const stretch&) { return !id.empty(); }, go_on));
  if (id.empty())
    return ok();
  return fail(errc::invalid_state,
              "topic " + topics.control() +
                  " has no record of what was published, but topic " + where +
                  " holds events of " + source + " up to " + id +
                  ": was the one deleted? Nothing is published until an "
                  "operator decides (better-compute events resume --after)");
}

result<void> match_control(journal& store, const incarnations& known,
                           const control_record& c) {
  BC_TRY(head, store.head());
  if (head.position < c.position)
    return mismatch(c, "ends at position " + std::to_string(head.position) +
                           " of incarnation " + head.incarnation.str());
  BC_TRY(rows, store.read_all(c.position - 1, 1));
  if (rows.empty() || rows.front().position != c.position)
    return fail(errc::internal,
                "the journal has no event " + std::to_string(c.position));
  const auto& here = known.at(c.position);
  if (here != c.incarnation || rows.front().hash != c.hash)
    return mismatch(c, "has incarnation " + here + " there, with event hash " +
                           rows.front().hash);
  return ok();
}

}  // namespace bc::events::kafka
