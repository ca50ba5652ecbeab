#pragma once

#include "base/result.hpp"
#include "events/journal.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Every event type: frozen wire name, version, stream kind, and which fields
/// of `data` may leave as a public event.
namespace bc::events {

struct event_type {
  std::string_view name;
  int version;
  std::string_view stream_kind;
  bool is_public;
  std::span<const std::string_view> public_fields;  // allow-list over `data`
};

[[nodiscard]] std::span<const event_type> event_types();
[[nodiscard]] const event_type* find_event_type(std::string_view name);

/// The claim and budget moves of a stored event; no moves for a type that has
/// none; INTERNAL for an unknown type or version.
[[nodiscard]] result<moves> moves_of(const envelope& e);

/// What of an event's data may leave, a JSON object; nullopt for an event that
/// is not public, or cannot be read.
[[nodiscard]] std::optional<std::string> public_data(const envelope& e);

/// A public event in parts: CloudEvents attributes in their order, and the
/// JSON object `data`.
struct public_event {
  std::vector<std::pair<std::string_view, std::string>> attributes;
  std::string data;
};
/// nullopt for an event that is not public.
[[nodiscard]] std::optional<public_event> public_parts(
    const envelope& e, std::string_view incarnation, std::string_view source);

/// A CloudEvents 1.0 JSON object (spec: DESIGN section 6): id, type, source,
/// subject, time, dataschema, tenantid, correlationid, sequence, data. nullopt
/// for an event that is not public.
[[nodiscard]] std::optional<std::string> to_public(const envelope& e,
                                                   std::string_view incarnation,
                                                   std::string_view source);

}  // namespace bc::events
