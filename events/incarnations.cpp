#include "events/incarnations.hpp"

#include "events/journal_stream.hpp"

#include <algorithm>

namespace bc::events {

result<incarnations> incarnations::load(journal& store) {
  // The head first: an incarnation that starts in between names the one
  // before it.
  BC_TRY(head, store.head());
  incarnations out{head.incarnation.str()};
  std::uint64_t version = 0;
  for (;;) {
    BC_TRY(rows, store.read_stream(journal_stream, version, 100));
    if (rows.empty())
      return out;
    for (const auto& e : rows) {
      BC_TRYV(out.follow(e));
      version = e.version;
    }
  }
}

const std::string& incarnations::at(std::uint64_t position) const {
  return std::prev(from_.upper_bound(position))->second;
}

bool incarnations::has(std::string_view incarnation) const {
  return std::any_of(from_.begin(), from_.end(),
                     [&](const auto& i) { return i.second == incarnation; });
}

result<void> incarnations::follow(const envelope& e) {
  BC_TRY(started, journal_log::begun_by(e));
  if (!started)
    return ok();
  // The journal's first event of this kind tells what went before.
  if (from_.size() == 1)
    from_[0] = started->previous.str();
  from_[e.position] = started->incarnation.str();
  return ok();
}

}  // namespace bc::events
