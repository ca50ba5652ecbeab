#include "events/journal.hpp"

#include "base/encoding.hpp"
#include "pki/digest.hpp"

#include <algorithm>

namespace bc::events {

bool batch::has_events() const {
  return std::any_of(writes.begin(), writes.end(),
                     [](const stream_write& w) { return !w.events.empty(); });
}

std::string row_hash(const envelope& e) {
  return row_hash(e, pki::sha256(as_bytes(e.internal)));
}

std::string row_hash(const envelope& e, byte_view internal) {
  auto data = pki::sha256(as_bytes(e.data));
  pki::field_hash h;
  h.add("bc-journal-row-v1")
      .add(std::to_string(e.position))
      .add(std::to_string(e.commit))
      .add(e.stream)
      .add(std::to_string(e.version))
      .add(e.type)
      .add(std::to_string(e.type_version))
      .add(e.tenant)
      .add(std::to_string(to_millis(e.time)))
      .add(e.actor)
      .add(e.correlation)
      .add(byte_view{data})
      .add(internal)
      .add(e.batch);
  return to_hex(std::move(h).finish());
}

std::string commit_link(std::string_view previous,
                        std::span<const std::string> row_hashes) {
  pki::field_hash h;
  h.add("bc-journal-link-v1").add(previous);
  for (const auto& row : row_hashes)
    h.add(row);
  return to_hex(std::move(h).finish());
}

}  // namespace bc::events
