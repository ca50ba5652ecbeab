#include "base/text.hpp"

#include <catch2/catch.hpp>

using namespace bc;

TEST_CASE("text: trimmed takes the blanks at the ends alone") {
  CHECK(trimmed(" \t\r\na b\n ") == "a b");
  CHECK(trimmed("") == "");
  CHECK(trimmed(" \n\t\r ") == "");
  // No other white space, whatever the locale.
  CHECK(trimmed("\v\fa\xc2\xa0") == "\v\fa\xc2\xa0");
  CHECK(trimmed("\n a \n", " ") == "\n a \n");
  CHECK(trimmed(" \n ", " \n") == "");
}

TEST_CASE("text: lower-case hexadecimal of one length") {
  CHECK(is_lower_hex("09af", 4));
  CHECK(is_lower_hex("", 0));
  CHECK_FALSE(is_lower_hex("09af", 5));
  CHECK_FALSE(is_lower_hex("09aF", 4));
  CHECK_FALSE(is_lower_hex("09ag", 4));
  CHECK_FALSE(is_lower_hex(" 9af", 4));
}
