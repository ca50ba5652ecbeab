#pragma once

#include "actors/messages.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace bc::actors {

/// The state of one stream, built event by event. No CAF, no I/O.
class stream_fold {
 public:
  virtual ~stream_fold() = default;

  [[nodiscard]] virtual std::uint64_t version() const = 0;
  [[nodiscard]] virtual any_state state() const = 0;
  /// The event of version() + 1. INTERNAL for any other, and for an event
  /// that this version of the program does not know: such a stream must not
  /// be decided on.
  [[nodiscard]] virtual result<void> apply(const events::envelope& e) = 0;
  /// What the system must append because of the state, pinned to its version;
  /// nullopt: nothing.
  [[nodiscard]] virtual result<std::optional<events::batch>> follow_up(
      time_point now) const = 0;
};

/// An empty fold; null for a kind of stream that no actor holds.
[[nodiscard]] std::unique_ptr<stream_fold> make_fold(std::string_view stream);

}  // namespace bc::actors
