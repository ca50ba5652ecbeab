#include "gateway/openapi_schemas.hpp"

#include "schema/embedded.hpp"

#include <algorithm>

namespace bc::gateway {

namespace {

constexpr std::string_view ending = ".json";
constexpr std::string_view inputs = "api/";
constexpr std::string_view answers = "api/answers/";
constexpr std::string_view attributes = "asyncapi/attributes.json";
constexpr const char* errors_name = "x-errors";

// Empty for a file that is no component. Methods have a dot in their names,
// records have none.
std::string component_of(std::string_view file) {
  if (file == attributes)
    return "event.attributes";
  if (!file.starts_with(inputs) || !file.ends_with(ending))
    return {};
  file.remove_suffix(ending.size());
  const bool is_answer = file.starts_with(answers);
  std::string name{file.substr(is_answer ? answers.size() : inputs.size())};
  if (!is_answer)
    return name + ".input";
  return name.find('.') == name.npos ? name : name + ".answer";
}

// Of a path within schema/, as a reference in `from` has it.
std::string resolved(std::string_view from, std::string_view path) {
  if (path.empty())
    return std::string{from};
  auto folder = from.substr(0, from.rfind('/'));
  constexpr std::string_view up = "../";
  while (path.starts_with(up)) {
    path.remove_prefix(up.size());
    auto slash = folder.rfind('/');
    folder = slash == folder.npos ? "" : folder.substr(0, slash);
  }
  return folder.empty() ? std::string{path}
                        : std::string{folder} + "/" + std::string{path};
}

// "site.json", "#/definitions/x" and both together.
std::string rebased(std::string_view file, std::string_view ref) {
  auto mark = std::min(ref.find('#'), ref.size());
  auto within = ref.substr(std::min(mark + 1, ref.size()));
  return "#/components/schemas/" +
         component_of(resolved(file, ref.substr(0, mark))) +
         std::string{within};
}

void rebase_all(json::value& v, std::string_view file,
                json::document::AllocatorType& memory) {
  if (v.IsArray())
    for (auto& item : v.GetArray())
      rebase_all(item, file, memory);
  if (!v.IsObject())
    return;
  for (auto& m : v.GetObject()) {
    if (std::string_view{m.name.GetString()} != "$ref") {
      rebase_all(m.value, file, memory);
    } else if (m.value.IsString()) {
      auto place = rebased(file, m.value.GetString());
      m.value.SetString(place.c_str(), memory);
    }
  }
}

std::vector<std::string> take_errors(json::document& schema) {
  auto texts = json::reader{schema}.texts_or_none(errors_name);
  schema.EraseMember(errors_name);
  return texts ? std::move(texts).value() : std::vector<std::string>{};
}

schema_component read(std::string name, const schema::file& file) {
  schema_component out;
  out.name = std::move(name);
  // A test reads every one; an empty schema accepts anything.
  auto text = json::parse_object(file.text);
  out.schema =
      text ? std::move(text).value() : json::parse_object("{}").value();
  if (auto said = json::reader{out.schema}.optional_text("description"))
    out.description = said.value().value_or("");
  out.errors = take_errors(out.schema);
  // The document has one dialect, and names a schema by its place.
  out.schema.EraseMember("$schema");
  out.schema.EraseMember("$id");
  rebase_all(out.schema, file.name, out.schema.GetAllocator());
  return out;
}

}  // namespace

std::vector<schema_component> read_schema_components() {
  std::vector<schema_component> out;
  for (const auto& file : schema::files)
    if (auto name = component_of(file.name); !name.empty())
      out.push_back(read(std::move(name), file));
  return out;
}

}  // namespace bc::gateway
