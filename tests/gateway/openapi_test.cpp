// The document that says how the API is called (spec: DESIGN section 10).

#include "gateway/openapi.hpp"

#include "actors/api/method_table.hpp"
#include "gateway/routes.hpp"
#include "tests/gateway/document.hpp"
#include "tests/support/golden.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway_test;

namespace {

json::document document() {
  auto doc = json::parse_object(openapi_document("1.2.3"));
  REQUIRE(doc);
  return std::move(doc).value();
}

std::string name_of(const actors::api::method_info& m) {
  return std::string{m.group} + "." + std::string{m.name};
}

const json::value& operation_of(const json::document& doc,
                                const actors::api::method_info& m) {
  auto path = std::string{base_path} + "/" + std::string{m.group} + "/" +
              std::string{m.name};
  INFO(path);
  REQUIRE(doc["paths"].HasMember(path.c_str()));
  return doc["paths"][path.c_str()]["post"];
}

}  // namespace

TEST_CASE("openapi: the document is golden") {
  testing::check_golden("gateway/openapi.json", pretty(document()));
}

TEST_CASE("openapi: every reference leads somewhere") {
  check_refs(document());
}

TEST_CASE("openapi: every method is a path, and every path is described") {
  auto doc = document();
  rapidjson::SizeType posts = 0;
  for (const auto& m : actors::api::method_table()) {
    INFO(name_of(m));
    ++posts;
    const auto& o = operation_of(doc, m);
    CHECK(text_at(o, "/operationId") == name_of(m));
    CHECK(!text_at(o, "/summary").empty());
    CHECK(text_at(o, "/x-grant/action") == m.action);
    CHECK(text_at(o, "/x-effect") == (m.reads ? "read" : "change"));
    CHECK(text_at(o, "/parameters/0/$ref") ==
          "#/components/parameters/min-position");
    auto schemas = "#/components/schemas/" + name_of(m);
    const std::string body = "/content/application~1json/schema/$ref";
    CHECK(text_at(o, "/requestBody" + body) == schemas + ".input");
    CHECK(text_at(o, "/responses/200" + body) == schemas + ".answer");
    CHECK(!text_at(o, "/responses/200/description").empty());
    for (const char* status : {"400", "401", "403", "404", "413", "500", "503"})
      CHECK(o["responses"].HasMember(status));
  }
  for (const auto& p : doc["paths"].GetObject())
    if (p.value.HasMember("post"))
      --posts;
    else
      CHECK(!text_at(p.value, "/get/summary").empty());
  CHECK(posts == 0);
}

TEST_CASE("openapi: an input's schema is the one that judges it") {
  auto doc = document();
  const auto& uses = doc["components"]["schemas"]["joinTokens.create.input"]
                        ["properties"]["maxUses"];
  CHECK(uses["minimum"].GetInt() == 1);
  CHECK(uses["maximum"].GetInt() == 10'000);
  for (const auto& s : doc["components"]["schemas"].GetObject()) {
    INFO(s.name.GetString());
    CHECK(!s.value.HasMember("$schema"));
    CHECK(!s.value.HasMember("x-errors"));
    if (std::string_view{s.name.GetString()}.ends_with(".input"))
      CHECK(s.value["additionalProperties"].IsFalse());
  }
}

TEST_CASE("openapi: what conflicts is named, and stands nowhere else") {
  auto doc = document();
  const auto& paths = doc["paths"];
  const std::string codes =
      "/post/responses/409/content/application~1json/schema/allOf/1"
      "/properties/error/properties/code/enum";
  CHECK(text_at(paths["/api/compute/joinTokens/create"], codes) ==
        R"(["CONFLICT","INVALID_STATE"])");
  CHECK(text_at(paths["/api/compute/tenants/create"], codes) ==
        R"(["ALREADY_EXISTS"])");
  CHECK(!find_at(paths["/api/compute/tenants/list"], codes));
}

TEST_CASE("openapi: what needs no credential says so") {
  auto doc = document();
  CHECK(text_at(doc, "/security") == R"([{"bearer":[]}])");
  for (const auto& p : doc["paths"].GetObject()) {
    INFO(p.name.GetString());
    const bool is_get = p.value.HasMember("get");
    const bool is_stream =
        std::string_view{p.name.GetString()}.ends_with("/stream");
    const auto& o = p.value[is_get ? "get" : "post"];
    CHECK(o.HasMember("security") == (is_get && !is_stream));
    CHECK(o["responses"].HasMember("401") == !o.HasMember("security"));
  }
}
