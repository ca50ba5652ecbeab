#pragma once

#include "events/journal.hpp"
#include "events/kafka/control.hpp"
#include "events/kafka/publisher.hpp"

#include <cstdint>
#include <optional>

/// Where a publisher that halted goes on, by an operator's word.
namespace bc::events::kafka {

/// What the operator says yes to, when subscribers are to get something else
/// than what comes next.
struct resume_consent {
  bool skip_undelivered = false;  // some events are never published
  bool resend_delivered = false;  // some are published again, with their ids
};

/// After the journal was restored from an older copy: lets the publisher go on
/// after this position (nullopt: after the last event of the journal that was
/// published), giving up what only Kafka has of later ones. Where the control
/// record was lost a position must be given. Answers the new control record.
/// INVALID_INPUT for a position the journal does not have. INVALID_STATE when
/// Kafka and the journal fit together anyway, when a restored journal began no
/// other incarnation, and, without consent, for a position that leaves out an
/// event that was not published, or sends one again. Where the restored journal
/// wrote on under ids that Kafka has for other events, these are left out, with
/// consent, or nothing is done.
[[nodiscard]] result<control_record> resume_after(
    const publisher_options& options, journal& store,
    std::optional<std::uint64_t> position, const resume_consent& consent,
    const keep_going& go_on);

}  // namespace bc::events::kafka
