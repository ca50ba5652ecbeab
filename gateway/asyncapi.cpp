#include "gateway/asyncapi.hpp"

#include "base/json.hpp"
#include "events/catalog.hpp"
#include "gateway/routes.hpp"
#include "schema/embedded.hpp"

#include <vector>

namespace bc::gateway {

namespace {

constexpr std::string_view folder = "events/";
constexpr std::string_view one_topic = "better-compute.events";
constexpr std::string_view kafka_binding = "0.5.0";
constexpr std::string_view http_binding = "0.3.0";
// Of the components, so that none meets an event type's name.
constexpr std::string_view attributes_name = "cloudevents.attributes";
constexpr std::string_view headers_name = "cloudevents.kafka-headers";
constexpr std::string_view streamed = "stream.";

/// A public event type with its schema.
struct event_form {
  std::string type;
  std::string summary;
  std::string dataschema;  // the schema's $id
  json::document schema;
};

json::document parsed(std::string_view file) {
  auto text = json::parse_object(schema::text_of(file));
  // A test reads every one; an empty schema accepts anything.
  if (!text)
    return json::parse_object("{}").value();
  return std::move(text).value();
}

std::string text_in(const json::document& schema, std::string_view name) {
  auto text = json::reader{schema}.text(name);
  return text ? text.value() : std::string{};
}

std::vector<event_form> read_forms() {
  std::vector<event_form> out;
  for (const auto& t : events::event_types()) {
    if (!t.is_public)
      continue;
    event_form f;
    f.type = t.name;
    f.schema = parsed(std::string{folder} + f.type + ".json");
    f.summary = text_in(f.schema, "description");
    f.dataschema = text_in(f.schema, "$id");
    // Within the document it is named by its place there.
    f.schema.RemoveMember("$id");
    f.schema.RemoveMember("$schema");
    out.push_back(std::move(f));
  }
  return out;
}

void put_ref(json::writer& out, std::string_view place, std::string_view name) {
  out.begin_object();
  out.field("$ref", "#/" + std::string{place} + "/" + std::string{name});
  out.end_object();
}

void put_const(json::writer& out, std::string_view name,
               const std::string& value) {
  out.key(name).begin_object().field("const", value).end_object();
}

void put_info(json::writer& out, std::string_view version) {
  out.key("info").begin_object();
  out.field("title", "better-compute events").field("version", version);
  out.field("description",
            "What was decided, as CloudEvents 1.0. Delivered at least once, in "
            "order for each tenant; an id that comes again is the same event. "
            "A deployment publishes to Kafka in one of two layouts, one topic "
            "for all or one for each type, and serves the same events over "
            "HTTP. Fields may be added to an event; anything else is another "
            "version of its schema.");
  out.key("license").begin_object().field("name", "Apache-2.0").end_object();
  out.end_object().field("defaultContentType", "application/json");
}

void put_channel(json::writer& out, std::string_view name,
                 std::string_view address, std::string_view description,
                 const std::vector<std::string>& messages, bool kafka) {
  out.key(name).begin_object();
  out.field("address", address).field("description", description);
  out.key("messages").begin_object();
  for (const auto& m : messages) {
    out.key(m);
    put_ref(out, "components/messages", m);
  }
  out.end_object();
  if (kafka) {
    out.key("bindings").begin_object().key("kafka").begin_object();
    out.field("topic", address).field("bindingVersion", kafka_binding);
    out.end_object().end_object();
  }
  out.end_object();
}

void put_channels(json::writer& out, const std::vector<event_form>& forms) {
  std::vector<std::string> in_kafka, in_stream;
  for (const auto& f : forms) {
    in_kafka.push_back(f.type);
    in_stream.push_back(std::string{streamed} + f.type);
  }
  out.key("channels").begin_object();
  put_channel(out, "events", one_topic,
              "Kafka, layout `single` (the default): every type, each tenant's "
              "events in order. The topic's name begins with the deployment's "
              "prefix.",
              in_kafka, true);
  for (const auto& f : forms)
    put_channel(out, f.type, f.type,
                "Kafka, layout `type`: this type alone, in order for each "
                "tenant. Topics are merged by `sequence`.",
                {f.type}, true);
  put_channel(out, "stream", std::string{base_path} + "/events/stream",
              "HTTP: the caller's tenant's events as server-sent events "
              "(text/event-stream), after the event that Last-Event-ID names.",
              in_stream, false);
  out.end_object();
}

void put_send(json::writer& out, const std::string& name,
              std::string_view channel, std::string_view summary) {
  out.key(name).begin_object().field("action", "send");
  out.key("channel");
  put_ref(out, "channels", channel);
  out.field("summary", summary);
}

void put_text_parameter(json::writer& out, std::string_view name,
                        std::string_view description) {
  out.key(name).begin_object();
  out.field("type", "string").field("description", description);
  out.end_object();
}

void put_operations(json::writer& out, const std::vector<event_form>& forms) {
  out.key("operations").begin_object();
  put_send(out, "publishEvents", "events", "Publishes every public event.");
  out.end_object();
  for (const auto& f : forms) {
    put_send(out, "publish." + f.type, f.type, f.summary);
    out.end_object();
  }
  put_send(out, "streamEvents", "stream",
           "Sends the tenant's events, the stored ones first, then each as it "
           "is committed. `Authorization: Bearer` as for every call.");
  out.key("bindings").begin_object().key("http").begin_object();
  out.field("method", "GET").key("query").begin_object();
  out.field("type", "object").key("properties").begin_object();
  put_text_parameter(out, "type", "Events of this type alone.");
  put_text_parameter(out, "cursor",
                     "An event's id: those after it; \"head\": those to come. "
                     "Without it, from the first. Last-Event-ID wins.");
  put_text_parameter(out, "tenantId", "The caller's own tenant.");
  out.end_object().field("additionalProperties", false).end_object();
  out.field("bindingVersion", http_binding);
  out.end_object().end_object().end_object();
  out.end_object();
}

// The headers are the attributes under Kafka's names for them.
void put_kafka_message(json::writer& out, const event_form& f) {
  out.key(f.type).begin_object();
  out.field("name", f.type).field("summary", f.summary);
  out.field("contentType", "application/json");
  out.key("headers").begin_object().field("type", "object");
  out.key("allOf").begin_array();
  put_ref(out, "components/schemas", headers_name);
  out.begin_object().key("properties").begin_object();
  put_const(out, "ce_type", f.type);
  put_const(out, "ce_dataschema", f.dataschema);
  out.end_object().end_object().end_array().end_object();
  out.key("payload");
  put_ref(out, "components/schemas", f.type);
  out.key("bindings").begin_object().key("kafka").begin_object();
  out.key("key").begin_object().field("type", "string");
  out.field("description", "The tenant's id.").end_object();
  out.field("bindingVersion", kafka_binding);
  out.end_object().end_object().end_object();
}

void put_stream_message(json::writer& out, const event_form& f) {
  out.key(std::string{streamed} + f.type).begin_object();
  out.field("name", f.type).field("summary", f.summary);
  out.field("contentType", "application/cloudevents+json");
  out.field("description",
            "The `data` of a server-sent event whose `event` is the type and "
            "whose `id` is the event's.");
  out.key("payload").begin_object().field("type", "object");
  out.key("allOf").begin_array();
  put_ref(out, "components/schemas", attributes_name);
  out.begin_object().key("properties").begin_object();
  put_const(out, "type", f.type);
  put_const(out, "dataschema", f.dataschema);
  out.key("data");
  put_ref(out, "components/schemas", f.type);
  out.end_object().key("required").begin_array().text("data").end_array();
  out.end_object().end_array().end_object().end_object();
}

void put_headers_schema(json::writer& out, const json::document& attributes) {
  out.key(headers_name).begin_object().field("type", "object");
  out.key("properties").begin_object();
  for (const auto& a : attributes["properties"].GetObject())
    out.key("ce_" + std::string{a.name.GetString()}).raw_value(a.value);
  put_const(out, "content-type", "application/json");
  out.end_object().key("required").begin_array();
  for (const auto& name : attributes["required"].GetArray())
    out.text("ce_" + std::string{name.GetString()});
  out.end_array().end_object();
}

void put_components(json::writer& out, const std::vector<event_form>& forms) {
  auto attributes = parsed("asyncapi/attributes.json");
  out.key("components").begin_object().key("messages").begin_object();
  for (const auto& f : forms) {
    put_kafka_message(out, f);
    put_stream_message(out, f);
  }
  out.end_object().key("schemas").begin_object();
  if (attributes.HasMember("properties") && attributes.HasMember("required")) {
    out.key(attributes_name).raw_value(attributes);
    put_headers_schema(out, attributes);
  }
  for (const auto& f : forms)
    out.key(f.type).raw_value(f.schema);
  out.end_object().end_object();
}

}  // namespace

std::string asyncapi_document(std::string_view version) {
  auto forms = read_forms();
  json::writer out;
  out.begin_object().field("asyncapi", "3.0.0");
  out.field("id", "urn:better-compute:events");
  put_info(out, version);
  put_channels(out, forms);
  put_operations(out, forms);
  put_components(out, forms);
  return out.end_object().str();
}

std::string_view event_schema(std::string_view file) {
  constexpr std::string_view ending = ".json";
  if (!file.ends_with(ending))
    return {};
  auto type =
      events::find_event_type(file.substr(0, file.size() - ending.size()));
  if (!type || !type->is_public)
    return {};
  return schema::text_of(std::string{folder} + std::string{file});
}

}  // namespace bc::gateway
