#include "events/journal_stream.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"

namespace bc::events::journal_log {

state evolve(state s, const event& e) {
  ++s.version;
  s.last = std::get<incarnation_started>(e);
  return s;
}

result<events> decide(const state& s, const start_incarnation& c) {
  if (c.incarnation == c.current)
    return fail(errc::invalid_input,
                "the journal is of this incarnation already");
  if (s.last && s.last->incarnation != c.current)
    return fail(errc::internal,
                "the head's incarnation is not the one the journal's own "
                "stream began; run: better-compute journal verify");
  return events{incarnation_started{c.incarnation, c.current, c.at}};
}

moves moves_of(const event& e) {
  moves effect;
  effect.incarnation = std::get<incarnation_started>(e).incarnation;
  return effect;
}

event_write encode(const event& e) {
  const auto& s = std::get<incarnation_started>(e);
  auto data = codec::object([&](json::writer& out) {
    out.field("incarnation", s.incarnation.str())
        .field("previous", s.previous.str())
        .field("startedAt", to_rfc3339(s.at));
  });
  return {std::string{name::incarnation_started}, 1, std::move(data), "{}",
          moves_of(e)};
}

result<event> decode(const envelope& e) {
  if (!codec::is(e, name::incarnation_started))
    return codec::unknown_event(e);
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(incarnation, codec::id_of<incarnation_id>(data, "incarnation"));
        BC_TRY(previous, codec::id_of<incarnation_id>(data, "previous"));
        BC_TRY(at, codec::time_of(data, "startedAt"));
        return incarnation_started{incarnation, previous, at};
      });
}

result<std::optional<incarnation_started>> begun_by(const envelope& e) {
  if (e.stream != journal_stream)
    return std::nullopt;
  BC_TRY(event, decode(e));
  return std::get<incarnation_started>(std::move(event));
}

}  // namespace bc::events::journal_log
