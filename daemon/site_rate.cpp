#include "daemon/site_rate.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

constexpr std::size_t network_bytes = 8;

bool is_mapped_ipv4(const address_limit::address& a) {
  return std::all_of(a.begin(), a.begin() + 10,
                     [](auto b) { return b == 0; }) &&
         a[10] == 0xff && a[11] == 0xff;
}

}  // namespace

address_limit::address address_limit::counted_as(address from) noexcept {
  if (!is_mapped_ipv4(from))
    std::fill(from.begin() + network_bytes, from.end(), std::uint8_t{0});
  return from;
}

bool address_limit::admits(address from, milliseconds at) {
  from = counted_as(from);
  auto found = full_at_.find(from);
  const auto since = found == full_at_.end() ? at : std::max(found->second, at);
  // Each request fills a bucket that runs empty at a steady rate.
  if (since + each - at > each * burst)
    return false;
  if (found != full_at_.end()) {
    found->second = since + each;
    return true;
  }
  if (full_at_.size() >= most_addresses)
    make_room(at);
  full_at_.emplace(from, since + each);
  return true;
}

void address_limit::make_room(milliseconds at) {
  std::erase_if(full_at_, [at](const auto& row) { return row.second <= at; });
  if (full_at_.size() < most_addresses)
    return;
  full_at_.erase(std::min_element(
      full_at_.begin(), full_at_.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; }));
}

}  // namespace bc::daemon
