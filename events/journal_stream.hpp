#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace bc::events {

/// The one stream of what happens to the journal itself.
inline constexpr std::string_view journal_stream = "journal";

}  // namespace bc::events

/// The stream `journal` (spec: DESIGN section 4).
namespace bc::events::journal_log {

/// `journal.incarnation-started`: from this event on ids and sequences are of
/// another incarnation, because the journal was restored from a backup.
struct incarnation_started {
  incarnation_id incarnation;
  incarnation_id previous;
  time_point at;
  bool operator==(const incarnation_started&) const = default;
};
using event = std::variant<incarnation_started>;
using events = std::vector<event>;

struct state {
  std::uint64_t version = 0;
  std::optional<incarnation_started> last;
};

[[nodiscard]] state evolve(state s, const event& e);

struct start_incarnation {
  incarnation_id incarnation;
  incarnation_id current;  // the head's
  time_point at;
};
/// INVALID_INPUT for the incarnation the journal has already; INTERNAL when
/// the head's is not the one that the last event began.
[[nodiscard]] result<events> decide(const state& s, const start_incarnation& c);

[[nodiscard]] moves moves_of(const event& e);
[[nodiscard]] event_write encode(const event& e);
[[nodiscard]] result<event> decode(const envelope& e);

/// The incarnation that a row of any stream begins, if it begins one.
[[nodiscard]] result<std::optional<incarnation_started>> begun_by(
    const envelope& e);

}  // namespace bc::events::journal_log
