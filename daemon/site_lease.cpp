#include "daemon/site_lease.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

constexpr int permille = 1'000;
// A lease is for minutes. What claims more comes of clocks that disagree.
constexpr std::chrono::hours longest_lease{1};
constexpr seconds shortest_wait{1};
constexpr seconds longest_back_off{15};
constexpr seconds refused_wait{60};

// Between 90 and 110 %, so that agents which began together part.
milliseconds about(milliseconds t, unsigned random) {
  return t * (900 + static_cast<int>(random) / 5) / permille;
}

}  // namespace

void boot_lease_keeper::answered(const wire::boot_lease_body& body,
                                 milliseconds sent, time_point server,
                                 unsigned random) {
  failures_ = 0;
  known_ = {
      true, body.held, body.epoch, body.holder, from_millis(body.expires_ms),
      {}};
  auto left = std::clamp<milliseconds>(known_.expires_at - server,
                                       milliseconds{0}, longest_lease);
  until_ = body.held ? sent + left : milliseconds{0};
  // Held: a third of it, so that two requests may be lost. Another's: when it
  // ends, or earlier, should it be given up.
  auto wait =
      body.held ? about(left / 3, random) : left + about(shortest_wait, random);
  const milliseconds most = body.held ? longest_wait : longest_stand_by;
  next_ =
      sent + std::clamp<milliseconds>(wait, shortest_wait, about(most, random));
}

void boot_lease_keeper::failed(std::string why, milliseconds at,
                               unsigned random) {
  known_.trouble = std::move(why);
  next_ = at + std::min<milliseconds>(back_off(++failures_, random),
                                      about(longest_back_off, random));
}

void boot_lease_keeper::refused(std::string why, milliseconds at,
                                unsigned random) {
  known_ = {};
  known_.trouble = std::move(why);
  until_ = milliseconds{0};
  next_ = at + about(refused_wait, random);
}

void boot_lease_keeper::released() {
  known_.held = false;
  known_.holder.clear();
  until_ = milliseconds{0};
}

std::optional<std::int64_t> boot_lease_keeper::epoch_at(milliseconds at) const {
  if (!is_held(at + margin))
    return std::nullopt;
  return known_.epoch;
}

boot_lease_view boot_lease_keeper::view(milliseconds at) const {
  auto out = known_;
  if (out.held && !is_held(at)) {
    out.held = false;
    out.holder.clear();
  }
  return out;
}

}  // namespace bc::daemon
