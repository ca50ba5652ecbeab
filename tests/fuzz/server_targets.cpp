#include "base/json.hpp"
#include "daemon/token_input.hpp"
#include "events/audit.hpp"
#include "events/bearer.hpp"
#include "events/catalog.hpp"
#include "events/checkpoint.hpp"
#include "events/event_names.hpp"
#include "events/export.hpp"
#include "events/stream_fold.hpp"
#include "gateway/event_query.hpp"
#include "gateway/relay_codec.hpp"
#include "gateway/url.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>

namespace bc::fuzz {

void token(byte_view input) {
  auto text = text_of(input);
  if (auto parts = events::split_bearer(text)) {
    BC_MUST(parts->second.size() == 43);
    BC_MUST(parts->first.size() + 44 == text.size());
  }
  (void)daemon::clean_token(input);
  if (auto url = gateway::parse_url(text))
    (void)gateway::authority_of(url.value().host, url.value().port);
}

// The type's name, a line feed, `data`, a line feed, `internal`. Any other name
// stands for a type all the same, so that few inputs are wasted.
void stored_event(byte_view input) {
  auto types = events::event_types();
  auto text = text_of(input);
  const auto name = text.substr(0, text.find('\n'));
  const auto* named = events::find_event_type(name);
  const auto& type =
      named != nullptr ? *named : types[name.size() % types.size()];
  text.remove_prefix(std::min(name.size() + 1, text.size()));
  auto end = text.find('\n');
  events::envelope e;
  e.position = 1;
  e.version = 1;
  e.stream = std::string{type.stream_kind} + ":fuzz";
  e.type = std::string{type.name};
  e.type_version = type.version;
  e.tenant = "ten_fuzz";
  e.data = std::string{text.substr(0, end)};
  e.internal = end == text.npos ? "{}" : std::string{text.substr(end + 1)};
  (void)events::moves_of(e);
  (void)events::to_public(e, "inc_fuzz", "fuzz");
  auto fold = events::make_stream_fold(e.stream);
  if (!fold || !fold->apply(e))
    return;
  (void)fold->state_json(true);
  // What a stream takes parks no read model.
  BC_MUST(events::audit_of(e));
  if (auto taken = fold->to_snapshot()) {
    auto other = events::make_stream_fold(e.stream);
    BC_MUST(other->restore(*taken));
    BC_MUST(other->state_json(true) == fold->state_json(true));
  }
}

// A whole export, line by line; what a line is read as is written the same.
void export_file(byte_view input) {
  auto rest = text_of(input);
  auto next = [&]() -> result<std::optional<std::string_view>> {
    if (rest.empty())
      return std::optional<std::string_view>{};
    auto end = rest.find('\n');
    auto line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (auto read = events::parse_export_line(line)) {
      auto again = events::to_text(read.value());
      BC_MUST(again.has_value());
      BC_MUST(again.value() == line);
    }
    return std::optional{line};
  };
  (void)events::read_export(next, {events::moves_of});
}

void checkpoint_line(byte_view input) {
  auto found = events::find_checkpoint(text_of(input));
  if (!found || !found.value())
    return;
  auto text = events::checkpoint_json(*found.value());
  auto again = events::parse_checkpoint_json(text);
  BC_MUST(again.has_value());
  BC_MUST(again.value() == *found.value());
}

// The query, a line feed, Last-Event-ID.
void event_query(byte_view input) {
  auto text = text_of(input);
  auto end = text.find('\n');
  gateway::http_request request;
  request.query = std::string{text.substr(0, end)};
  if (end != text.npos)
    request.headers["last-event-id"] = std::string{text.substr(end + 1)};
  if (auto read = gateway::read_event_query(request))
    BC_MUST(json::parse_object(read.value().list_body(10)).has_value());
}

// A stream of frames is read the same in one piece and byte by byte.
void relay(byte_view input) {
  gateway::relay::frame_reader whole, bytewise;
  whole.take(input);
  for (std::size_t i = 0; i < input.size(); ++i)
    bytewise.take(input.subspan(i, 1));
  for (;;) {
    auto a = whole.next();
    auto b = bytewise.next();
    BC_MUST(a.has_value() == b.has_value());
    if (!a)
      return;
    BC_MUST(a.value() == b.value());
    if (!a.value())
      return;
    auto frame = gateway::relay::encode(*a.value());
    gateway::relay::frame_reader again;
    again.take(
        {reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()});
    auto c = again.next();
    BC_MUST(c.has_value());
    BC_MUST(c.value() == a.value());
  }
}

}  // namespace bc::fuzz
