#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

/// What the codecs of states (state_codec.hpp) share.
namespace bc::events::state_fields {

/// An event inside a state is written as it stands in the journal, so that
/// there is one codec for it.
inline void put_event(json::writer& out, const event_write& e) {
  out.begin_object().field("typeVersion", e.type_version);
  out.key("data").raw(e.data).key("internal").raw(e.internal).end_object();
}

template <class Event, class Decode>
[[nodiscard]] result<Event> read_event(const json::reader& in,
                                       std::string_view type, Decode decode) {
  envelope e;
  e.type = type;
  BC_TRY(version, in.integer("typeVersion"));
  e.type_version = static_cast<int>(version);
  BC_TRY(data, in.object("data"));
  e.data = json::to_text(data.raw());
  BC_TRY(internal, in.object("internal"));
  e.internal = json::to_text(internal.raw());
  BC_TRY(any, decode(e));
  auto* event = std::get_if<Event>(&any);
  if (event == nullptr)
    return fail(errc::internal, "The state holds another event");
  return std::move(*event);
}

[[nodiscard]] inline result<std::uint64_t> read_version(
    const json::reader& in) {
  BC_TRY(version, in.integer("version"));
  if (version < 0)
    return fail(errc::internal, "The state has no version");
  return static_cast<std::uint64_t>(version);
}

inline void put_time(json::writer& out, std::string_view name,
                     const std::optional<time_point>& t) {
  if (t)
    out.field(name, to_millis(*t));
}

[[nodiscard]] inline result<std::optional<time_point>> time_or_none(
    const json::reader& in, std::string_view name) {
  BC_TRY(ms, in.optional_integer(name));
  return ms ? std::optional{from_millis(*ms)} : std::nullopt;
}

/// nullopt where there is no such field.
template <class Event, class Decode>
[[nodiscard]] result<std::optional<Event>> event_or_none(const json::reader& in,
                                                         std::string_view name,
                                                         std::string_view type,
                                                         Decode decode) {
  if (!in.has(name))
    return std::optional<Event>{};
  BC_TRY(object, in.object(name));
  BC_TRY(read, read_event<Event>(object, type, decode));
  return std::optional{std::move(read)};
}

}  // namespace bc::events::state_fields
