#pragma once

#include "base/result.hpp"

#include <exception>

namespace bc::actors {

/// No exception of a store's passes this line.
template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    return fail(errc::internal, "The journal failed", {}, e.what());
  }
}

}  // namespace bc::actors
