#include "events/command_output.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>

namespace bc::fuzz {

// What a node says became of a command: by its hardware and its acceptance the
// server decides.
void command_output(byte_view input) {
  auto text = text_of(input);
  if (auto claims = events::claims_in(text)) {
    auto again = wire::decode_claims(wire::encode(*claims));
    BC_MUST(again.has_value());
    BC_MUST(wire::encode(again.value()) == wire::encode(*claims));
  }
  const std::vector<std::string> asked{"burn-in", "links"};
  const auto payload = events::acceptance_payload(asked);
  for (bool succeeded : {true, false}) {
    auto failed = events::failed_checks(payload, succeeded, text);
    if (!failed)
      continue;
    // Nobody passes who did not succeed, and no name is the node's own.
    BC_MUST(succeeded || *failed == asked);
    for (const auto& name : *failed)
      BC_MUST(std::ranges::find(asked, name) != asked.end());
  }
  static_cast<void>(events::failed_checks(text, true, text));
}

}  // namespace bc::fuzz
