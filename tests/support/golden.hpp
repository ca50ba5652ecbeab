#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

/// Texts kept in tests/golden/, so that a change of what leaves the program is
/// seen in review.
namespace bc::testing {

/// Compares `actual` with tests/golden/<relative_path>, a newline at the end
/// aside. BC_UPDATE_GOLDEN=1 writes the file instead; never where CI is set.
inline void check_golden(const std::string& relative_path,
                         const std::string& actual) {
  auto path =
      std::filesystem::path{BC_SOURCE_DIR} / "tests/golden" / relative_path;
  const char* update = std::getenv("BC_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view{update} == "1") {
    if (std::getenv("CI") != nullptr) {
      FAIL("goldens are not refreshed in CI");
      return;
    }
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << actual << '\n';
    return;
  }
  std::ifstream file{path, std::ios::binary};
  INFO("golden file " << path.string() << " (refresh with BC_UPDATE_GOLDEN=1)");
  REQUIRE(file.is_open());
  std::ostringstream text;
  text << file.rdbuf();
  auto expected = text.str();
  if (!expected.empty() && expected.back() == '\n')
    expected.pop_back();
  CHECK(expected == actual);
}

}  // namespace bc::testing
