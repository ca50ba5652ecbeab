#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace bc::postgres::detail {

/// The statement with `?` and `?N` written as `$N`, outside of quotes and
/// comments. A `?` without a number is one more than the largest before it.
[[nodiscard]] std::string numbered(std::string_view sql);

struct failure {
  fault why;
  bool is_fatal = false;  // the connection is of no more use
};

/// libpq words what it cannot do in several lines, which a log would tear
/// apart: in one.
[[nodiscard]] std::string one_line(std::string_view words);

/// What an error of the server means: the SQLSTATE ("" for a connection that
/// broke) and the server's words go into the detail alone.
[[nodiscard]] failure failure_of(std::string_view state,
                                 std::string_view words);

}  // namespace bc::postgres::detail
