#include "base/wire_attest.hpp"
#include "base/wire_boot_lease.hpp"
#include "pki/vouch.hpp"
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

// The request for a boot lease, and the lease.
void boot_lease(byte_view input) {
  round_trip(text_of(input), wire::decode_boot_lease_request);
  round_trip(text_of(input), wire::decode_boot_lease_body);
}

// What is read can be made again, and says the same.
void vouch(byte_view input) {
  auto got = pki::vouch::read(text_of(input));
  const auto* first = std::get_if<pki::vouch::vouch>(&got);
  if (first == nullptr)
    return;
  BC_MUST(input.size() <= pki::vouch::max_size);
  BC_MUST(first->says.expires_at - first->says.issued_at <=
          pki::vouch::max_lifetime);
  auto made = pki::vouch::make(
      first->says, input,
      [first](const pki::sha256_digest&) -> result<pki::raw_signature> {
        return first->signature;
      });
  BC_MUST(made.has_value());
  auto again = pki::vouch::read(made.value());
  BC_MUST(std::holds_alternative<pki::vouch::vouch>(again));
  BC_MUST(std::get<pki::vouch::vouch>(again).says == first->says);
  BC_MUST(std::get<pki::vouch::vouch>(again).signature == first->signature);
}

}  // namespace bc::fuzz
