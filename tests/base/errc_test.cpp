// spec: DESIGN section 10 (codes and HTTP status)
#include "base/errc.hpp"

#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("errc: the catalogue's codes and statuses are as published") {
  std::string text;
  for (auto code : {
#define BC_X(name, wire, status) errc::name,
           BC_ERRC(BC_X)
#undef BC_X
       }) {
    text += std::string{wire_text(code)} + " " +
            std::to_string(http_status(code)) + "\n";
  }
  text.pop_back();
  testing::check_golden("base/errc.txt", text);
}

TEST_CASE("errc: a wire text names its code; an unknown one is INTERNAL") {
  for (auto code : {errc::invalid_input, errc::unavailable, errc::conflict})
    CHECK(errc_of(wire_text(code)) == code);
  CHECK(errc_of("NO_SUCH_CODE") == errc::internal);
  CHECK(errc_of("invalid_input") == errc::internal);
}
