#pragma once

#include "base/result.hpp"
#include "tests/support/swapped.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace wire_samples {

using bc::test::swapped;

/// INVALID_INPUT that names this field.
template <class T>
void check_bad(const bc::result<T>& got, const std::string& path) {
  REQUIRE_FALSE(got);
  CHECK(got.error().code == bc::errc::invalid_input);
  CHECK(got.error().path == path);
}

}  // namespace wire_samples
