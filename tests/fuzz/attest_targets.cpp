#include "base/wire_attest.hpp"
#include "tests/fuzz/targets.hpp"

namespace bc::fuzz {

namespace {

// What decodes is written and decoded again to the same text.
template <class Message>
void round_trip(std::string_view text,
                result<Message> (*decode)(std::string_view)) {
  auto first = decode(text);
  if (!first)
    return;
  auto written = wire::encode(first.value());
  auto again = decode(written);
  BC_MUST(again.has_value());
  BC_MUST(wire::encode(again.value()) == written);
}

}  // namespace

// The request for a challenge, and the challenge.
void join_challenge(byte_view input) {
  round_trip(text_of(input), wire::decode_challenge_request);
  round_trip(text_of(input), wire::decode_challenge_body);
}

}  // namespace bc::fuzz
