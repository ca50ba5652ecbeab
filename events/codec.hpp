#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "events/journal.hpp"

#include <concepts>
#include <initializer_list>
#include <string_view>
#include <utility>

/// What the codecs of the streams share. A stored event that cannot be read is
/// damage, never bad input: every fault leaves here as INTERNAL.
namespace bc::events::codec {

/// An event whose type or version this stream does not know.
[[nodiscard]] fault unknown_event(const envelope& e);
[[nodiscard]] fault unreadable(const envelope& e, const fault& why);

[[nodiscard]] inline bool is(const envelope& e, std::string_view type,
                             int version = 1) {
  return e.type == type && e.type_version == version;
}

[[nodiscard]] result<time_point> time_of(const json::reader& from,
                                         std::string_view name);
[[nodiscard]] result<time_point> millis_of(const json::reader& from,
                                           std::string_view name);

template <class Id>
[[nodiscard]] result<Id> id_of(const json::reader& from,
                               std::string_view name) {
  BC_TRY(text, from.text_view(name));
  return Id::parse(text);
}

/// A text that `parse` turns into a value of a closed list.
template <class Parse>
[[nodiscard]] auto one_of(const json::reader& from, std::string_view name,
                          Parse parse)
    -> result<typename decltype(parse(std::string_view{}))::value_type> {
  BC_TRY(text, from.text_view(name));
  auto value = parse(text);
  if (!value)
    return fail(errc::invalid_input, "is not a known value",
                from.path_of(name));
  return *value;
}

/// Calls `read(data, internal)` on the event's two objects.
template <class Read>
[[nodiscard]] auto read_event(const envelope& e, Read read)
    -> decltype(read(std::declval<const json::reader&>(),
                     std::declval<const json::reader&>())) {
  const json::brief_object data{e.data};
  if (!data.outcome())
    return unreadable(e, data.outcome().error());
  const json::brief_object internal{e.internal};
  if (!internal.outcome())
    return unreadable(e, internal.outcome().error());
  auto out =
      read(json::reader{data.get()}, json::reader{internal.get(), "/internal"});
  if (!out)
    return unreadable(e, out.error());
  return out;
}

/// How events of one type (version 1) are read.
template <class Event>
struct row {
  std::string_view type;
  result<Event> (*read)(const json::reader& data, const json::reader& internal);
};

/// By the row of its type; INTERNAL where there is none.
template <class Event>
[[nodiscard]] result<Event> decode(const envelope& e,
                                   std::initializer_list<row<Event>> rows) {
  for (const auto& r : rows)
    if (is(e, r.type))
      return read_event(e, r.read);
  return unknown_event(e);
}

/// The JSON object `fill` writes the fields of.
template <class Fill>
[[nodiscard]] std::string object(Fill fill) {
  json::writer out;
  out.begin_object();
  fill(out);
  out.end_object();
  return out.str();
}

/// The field, left out when the text is empty.
inline void put_unless_empty(json::writer& out, std::string_view name,
                             std::string_view text) {
  if (!text.empty())
    out.field(name, text);
}

}  // namespace bc::events::codec
