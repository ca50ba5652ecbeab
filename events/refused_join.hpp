#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bc::events {

/// Attempts to join that were refused alike: one CSR, one reason, one token.
/// A row of the index of recent refusals, which stands beside the journal and
/// answers joins.explain (spec: DESIGN section 7); never part of an event.
struct refused_join {
  std::string owner;       // tenant id: the token's, else the root tenant
  std::string csr_sha256;  // hex
  std::string reason;      // wire text
  std::string token;       // its id once its secret verified, else empty
  std::string attestor;
  std::string role;  // asked for by the last attempt
  time_point first_at;
  time_point last_at;
  std::int64_t times = 1;
  std::string details;  // JSON object, for the owner alone
  bool operator==(const refused_join&) const = default;
};

/// Of each owner and reason the index holds the rows refused last, so many: a
/// flood of one reason pushes out nothing of another's.
inline constexpr std::size_t refusals_kept = 1'000;

}  // namespace bc::events
