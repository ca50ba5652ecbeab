#include "base/fault_point.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unistd.h>

namespace bc {

namespace {

struct armed {
  std::atomic<int> countdown{0};
  std::atomic<fault_action> action{fault_action::none};
};

constexpr std::string_view names[] = {
#define BC_X(name, text) text,
    BC_FAULT_POINTS(BC_X)
#undef BC_X
};

std::array<armed, std::size(names)> points;

std::optional<fault_point> find_point(std::string_view name) {
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name)
      return static_cast<fault_point>(i);
  return std::nullopt;
}

// One entry: name=action[@nth].
bool arm_entry(std::string_view entry) {
  auto equals = entry.find('=');
  if (equals == std::string_view::npos)
    return false;
  auto point = find_point(entry.substr(0, equals));
  auto rest = entry.substr(equals + 1);
  int nth = 1;
  if (auto at = rest.find('@'); at != std::string_view::npos) {
    auto digits = rest.substr(at + 1);
    auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), nth);
    if (ec != std::errc{} || end != digits.data() + digits.size() || nth < 1)
      return false;
    rest = rest.substr(0, at);
  }
  if (!point || (rest != "error" && rest != "exit"))
    return false;
  arm(*point, rest == "exit" ? fault_action::exit : fault_action::error, nth);
  return true;
}

}  // namespace

fault_action hit([[maybe_unused]] fault_point point) noexcept {
#ifdef BC_FAULT_POINTS_ENABLED
  auto& p = points[static_cast<std::size_t>(point)];
  if (p.countdown.load(std::memory_order_relaxed) <= 0)
    return fault_action::none;
  if (p.countdown.fetch_sub(1) != 1)
    return fault_action::none;
  auto action = p.action.load();
  if (action == fault_action::exit)
    ::_exit(99);
  return action;
#else
  return fault_action::none;
#endif
}

void arm(fault_point point, fault_action action, int nth) noexcept {
  auto& p = points[static_cast<std::size_t>(point)];
  p.action = action;
  p.countdown = nth;
}

void disarm_all() noexcept {
  for (auto& p : points)
    p.countdown = 0;
}

bool arm_from_environment() noexcept {
  const char* text = std::getenv("BC_FAULTS");
  if (text == nullptr)
    return true;
  std::string_view rest = text;
  while (!rest.empty()) {
    auto comma = rest.find(',');
    auto entry = rest.substr(0, comma);
    if (!arm_entry(entry)) {
      std::fprintf(stderr, "BC_FAULTS: cannot arm '%.*s'\n",
                   static_cast<int>(entry.size()), entry.data());
      return false;
    }
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  return true;
}

}  // namespace bc
