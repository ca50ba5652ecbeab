#include "daemon/renewal_plan.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

constexpr seconds first_wait{1};
constexpr seconds longest_wait{300};
constexpr int earliest_permille = 550;
constexpr int spread_permille = 100;
constexpr int permille = 1'000;

}  // namespace

void server_clock::learn(time_point server, const clock_reading& at) {
  known_ = true;
  signed_ = server;
  learnt_ = at;
  offset_ = server - at.wall;
}

time_point server_clock::now(const clock_reading& at) const {
  if (!known_)
    return at.wall;
  return std::max(signed_now(at), at.wall + offset_);
}

time_point server_clock::signed_now(const clock_reading& at) const {
  return known_ ? signed_ + (at.since_boot - learnt_.since_boot) : at.wall;
}

std::optional<milliseconds> server_clock::offset_at(
    const clock_reading& at) const {
  if (!known_)
    return std::nullopt;
  return signed_now(at) - at.wall;
}

time_point renewal_due(const lifetime& certificate, unsigned random) {
  auto whole = certificate.not_after - certificate.not_before;
  // Two steps, as a permille of a permille of 24 h has milliseconds to spare.
  auto spread = whole * spread_permille / permille;
  return certificate.not_before + whole * earliest_permille / permille +
         spread * static_cast<int>(random % permille) / permille;
}

milliseconds back_off(int failures, unsigned random) {
  milliseconds wait = first_wait;
  for (int i = 1; i < failures && wait < longest_wait; ++i)
    wait *= 2;
  wait = std::min<milliseconds>(wait, longest_wait);
  return wait / 2 + wait / 2 * static_cast<int>(random % permille) / permille;
}

milliseconds attempt_pacer::next() const {
  const std::size_t most =
      may_use_reserve_ ? most_in_an_hour : most_in_an_hour - reserved;
  if (requests_.size() < most)
    return after_back_off_;
  auto oldest = requests_[requests_.size() - most];
  return std::max(after_back_off_, oldest + span_);
}

void attempt_pacer::count_over(milliseconds span) {
  span_ = std::min<milliseconds>(span, an_hour);
}

void attempt_pacer::count(milliseconds since_boot, int requests) {
  for (int i = 0; i < requests; ++i)
    requests_.push_back(since_boot);
  while (requests_.size() > most_in_an_hour)
    requests_.pop_front();
}

void attempt_pacer::failed(milliseconds since_boot, int requests,
                           unsigned random) {
  count(since_boot, requests);
  ++failures_;
  may_use_reserve_ = false;
  after_back_off_ = since_boot + back_off(failures_, random);
}

void attempt_pacer::succeeded() noexcept {
  requests_.clear();
  gateway_is_back();
}

void attempt_pacer::came_late(milliseconds since_boot, int requests) {
  count(since_boot, requests);
  failures_ = 0;
  may_use_reserve_ = true;
  after_back_off_ = since_boot;
}

void attempt_pacer::gateway_is_back() noexcept {
  after_back_off_ = milliseconds{0};
  failures_ = 0;
  may_use_reserve_ = true;
}

}  // namespace bc::daemon
