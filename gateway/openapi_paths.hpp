#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Parts of the OpenAPI document that name no method: the paths read by GET,
/// and what all answers share.
namespace bc::gateway {

/// The tag of the paths read by GET.
inline constexpr std::string_view documents_tag = "documents";

/// The event stream, the documents, health and metrics.
void put_get_paths(json::writer& out);

/// `parameters`, `headers` and `responses` of the components.
void put_shared_parts(json::writer& out);

/// A reference to one of the components.
void put_ref(json::writer& out, std::string_view kind, std::string_view name);

/// Members of one answer: the headers that every one has.
void put_headers(json::writer& out);
/// The answer with an error status that is one of the components.
void put_error(json::writer& out, std::string_view status);
/// An error with one of these codes.
void put_error_schema(json::writer& out, const std::vector<std::string>& codes);

}  // namespace bc::gateway
