#pragma once

#include <string_view>

namespace bc {

/// The one error catalogue: enumerator, wire text, HTTP status. Everything that
/// names a code on a wire reads it from here (spec: DESIGN section 10).
#define BC_ERRC(X)                           \
  X(invalid_input, "INVALID_INPUT", 400)     \
  X(unauthenticated, "UNAUTHENTICATED", 401) \
  X(access_denied, "ACCESS_DENIED", 403)     \
  X(not_found, "NOT_FOUND", 404)             \
  X(conflict, "CONFLICT", 409)               \
  X(already_exists, "ALREADY_EXISTS", 409)   \
  X(invalid_state, "INVALID_STATE", 409)     \
  X(rate_limited, "RATE_LIMITED", 429)       \
  X(invalid_config, "INVALID_CONFIG", 500)   \
  X(internal, "INTERNAL", 500)               \
  X(unavailable, "UNAVAILABLE", 503)

enum class errc {
#define BC_X(name, text, status) name,
  BC_ERRC(BC_X)
#undef BC_X
};

/// The code's text on every wire, for example "INVALID_INPUT".
[[nodiscard]] std::string_view wire_text(errc code) noexcept;

/// The code of a wire text; INTERNAL for one that is not in the catalogue.
[[nodiscard]] errc errc_of(std::string_view text) noexcept;

/// The HTTP status an answer with this code has.
[[nodiscard]] int http_status(errc code) noexcept;

}  // namespace bc
