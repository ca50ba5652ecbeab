#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace bc::daemon {

/// How often one address may ask: a burst, then a steady rate. Holds a bounded
/// number of addresses; of more than that, the one that is furthest from its
/// limit is forgotten. Pure: the time is passed in.
class address_limit {
 public:
  /// An IPv6 address; an IPv4 address is mapped.
  using address = std::array<std::uint8_t, 16>;

  static constexpr int burst = 10;
  static constexpr milliseconds each{1'000};
  static constexpr std::size_t most_addresses = 4'096;

  /// Whom an address counts as: an IPv6 address as its network of 64 bits,
  /// which one machine has all of.
  [[nodiscard]] static address counted_as(address from) noexcept;

  /// Counts a request; false when it is one too many. `at` never goes back.
  [[nodiscard]] bool admits(address from, milliseconds at);
  [[nodiscard]] std::size_t known() const noexcept { return full_at_.size(); }

 private:
  void make_room(milliseconds at);

  // When an address may burst again in full; later, the more it asked.
  std::map<address, milliseconds> full_at_;
};

}  // namespace bc::daemon
