#pragma once

#include <boost/system/error_code.hpp>

#include <string>

namespace bc::gateway {

/// What the system says about an error, as the end of one of our sentences.
[[nodiscard]] inline std::string reason_of(
    const boost::system::error_code& ec) {
  auto text = ec.message();
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' &&
      !(text[1] >= 'A' && text[1] <= 'Z'))
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace bc::gateway
