#pragma once

#include "actors/api/exchange.hpp"

#include <cstdint>
#include <functional>

namespace bc::actors::api {

/// Goes on once the read models show `at_least` and the caller's own last
/// mutation through this process; after 2 s UNAVAILABLE, with the lag. Nothing
/// blocks meanwhile. Where models move with the journal it goes on at once.
void await_models(exchange_ptr x, std::uint64_t at_least,
                  std::function<void()> next);

}  // namespace bc::actors::api
