#pragma once

#include "base/errc.hpp"

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/try.hpp>

#include <string>
#include <utility>

// The only place that spells Boost.Outcome.

namespace bc {

/// Why something did not happen. `message` may be shown to the caller;
/// `path` names the offending input field (JSON pointer form, for
/// INVALID_INPUT); `detail` is for the server's log and never leaves it.
struct fault {
  errc code = errc::internal;
  std::string message;
  std::string path;
  std::string detail;
};

template <class T = void>
using result = BOOST_OUTCOME_V2_NAMESPACE::basic_result<
    T, fault, BOOST_OUTCOME_V2_NAMESPACE::policy::terminate>;

/// A fault to return from a function that answers a result.
[[nodiscard]] inline fault fail(errc code, std::string message,
                                std::string path = {},
                                std::string detail = {}) {
  return fault{code, std::move(message), std::move(path), std::move(detail)};
}

[[nodiscard]] inline auto ok() noexcept {
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

}  // namespace bc

/// BC_TRY(x, expr): declares x with expr's value, or returns its fault.
/// BC_TRYV(expr): the same for result<void>.
#define BC_TRY(var, ...) BOOST_OUTCOME_TRY(var, __VA_ARGS__)
#define BC_TRYV(...) BOOST_OUTCOME_TRYV(__VA_ARGS__)
