#include "events/kafka/delivered.hpp"

#include "base/json.hpp"
#include "events/kafka/read_ends.hpp"

#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace bc::events::kafka {

namespace {

using partition_name = std::pair<std::string, std::int32_t>;

fault is_another(const event_id& id, const std::string& how) {
  return fail(errc::invalid_state,
              "Kafka has event " + id.incarnation + "-" +
                  std::to_string(id.position) + ", but the journal " + how +
                  ": it is another journal, or an older copy was restored; "
                  "run first: better-compute journal new-incarnation");
}

// The last position up to `head` of the incarnation that this one is of.
std::uint64_t end_of_incarnation(std::uint64_t position, std::uint64_t head,
                                 const incarnations& known) {
  const auto& its = known.at(position);
  while (position < head && known.at(position + 1) == its)
    ++position;
  return position;
}

// The journal has the event, as it is in the topic; or another, but gives out
// no more ids of that incarnation.
result<delivery> must_be_ours(const event_id& id, const received& m,
                              const topic_names& topics,
                              const std::string& source, journal& store,
                              const incarnations& known) {
  BC_TRY(rows, store.read_all(id.position - 1, 1));
  if (rows.empty())
    return is_another(id, "ends before it");
  const auto& row = rows.front();
  auto event = public_parts(row, id.incarnation, source);
  if (!event || !difference(record_of(*event, topics.events(row.type),
                                      row.tenant, topics.partitions),
                            m)
                     .empty()) {
    BC_TRY(head, store.head());
    const auto end = end_of_incarnation(id.position, head.position, known);
    if (end == head.position)
      return is_another(id, "has another event there");
    return delivery{end, true};
  }
  return delivery{id.position, false};
}

}  // namespace

std::optional<event_id> parse_event_id(const std::string& text) {
  auto dash = text.rfind('-');
  if (dash == std::string::npos)
    return std::nullopt;
  event_id out{text.substr(0, dash), 0};
  auto [end, bad] = std::from_chars(text.data() + dash + 1,
                                    text.data() + text.size(), out.position);
  if (bad != std::errc{} || end != text.data() + text.size() ||
      out.position == 0)
    return std::nullopt;
  return out;
}

std::optional<event_id> parse_parked(const std::string& text) {
  auto doc = json::parse_object(text);
  auto id = doc ? json::reader{doc.value()}.text("id") : doc.error();
  return id ? parse_event_id(id.value()) : std::nullopt;
}

std::string difference(const record& wanted, const received& m) {
  if (m.topic != wanted.topic)
    return "topic";
  if (m.key.value_or("") != wanted.key)
    return "key";
  if (m.value != wanted.value)
    return "value";
  for (const auto& [name, value] : wanted.headers)
    if (const auto* got = m.header(name); !got || *got != value)
      return "header " + name;
  return m.headers.size() == wanted.headers.size() ? "" : "set of headers";
}

result<std::set<std::uint64_t>> parked_positions(cluster& from,
                                                 const topic_names& topics,
                                                 const incarnations& known,
                                                 const keep_going& go_on) {
  BC_TRY(what, from.extents(topics.parked(), go_on));
  std::set<std::uint64_t> out;
  BC_TRYV(from.read(
      what,
      [&](const received& m) -> result<void> {
        if (auto id = parse_parked(m.value.value_or(""));
            id && known.at(id->position) == id->incarnation)
          out.insert(id->position);
        return ok();
      },
      go_on));
  return out;
}

result<std::optional<delivery>> last_delivered(
    cluster& from, const topic_names& topics, const std::string& source,
    journal& store, const incarnations& known, std::uint64_t limit,
    const keep_going& go_on) {
  std::vector<stretch> all;
  for (const auto& topic : topics.event_topics()) {
    BC_TRY(some, from.extents(topic, go_on));
    all.insert(all.end(), some.begin(), some.end());
  }
  // The newest event of each partition that has an id of this journal's.
  std::map<partition_name, received> newest;
  std::map<partition_name, event_id> ids;
  BC_TRYV(read_ends(
      from, all,
      [&](const received& m) -> result<void> {
        const auto* its_source = m.header("ce_source");
        const auto* text = m.header("ce_id");
        auto id = text ? parse_event_id(*text) : std::nullopt;
        if (!id || id->position > limit || !its_source ||
            *its_source != source || known.at(id->position) != id->incarnation)
          return ok();
        const partition_name where{m.topic, m.partition};
        if (auto& last = ids[where]; last.position <= id->position) {
          last = *id;
          newest.insert_or_assign(where, m);
        }
        return ok();
      },
      [&](const stretch& one) {
        return ids.contains({one.topic, one.partition});
      },
      go_on));
  const event_id* last = nullptr;
  const received* its = nullptr;
  for (const auto& [where, id] : ids)
    if (last == nullptr || id.position > last->position) {
      last = &id;
      its = &newest.at(where);
    }
  if (last == nullptr)
    return std::optional<delivery>{};
  BC_TRY(out, must_be_ours(*last, *its, topics, source, store, known));
  return std::optional{out};
}

}  // namespace bc::events::kafka
