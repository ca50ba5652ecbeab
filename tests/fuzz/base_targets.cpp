#include "base/encoding.hpp"
#include "base/json.hpp"
#include "base/wire.hpp"
#include "base/wire_renew.hpp"
#include "tests/fuzz/targets.hpp"

namespace bc::fuzz {

// What parses can be written and parsed again to the same text.
void json(byte_view input) {
  auto first = bc::json::parse(text_of(input));
  if (!first)
    return;
  auto text = bc::json::to_text(first.value());
  auto again = bc::json::parse(text);
  BC_MUST(again.has_value());
  BC_MUST(bc::json::to_text(again.value()) == text);
}

// Each strict form has one text for each value.
void encoding(byte_view input) {
  auto text = text_of(input);
  if (auto b = from_base64(text))
    BC_MUST(to_base64(b.value()) == text);
  if (auto b = from_base64url(text))
    BC_MUST(to_base64url(b.value()) == text);
  if (auto b = from_hex(text))
    BC_MUST(to_hex(b.value()).size() == text.size());
  BC_MUST(from_base64(to_base64(input)).value() == to_bytes(input));
  BC_MUST(from_base64url(to_base64url(input)).value() == to_bytes(input));
  (void)is_utf8(text);
}

void join_request(byte_view input) {
  auto first = wire::decode_join_request(text_of(input));
  if (!first)
    return;
  auto text = wire::encode(first.value());
  auto again = wire::decode_join_request(text);
  BC_MUST(again.has_value());
  BC_MUST(wire::encode(again.value()) == text);
}

void renew_request(byte_view input) {
  auto first = wire::decode_renew_request(text_of(input));
  if (!first)
    return;
  auto text = wire::encode(first.value());
  auto again = wire::decode_renew_request(text);
  BC_MUST(again.has_value());
  BC_MUST(wire::encode(again.value()) == text);
}

void join_answer(byte_view input) {
  if (input.empty())
    return;
  const int statuses[] = {200, 202, 400, 403, 409, 500, 503};
  auto status = statuses[input[0] % std::size(statuses)];
  auto first = wire::decode_join_answer(status, text_of(input.subspan(1)));
  if (first) {
    (void)wire::encode(first.value());
    (void)wire::decode_joined_body(first.value().body);
    (void)wire::decode_deferred_body(first.value().body);
  }
  (void)wire::decode_joined_body(text_of(input));
  (void)wire::decode_deferred_body(text_of(input));
}

}  // namespace bc::fuzz
