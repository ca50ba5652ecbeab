#include "events/kafka/control.hpp"
#include "events/kafka/delivered.hpp"
#include "tests/fuzz/targets.hpp"

#include <string>

namespace bc::fuzz {

namespace {

void must_hold(const std::optional<events::kafka::event_id>& id) {
  if (!id)
    return;
  BC_MUST(id->position > 0);
  auto again = events::kafka::parse_event_id(id->incarnation + "-" +
                                             std::to_string(id->position));
  BC_MUST(again.has_value());
  BC_MUST(again->incarnation == id->incarnation);
  BC_MUST(again->position == id->position);
}

}  // namespace

// What is read back from topics to which anybody may have written: an event's
// id, the note of a parked one, the publisher's control record.
void kafka_record(byte_view input) {
  using namespace events::kafka;
  const std::string text{text_of(input)};
  must_hold(parse_event_id(text));
  must_hold(parse_parked(text));
  auto control = parse_control(text);
  if (!control)
    return;
  BC_MUST(control.value().position > 0);
  auto again = parse_control(to_record(control.value(), "t", "id").value);
  BC_MUST(again.has_value());
  BC_MUST(again.value() == control.value());
}

}  // namespace bc::fuzz
