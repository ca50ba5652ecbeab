#pragma once

#include "base/json.hpp"

#include <string_view>

namespace bc::actors::api {

/// Holds the input of a method against schema/api/<group>.<method>.json;
/// INVALID_INPUT with the path of the first field that breaks it, INTERNAL for
/// a method without a schema.
[[nodiscard]] result<void> check_input(std::string_view group,
                                       std::string_view method,
                                       const json::document& input);

}  // namespace bc::actors::api
