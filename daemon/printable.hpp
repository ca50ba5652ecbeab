#pragma once

#include <string>
#include <string_view>

namespace bc::daemon {

/// Text from the other side, for a terminal or a log: at most 200 characters,
/// and nothing that could steer it.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string out{text.substr(0, most)};
  for (char& c : out)
    if (c < ' ' || c > '~')
      c = '?';
  return out;
}

}  // namespace bc::daemon
