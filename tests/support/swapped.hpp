#pragma once

#include <catch2/catch.hpp>

#include <string>

namespace bc::test {

/// The text with the first `part` replaced, which must be there.
inline std::string swapped(std::string text, const std::string& part,
                           const std::string& instead) {
  auto at = text.find(part);
  INFO(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

}  // namespace bc::test
