#include "base/wire_session.hpp"
#include "tests/fuzz/targets.hpp"

namespace bc::fuzz {

namespace {

// What decodes is written and decoded again to the same text.
template <class Message>
void must_hold(const result<Message>& first,
               result<Message> (*decode)(std::string_view)) {
  if (!first)
    return;
  auto text = wire::encode(first.value());
  auto again = decode(text);
  BC_MUST(again.has_value());
  BC_MUST(wire::encode(again.value()) == text);
}

template <class Frames>
void must_hold(const result<std::optional<Frames>>& first,
               result<std::optional<Frames>> (*decode)(std::string_view)) {
  if (!first || !first.value())
    return;
  auto text = wire::encode(*first.value());
  auto again = decode(text);
  BC_MUST(again.has_value() && again.value().has_value());
  BC_MUST(wire::encode(*again.value()) == text);
}

template <class Message>
void round_trip(std::string_view text,
                result<Message> (*decode)(std::string_view)) {
  must_hold(decode(text), decode);
}

}  // namespace

// The frames of a session's two sides, and the body inside a command.
void session_frame(byte_view input) {
  auto text = text_of(input);
  round_trip(text, wire::decode_from_daemon);
  round_trip(text, wire::decode_to_daemon);
  round_trip(text, wire::decode_command_body);
}

// What a gateway and an API process say to each other of a session.
void session_message(byte_view input) {
  auto text = text_of(input);
  round_trip(text, wire::decode_session_hello);
  round_trip(text, wire::decode_session_end);
  round_trip(text, wire::decode_session_check);
  round_trip(text, wire::decode_fetch_commands);
  round_trip(text, wire::decode_fetched_commands);
  round_trip(text, wire::decode_relayed_result);
}

}  // namespace bc::fuzz
