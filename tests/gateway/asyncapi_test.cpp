// The document that says what events there are, and the schemas it is made of.

#include "gateway/asyncapi.hpp"

#include "base/json.hpp"
#include "events/catalog.hpp"
#include "gateway/routes.hpp"
#include "tests/gateway/document.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway_test;

TEST_CASE("asyncapi: the document is golden") {
  auto doc = json::parse_object(asyncapi_document("1.2.3"));
  REQUIRE(doc);
  testing::check_golden("gateway/asyncapi.json", pretty(doc.value()));
}

TEST_CASE("asyncapi: every public type is in both layouts and in the stream") {
  auto doc = json::parse_object(asyncapi_document("1"));
  REQUIRE(doc);
  int types = 0;
  for (const auto& t : events::event_types()) {
    std::string name{t.name};
    INFO(name);
    const auto& channels = doc.value()["channels"];
    CHECK(channels.HasMember(name.c_str()) == t.is_public);
    CHECK(channels["events"]["messages"].HasMember(name.c_str()) ==
          t.is_public);
    if (!t.is_public)
      continue;
    ++types;
    CHECK(channels["stream"]["messages"].HasMember(("stream." + name).c_str()));
    CHECK(text_at(doc.value(), "/components/messages/" + name +
                                   "/headers/allOf/1/properties/ce_type/"
                                   "const") == name);
    // Each field that leaves is described.
    for (auto field : t.public_fields)
      CHECK(doc.value()["components"]["schemas"][name.c_str()]["properties"]
                .HasMember(std::string{field}.c_str()));
  }
  CHECK(types > 0);
  CHECK(doc.value()["channels"]["stream"]["messages"].MemberCount() ==
        static_cast<rapidjson::SizeType>(types));
}

TEST_CASE("asyncapi: every reference leads somewhere") {
  auto doc = json::parse_object(asyncapi_document("1"));
  REQUIRE(doc);
  check_refs(doc.value());
}

TEST_CASE("asyncapi: an event's dataschema is the $id of the schema served") {
  for (const auto& t : events::event_types()) {
    INFO(t.name);
    auto text = event_schema(std::string{t.name} + ".json");
    CHECK(text.empty() == !t.is_public);
    if (text.empty())
      continue;
    events::envelope e;
    e.type = t.name;
    e.type_version = t.version;
    e.data = "{}";
    auto event = events::to_public(e, "inc_1", "urn:x");
    REQUIRE(event);
    auto schema = json::parse_object(text);
    REQUIRE(schema);
    CHECK(text_at(json::parse(*event).value(), "/dataschema") ==
          text_at(schema.value(), "/$id"));
    CHECK(text_at(schema.value(), "/title") == t.name);
  }
  CHECK(event_schema("node.joined").empty());
  CHECK(event_schema(".json").empty());
  CHECK(event_schema("../api/events.list.json").empty());
}

TEST_CASE("asyncapi: the attributes are those an event has") {
  auto doc = json::parse_object(asyncapi_document("1"));
  REQUIRE(doc);
  const auto& known =
      doc.value()["components"]["schemas"]["cloudevents.attributes"];
  events::envelope e;
  e.type = "node.adopted";
  e.tenant = "ten_1";
  e.correlation = "req_1";
  e.stream = "node:1";
  e.data = "{}";
  auto event = json::parse(*events::to_public(e, "inc_1", "urn:x"));
  REQUIRE(event);
  rapidjson::SizeType attributes = 0;
  for (const auto& m : event.value().GetObject()) {
    if (std::string_view{m.name.GetString()} == "data")
      continue;
    ++attributes;
    CHECK(known["properties"].HasMember(m.name.GetString()));
  }
  CHECK(known["properties"].MemberCount() == attributes);
  CHECK(doc.value()["components"]["schemas"]["cloudevents.kafka-headers"]
                   ["properties"]
                       .MemberCount() == attributes + 1);
}
