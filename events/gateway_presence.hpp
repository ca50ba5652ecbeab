#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bc::events {

/// When each gateway was last heard of, over all processes of a deployment;
/// beside the journal, since it is no decision and soon forgotten. Thread-safe;
/// blocks. A fault is UNAVAILABLE or INTERNAL.
class gateway_presence {
 public:
  virtual ~gateway_presence() = default;
  /// They are heard of now. Those of more than a day ago are forgotten.
  [[nodiscard]] virtual result<void> seen(
      std::span<const std::string> gateways) = 0;
  /// How long ago this one was, by the store's clock; nullopt: never.
  [[nodiscard]] virtual result<std::optional<milliseconds>> silent_for(
      std::string_view gateway) = 0;
};

/// Of the one process that a store in memory or SQLite has.
[[nodiscard]] std::unique_ptr<gateway_presence> make_memory_presence(
    const clock& time);
/// In a migrated Postgres, on a connection of its own that is replaced when it
/// is lost.
[[nodiscard]] std::unique_ptr<gateway_presence> make_postgres_presence(
    const std::string& url);

}  // namespace bc::events
