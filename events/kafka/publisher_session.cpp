#include "events/kafka/publisher_session.hpp"

#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/checkpoint.hpp"

#include <algorithm>

namespace bc::events::kafka {

namespace {

// So many events without a public form are passed over before that is
// recorded: a transaction for each would be waste.
constexpr std::uint64_t unrecorded_limit = 10'000;

// The sum of the values of one transaction, well within a producer's queue.
constexpr std::size_t max_bytes = 8 * 1024 * 1024;

std::string parked_text(const envelope& e, const std::string& incarnation,
                        std::size_t size) {
  json::writer out;
  out.begin_object()
      .field("id", incarnation + "-" + std::to_string(e.position))
      .field("position", e.position)
      .field("type", e.type)
      .field("subject", e.stream)
      .field("bytes", size)
      .field("reason", "larger than Kafka takes")
      .end_object();
  return out.str();
}

// The last control record, when it and the journal fit together; nullopt
// before anything was published.
result<std::optional<control_record>> read_fitting(
    const publisher_options& options, cluster& brokers, journal& store,
    const incarnations& known, const keep_going& go_on) {
  BC_TRY(last, read_control(brokers, options.topics.control(),
                            options.transactional_id, go_on));
  if (last) {
    BC_TRYV(match_control(store, known, *last));
  } else {
    BC_TRYV(
        must_be_unpublished(brokers, options.topics, options.source, go_on));
  }
  return last;
}

}  // namespace

result<void> publisher_session::look(const publisher_options& options,
                                     cluster& brokers, journal& store,
                                     const keep_going& go_on) {
  BC_TRYV(brokers.ensure(options.topics.plans(), go_on));
  BC_TRY(known, incarnations::load(store));
  BC_TRYV(read_fitting(options, brokers, store, known, go_on));
  return ok();
}

result<std::unique_ptr<publisher_session>> publisher_session::open(
    const publisher_options& options, cluster& brokers, journal& store,
    publisher_memory& memory, const keep_going& go_on) {
  BC_TRYV(brokers.ensure(options.topics.plans(), go_on));
  BC_TRY(known, incarnations::load(store));
  std::unique_ptr<publisher_session> s{
      new publisher_session(options, std::move(known), memory, go_on)};
  BC_TRY(made, producer::make(options.client, options.transactional_id));
  s->producer_ = std::move(made);
  // From here on nobody else of this id can commit, so that what the control
  // topic says stays true until this session writes to it.
  BC_TRYV(s->producer_->init_transactions(go_on));
  std::vector<std::string> topics;
  for (const auto& plan : options.topics.plans())
    topics.push_back(plan.name);
  s->producer_->look_up(topics);
  BC_TRY(last, read_fitting(options, brokers, store, s->known_, go_on));
  if (last) {
    s->recorded_ = *last;
    s->recorded_.placed_after = misplaced_until(*last, options.topics);
    s->position_ = last->position;
  }
  s->recorded_.partitions = options.topics.partitions;
  s->recorded_.events_by = options.topics.events_by;
  return s;
}

std::size_t publisher_session::batch_limit() const {
  return position_ < memory_.singly_until ? 1 : options_.max_events;
}

result<published_batch> publisher_session::publish(
    std::span<const envelope> rows,
    std::span<const events::checkpoint> signed_heads,
    const keep_going& still_ours) {
  auto done = transact(rows, signed_heads, still_ours);
  // A broker's refusal may show while later records are still being sent: the
  // transaction is over then, and its next call says no more than that.
  if (!done)
    learn_from_failure(rows);
  return done;
}

result<published_batch> publisher_session::transact(
    std::span<const envelope> rows,
    std::span<const events::checkpoint> signed_heads,
    const keep_going& still_ours) {
  published_batch out;
  bool begun = false;
  std::size_t size = 0;
  std::size_t taken = 0;
  auto begin_once = [&]() -> result<void> {
    if (begun)
      return ok();
    begun = true;
    return producer_->begin();
  };
  for (const auto& e : rows) {
    if (e.position != position_ + taken + 1)
      return fail(errc::internal, "the journal has no event " +
                                      std::to_string(position_ + taken + 1));
    BC_TRYV(known_.follow(e));
    ++taken;
    auto event = public_parts(e, known_.at(e.position), options_.source);
    if (!event)
      continue;
    BC_TRYV(begin_once());
    size += event->data.size();
    BC_TRYV(send_event(e,
                       record_of(*event, options_.topics.events(e.type),
                                 e.tenant, options_.topics.partitions),
                       out));
    if (size > max_bytes)
      break;
  }
  rows = rows.first(taken);
  auto next = recorded_;
  if (taken > 0) {
    next.incarnation = known_.at(rows.back().position);
    next.position = rows.back().position;
    next.hash = rows.back().hash;
  }
  const bool due = next.position >= recorded_.position + unrecorded_limit;
  // A checkpoint needs a control record, which needs an event.
  if (next.position > 0 && (due || !signed_heads.empty())) {
    BC_TRYV(begin_once());
  }
  if (!begun) {
    position_ += taken;
    return out;
  }
  for (const auto& c : signed_heads) {
    BC_TRYV(send_small({options_.topics.checkpoints(),
                        0,
                        "checkpoint",
                        {},
                        checkpoint_json(c)}));
    next.checkpoint = std::max(next.checkpoint, c.position);
  }
  BC_TRYV(send_small(
      to_record(next, options_.topics.control(), options_.transactional_id)));
  if (hit(fault_point::publisher_after_produce) == fault_action::error)
    return fail(errc::unavailable, "after producing (a test's fault)");
  BC_TRYV(producer_->flush(go_on_));
  if (!still_ours())
    return fail(errc::unavailable, "the lease was lost before the commit");
  BC_TRYV(producer_->commit(go_on_));
  recorded_ = next;
  position_ += taken;
  for (auto position : out.parked)
    memory_.too_large.erase(position);
  return out;
}

result<void> publisher_session::send_event(const envelope& e, record r,
                                           published_batch& out) {
  if (memory_.too_large.contains(e.position))
    return send_parked(e, r.value.size(), out);
  BC_TRY(sent, producer_->send(r, e.position, go_on_));
  if (sent == producer::sending::too_large)
    return send_parked(e, r.value.size(), out);
  ++out.events;
  return ok();
}

result<void> publisher_session::send_parked(const envelope& e, std::size_t size,
                                            published_batch& out) {
  out.parked.push_back(e.position);
  return send_small({options_.topics.parked(),
                     0,
                     e.tenant,
                     {},
                     parked_text(e, known_.at(e.position), size)});
}

result<void> publisher_session::send_small(const record& r) {
  BC_TRY(sent, producer_->send(r, 0, go_on_));
  if (sent == producer::sending::too_large)
    return fail(errc::invalid_config,
                "Kafka property message.max.bytes leaves no room for the "
                "publisher's own records");
  return ok();
}

// Kafka judges a whole record batch by its size: the one event that is too
// large is found by sending each alone.
void publisher_session::learn_from_failure(std::span<const envelope> rows) {
  auto failure = producer_->failure();
  if (!failure || !failure->too_large || rows.empty() || failure->tag == 0)
    return;
  if (rows.size() == 1)
    memory_.too_large.insert(failure->tag);
  else
    memory_.singly_until = rows.back().position;
}

}  // namespace bc::events::kafka
