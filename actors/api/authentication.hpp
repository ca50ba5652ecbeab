#pragma once

#include "actors/api/exchange.hpp"

#include <functional>

namespace bc::actors::api {

/// Sets the exchange's caller from `Authorization: Bearer bck_<id>.<secret>`
/// and goes on; anything else is UNAUTHENTICATED, the same for an unknown
/// credential, a revoked one and a wrong secret.
void authenticate(exchange_ptr x, std::function<void()> next);

}  // namespace bc::actors::api
