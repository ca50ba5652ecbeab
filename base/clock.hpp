#pragma once

#include "base/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace bc {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Wall-clock time in whole milliseconds since 1970-01-01T00:00:00Z.
using time_point =
    std::chrono::time_point<std::chrono::system_clock, milliseconds>;

[[nodiscard]] inline std::int64_t to_millis(time_point t) noexcept {
  return t.time_since_epoch().count();
}
[[nodiscard]] inline time_point from_millis(std::int64_t ms) noexcept {
  return time_point{milliseconds{ms}};
}

/// RFC 3339 in UTC with milliseconds: 2026-11-29T18:09:21.000Z.
[[nodiscard]] std::string to_rfc3339(time_point t);
/// Reads the form to_rfc3339 writes, and the same without the fraction.
[[nodiscard]] result<time_point> from_rfc3339(std::string_view text);

/// Where time comes from. Deciders never see one: they are passed a time.
class clock {
 public:
  virtual ~clock() = default;
  [[nodiscard]] virtual time_point now() const = 0;
};

class system_clock final : public clock {
 public:
  [[nodiscard]] time_point now() const override {
    return std::chrono::time_point_cast<milliseconds>(
        std::chrono::system_clock::now());
  }
};

/// A clock that moves only when told to; for tests and simulation.
class manual_clock final : public clock {
 public:
  explicit manual_clock(time_point start) : ms_(to_millis(start)) {}
  [[nodiscard]] time_point now() const override { return from_millis(ms_); }
  void advance(milliseconds by) { ms_ += by.count(); }
  void set(time_point t) { ms_ = to_millis(t); }

 private:
  std::atomic<std::int64_t> ms_;
};

}  // namespace bc
