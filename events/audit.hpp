#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Who decided what, on what and when: a function of the events alone (spec:
/// joining#the-join-flow step 4).
namespace bc::events {

/// One decision, by an operator or by a machine's joining.
struct audit_entry {
  std::string id;  // sorts by time, then by position
  std::uint64_t position = 0;
  std::string tenant;     // whose it is
  time_point at;          // the store's clock
  std::string principal;  // or "machine"; "system" for the first start
  /// Of a caller of the API: whose credential it was, and which.
  std::optional<std::string> actor_tenant;
  std::optional<std::string> credential;
  /// What the principal had to be granted, "compute:nodes:cordon"; of a
  /// machine "node.joined" or "node.reclaimed".
  std::string action;
  std::string resource;     // "compute-node/node_…"
  std::string event;        // its type
  std::string correlation;  // request id
  std::string details;      // a JSON object: what of the event is public
};

/// nullopt for an event that is no decision of its own: what follows from one
/// (a use that was spent, an adoption at once, a certificate that a reclaim or
/// a delete revokes), a refusal, and the journal's own. INTERNAL for one that
/// cannot be read.
[[nodiscard]] result<std::optional<audit_entry>> audit_of(const envelope& e);

/// Entries at this time or later have ids after it, earlier ones before it.
[[nodiscard]] std::string audit_bound(time_point at);

/// The action of the event types that are audited, for documents and tests.
[[nodiscard]] std::optional<std::string_view> audited_action(
    std::string_view event_type);

}  // namespace bc::events
