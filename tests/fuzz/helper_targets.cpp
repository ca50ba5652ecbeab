#include "daemon/helper_frames.hpp"
#include "tests/fuzz/targets.hpp"

namespace bc::fuzz {

// What bcd helper takes from a node, and a node from the helper: what is read
// is what is written again, byte for byte.
void helper_frame(byte_view input) {
  using namespace daemon;
  if (auto request = decode_helper_request(input)) {
    const auto frame = encode(*request);
    BC_MUST(helper_frame_length(byte_view{frame}.first(helper_length_size)) ==
            input.size());
    BC_MUST(to_bytes(byte_view{frame}.subspan(helper_length_size)) ==
            to_bytes(input));
  }
  if (auto reply = decode_helper_reply(input)) {
    const auto frame = encode(*reply);
    BC_MUST(to_bytes(byte_view{frame}.subspan(helper_length_size)) ==
            to_bytes(input));
  }
  if (input.size() >= helper_length_size)
    if (auto length = helper_frame_length(input.first(helper_length_size)))
      BC_MUST(*length <= max_helper_frame);
}

}  // namespace bc::fuzz
