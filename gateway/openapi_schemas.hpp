#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bc::gateway {

/// A JSON Schema of schema/api/ or schema/asyncapi/ as a component of the
/// OpenAPI document.
struct schema_component {
  /// "sites.create.input", "sites.create.answer", "site", "event.attributes".
  std::string name;
  std::string description;
  /// Codes of a method's answers beside those that any method may give.
  std::vector<std::string> errors;
  /// Its references lead to other components.
  json::document schema;
};

/// Every one, in the order of the files.
[[nodiscard]] std::vector<schema_component> read_schema_components();

}  // namespace bc::gateway
