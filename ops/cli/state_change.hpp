#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bc::cli {

/// The values of a JSON object by their path ("/token/maxUses"), as JSON texts;
/// arrays by index; empty objects and arrays are values.
using flat_state = std::map<std::string, std::string>;
[[nodiscard]] result<flat_state> flatten(std::string_view object);

/// One value that an event changed; an empty text: it was, or is, not there.
struct state_change {
  std::string path;
  std::string before;
  std::string after;
};
/// In the order of paths; the stream's version is left out.
[[nodiscard]] std::vector<state_change> changes(const flat_state& before,
                                                const flat_state& after);

}  // namespace bc::cli
