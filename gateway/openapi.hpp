#pragma once

#include <string>
#include <string_view>

namespace bc::gateway {

/// The OpenAPI 3.1 document of the API listener: the table of methods with the
/// schemas that judge their inputs (schema/api/) and those their answers are
/// tested against (schema/api/answers/), and the paths that are read by GET.
[[nodiscard]] std::string openapi_document(std::string_view version);

}  // namespace bc::gateway
