#include "events/command_kind.hpp"

#include <algorithm>

namespace bc::events {

namespace {

constexpr std::string_view any_rest = ".*";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_joint(char c) {
  return c == '.' || c == '-';
}

bool covers(std::string_view pattern, std::string_view kind) {
  if (!pattern.ends_with(any_rest))
    return pattern == kind;
  pattern.remove_suffix(1);  // the dot stays
  return kind.size() > pattern.size() && kind.starts_with(pattern);
}

}  // namespace

bool is_command_kind(std::string_view text) noexcept {
  if (text.empty() || text.size() > max_command_kind)
    return false;
  bool after_joint = true;
  for (char c : text) {
    if (!is_letter(c) && (!is_joint(c) || after_joint))
      return false;
    after_joint = is_joint(c);
  }
  return !after_joint;
}

bool is_kind_pattern(std::string_view text) noexcept {
  if (text.ends_with(any_rest))
    text.remove_suffix(any_rest.size());
  return is_command_kind(text);
}

bool allows_kind(const std::vector<std::string>& allowed,
                 std::string_view kind) noexcept {
  return allowed.empty() ||
         std::ranges::any_of(
             allowed, [kind](const auto& one) { return covers(one, kind); });
}

}  // namespace bc::events
