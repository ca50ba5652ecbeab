#pragma once

#include "base/result.hpp"
#include "ops/serve/config.hpp"

namespace bc::serve {

/// `better-compute serve`: until SIGINT or SIGTERM; the exit code then.
[[nodiscard]] result<int> run(const serve_config& c);

/// `better-compute gateway`: the same.
[[nodiscard]] result<int> run(const gateway_config& c);

}  // namespace bc::serve
