#pragma once

#include "base/json.hpp"
#include "events/kafka/publisher.hpp"
#include "events/kafka/verify.hpp"

/// What the publisher's driver answers, as fields of a JSON object.
namespace bc::testing {

inline void write(json::writer& out, const events::kafka::publisher_stats& s) {
  out.field("state", events::kafka::text_of(s.state))
      .field("position", s.position)
      .field("head", s.head)
      .field("lagEvents", s.lag_events)
      .field("lagSeconds", s.lag.count())
      .field("published", s.published)
      .field("parked", s.parked)
      .field("sessions", s.sessions);
  if (s.last_fault)
    out.field("code", wire_text(s.last_fault->code))
        .field("fault", s.last_fault->message);
}

inline void write(json::writer& out, const events::kafka::verify_report& r) {
  out.field("read", r.read)
      .field("expected", r.expected)
      .field("agedOut", r.aged_out)
      .field("parked", r.parked)
      .field("abandoned", r.abandoned)
      .field("faults", r.faults)
      .key("findings")
      .begin_array();
  for (const auto& f : r.findings)
    out.text(std::string{events::kafka::text_of(f.what)} + " " +
             std::to_string(f.position));
  out.end_array();
}

}  // namespace bc::testing
