#pragma once

#include <string>
#include <string_view>

namespace bc::gateway {

/// The AsyncAPI 3.0 document of the public events, made from schema/events/:
/// the Kafka channels of both layouts, and the server-sent stream.
[[nodiscard]] std::string asyncapi_document(std::string_view version);

/// The JSON Schema of a public event type, by its file's name
/// ("node.joined.json"); empty for any other. Its $id is what the event's
/// `dataschema` says.
[[nodiscard]] std::string_view event_schema(std::string_view file);

}  // namespace bc::gateway
