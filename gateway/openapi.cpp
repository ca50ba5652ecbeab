#include "gateway/openapi.hpp"

#include "actors/api/method_table.hpp"
#include "base/json.hpp"
#include "gateway/openapi_paths.hpp"
#include "gateway/openapi_schemas.hpp"
#include "gateway/routes.hpp"

#include <algorithm>
#include <vector>

namespace bc::gateway {

namespace {

using actors::api::method_info;
using components = std::vector<schema_component>;

constexpr std::string_view json_type = "application/json";

const schema_component* find(const components& all, const std::string& name) {
  auto it = std::ranges::find(all, name, &schema_component::name);
  return it == all.end() ? nullptr : &*it;
}

std::string name_of(const method_info& m) {
  return std::string{m.group} + "." + std::string{m.name};
}

void put_content(json::writer& out, const std::string& schema) {
  out.key("content").begin_object().key(json_type).begin_object();
  out.key("schema");
  put_ref(out, "schemas", schema);
  out.end_object().end_object();
}

void put_info(json::writer& out, std::string_view version) {
  out.key("info").begin_object();
  out.field("title", "better-compute API").field("version", version);
  out.field("description",
            "What an operator does: sites, pools and tokens, nodes, and what "
            "was decided. Each call is a POST of a JSON object; its schema is "
            "the one the server judges by, an unknown field is refused. A "
            "credential acts for its own tenant: what another tenant owns is "
            "answered like what does not exist. Answers may get more fields "
            "in a later release. The events are described in asyncapi.json.");
  out.key("license").begin_object().field("name", "Apache-2.0").end_object();
  out.end_object();
  out.key("servers").begin_array().begin_object().field("url", "/");
  out.end_object().end_array();
}

void put_tags(json::writer& out, const std::vector<method_info>& methods) {
  out.key("tags").begin_array();
  std::string_view last;
  for (const auto& m : methods) {
    if (m.group == last)
      continue;
    last = m.group;
    out.begin_object().field("name", last).end_object();
  }
  out.begin_object().field("name", documents_tag).end_object();
  out.end_array();
}

std::string resource_of(const method_info& m) {
  std::string kind{m.resource_kind};
  return kind + (m.field.empty() ? "*" : "{" + std::string{m.field} + "}");
}

std::string description_of(const method_info& m) {
  auto out =
      "Needs `" + std::string{m.action} + "` on `" + resource_of(m) + "`.";
  if (m.root_only)
    out += " The root tenant alone may.";
  if (!m.reads)
    out +=
        " `position` in the answer says where in the journal it stands; a "
        "read that sends it as x-min-position shows it.";
  return out;
}

void put_conflict(json::writer& out, const std::vector<std::string>& codes) {
  std::string text;
  for (const auto& code : codes)
    text += (text.empty() ? "" : " or ") + code;
  out.key("409").begin_object();
  out.field("description", text + ": what is there does not allow it.");
  put_headers(out);
  out.key("content").begin_object().key(json_type).begin_object();
  out.key("schema");
  put_error_schema(out, codes);
  out.end_object().end_object().end_object();
}

void put_responses(json::writer& out, const std::string& name,
                   const schema_component* answer) {
  out.key("responses").begin_object().key("200").begin_object();
  out.field("description", answer ? answer->description : "");
  put_headers(out);
  put_content(out, name + ".answer");
  out.end_object();
  for (auto status : {"400", "401", "403", "404"})
    put_error(out, status);
  if (answer && !answer->errors.empty())
    put_conflict(out, answer->errors);
  for (auto status : {"413", "431", "500", "503"})
    put_error(out, status);
  out.end_object();
}

void put_method(json::writer& out, const method_info& m,
                const components& all) {
  auto name = name_of(m);
  const auto* input = find(all, name + ".input");
  out.key(std::string{base_path} + "/" + std::string{m.group} + "/" +
          std::string{m.name});
  out.begin_object().key("post").begin_object();
  out.field("operationId", name);
  out.field("tags", std::vector<std::string>{std::string{m.group}});
  out.field("summary", input ? input->description : "");
  out.field("description", description_of(m));
  out.key("x-grant").begin_object();
  out.field("action", m.action).field("resource", resource_of(m));
  out.end_object();
  out.field("x-effect", m.reads ? "read" : "change");
  out.key("parameters").begin_array();
  put_ref(out, "parameters", "min-position");
  out.end_array();
  out.key("requestBody").begin_object().field("required", true);
  put_content(out, name + ".input");
  out.end_object();
  put_responses(out, name, find(all, name + ".answer"));
  out.end_object().end_object();
}

void put_components(json::writer& out, const components& all) {
  out.key("components").begin_object();
  out.key("securitySchemes").begin_object().key("bearer").begin_object();
  out.field("type", "http").field("scheme", "bearer");
  out.field("description", "A credential, bck_ID.SECRET.");
  out.end_object().end_object();
  put_shared_parts(out);
  out.key("schemas").begin_object();
  for (const auto& c : all)
    out.key(c.name).raw_value(c.schema);
  out.end_object().end_object();
}

}  // namespace

std::string openapi_document(std::string_view version) {
  const auto methods = actors::api::method_table();
  const auto all = read_schema_components();
  json::writer out;
  out.begin_object().field("openapi", "3.1.0");
  put_info(out, version);
  put_tags(out, methods);
  out.key("security").begin_array().begin_object().key("bearer");
  out.begin_array().end_array().end_object().end_array();
  out.key("paths").begin_object();
  for (const auto& m : methods)
    put_method(out, m, all);
  put_get_paths(out);
  out.end_object();
  put_components(out, all);
  return out.end_object().str();
}

}  // namespace bc::gateway
