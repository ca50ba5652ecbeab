#include "events/kafka/repair.hpp"

#include "events/catalog.hpp"
#include "events/incarnations.hpp"
#include "events/kafka/producer.hpp"

namespace bc::events::kafka {

namespace {

constexpr std::size_t page = 500;

result<std::int32_t> prepare_topic(const backfill_options& o, cluster& brokers,
                                   const keep_going& go_on) {
  for (const auto& plan : o.topics.plans())
    if (plan.name == o.topic)
      return fail(errc::invalid_input,
                  o.topic + " is one of the deployment's own topics", "/topic");
  BC_TRY(count, brokers.partitions_of(o.topic));
  if (count)
    return *count;
  BC_TRYV(brokers.ensure({{o.topic, o.topics.partitions, {}}}, go_on));
  return o.topics.partitions;
}

result<void> must_be_empty(const std::string& topic, cluster& brokers,
                           const keep_going& go_on) {
  BC_TRY(what, brokers.extents(topic, go_on));
  for (const auto& one : what)
    if (one.until > 0)
      return fail(errc::already_exists,
                  "topic " + topic + " is not empty; take a new one");
  return ok();
}

// One transaction; the number of public events in it.
result<std::uint64_t> send_page(const backfill_options& o, producer& out,
                                const std::vector<envelope>& rows,
                                const incarnations& known, std::int32_t count,
                                const keep_going& go_on) {
  std::uint64_t sent = 0;
  for (const auto& e : rows) {
    if (e.position > o.to)
      break;
    auto event = public_parts(e, known.at(e.position), o.source);
    if (!event)
      continue;
    if (sent++ == 0) {
      BC_TRYV(out.begin());
    }
    BC_TRY(how, out.send(record_of(*event, o.topic, e.tenant, count),
                         e.position, go_on));
    if (how == producer::sending::too_large)
      return fail(errc::invalid_state,
                  "event " + std::to_string(e.position) +
                      " is larger than Kafka takes (message.max.bytes)");
  }
  if (sent == 0)
    return sent;
  BC_TRYV(out.flush(go_on));
  BC_TRYV(out.commit(go_on));
  return sent;
}

}  // namespace

result<std::uint64_t> backfill(const backfill_options& given, journal& store,
                               const keep_going& go_on) {
  auto o = given;
  BC_TRYV(check_properties(o.client));
  BC_TRY(head, store.head());
  if (o.to == 0)
    o.to = head.position;
  if (o.from < 1 || o.from > o.to || o.to > head.position)
    return fail(errc::invalid_input,
                "the journal has positions 1 to " +
                    std::to_string(head.position) + "; asked for " +
                    std::to_string(o.from) + " to " + std::to_string(o.to));
  BC_TRY(known, incarnations::load(store));
  BC_TRY(brokers, cluster::connect(o.client));
  BC_TRY(count, prepare_topic(o, *brokers, go_on));
  // Two at once: the second fences the first, and then finds what it left.
  BC_TRY(out, producer::make(o.client, "better-compute-backfill." + o.topic));
  BC_TRYV(out->init_transactions(go_on));
  BC_TRYV(must_be_empty(o.topic, *brokers, go_on));
  std::uint64_t sent = 0;
  for (auto done = o.from - 1; done < o.to;) {
    BC_TRY(rows, store.read_all(done, page));
    if (rows.empty())
      return fail(errc::internal,
                  "the journal has no event " + std::to_string(done + 1));
    BC_TRY(some, send_page(o, *out, rows, known, count, go_on));
    sent += some;
    done = rows.back().position;
  }
  return sent;
}

}  // namespace bc::events::kafka
