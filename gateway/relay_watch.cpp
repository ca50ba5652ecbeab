#include "gateway/relay_watch.hpp"

namespace bc::gateway {

std::optional<std::size_t> relay_watch::ask(const std::vector<bool>& usable,
                                            time now) {
  if (held_ && now - heard_ <= times_.silence)
    return std::nullopt;
  if (asked_ && now - asked_at_ < times_.answer)
    return std::nullopt;
  // The next in turn; the silent one, and the one that did not answer, last.
  const auto first = last_ ? *last_ + 1 : 0;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    auto at = (first + i) % usable.size();
    if (!usable[at])
      continue;
    if (at != held_ && at != asked_) {
      chosen = at;
      break;
    }
    if (!chosen)
      chosen = at;
  }
  asked_ = chosen;
  asked_at_ = now;
  if (chosen)
    last_ = chosen;
  return chosen;
}

bool relay_watch::on_watching(std::size_t from, time now) {
  if (asked_ != from)
    return false;
  asked_.reset();
  held_ = from;
  heard_ = now;
  told_ = false;
  return true;
}

void relay_watch::on_heard(std::size_t from, time now) {
  if (held_ == from)
    heard_ = now;
}

void relay_watch::on_gone(std::size_t from) {
  if (held_ == from)
    held_.reset();
  if (asked_ == from)
    asked_.reset();
}

bool relay_watch::is_lost(time now) {
  if (told_ || now - heard_ <= times_.lost)
    return false;
  held_.reset();
  told_ = true;
  return true;
}

}  // namespace bc::gateway
