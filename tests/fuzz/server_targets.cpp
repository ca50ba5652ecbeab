#include "daemon/token_input.hpp"
#include "events/bearer.hpp"
#include "events/catalog.hpp"
#include "events/event_names.hpp"
#include "events/stream_fold.hpp"
#include "gateway/relay_codec.hpp"
#include "gateway/url.hpp"
#include "tests/fuzz/targets.hpp"

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

// The first byte chooses the type; then `data`, a line feed, `internal`.
void stored_event(byte_view input) {
  auto types = events::event_types();
  if (input.empty())
    return;
  const auto& type = types[input[0] % types.size()];
  auto text = text_of(input.subspan(1));
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
  if (auto taken = fold->to_snapshot()) {
    auto other = events::make_stream_fold(e.stream);
    BC_MUST(other->restore(*taken));
    BC_MUST(other->state_json(true) == fold->state_json(true));
  }
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
