// RapidJSON's own regex knows no (?:…). Defining this macro, to anything,
// chooses std::regex; defining RAPIDJSON_SCHEMA_USE_STDREGEX too would choose
// none and skip every pattern without a word.
#define RAPIDJSON_SCHEMA_USE_INTERNALREGEX 0

#include "actors/api/schema_check.hpp"

#include "schema/embedded.hpp"

#include <rapidjson/pointer.h>
#include <rapidjson/schema.h>

#include <map>
#include <memory>
#include <string>

static_assert(RAPIDJSON_SCHEMA_USE_STDREGEX == 1);

namespace bc::actors::api {

namespace {

class compiled {
 public:
  explicit compiled(json::document text)
      : text_(std::move(text)), schema_(text_) {}

  result<void> check(const json::document& input) const;

 private:
  json::document text_;
  rapidjson::SchemaDocument schema_;
};

std::string text_of(const rapidjson::Pointer& pointer) {
  rapidjson::StringBuffer buffer;
  pointer.Stringify(buffer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string text_in(const json::value& object, const char* name) {
  auto it = object.FindMember(name);
  if (it == object.MemberEnd())
    return {};
  return it->value.IsString() ? it->value.GetString()
                              : json::to_text(it->value);
}

// The first required name the input lacks; `path` leads to the object.
std::string missing_name(const json::value& rule, const json::document& input,
                         const std::string& path) {
  const auto* object = rapidjson::Pointer{path.c_str(), path.size()}.Get(input);
  auto required = rule.FindMember("required");
  if (!object || !object->IsObject() || required == rule.MemberEnd())
    return {};
  for (const auto& name : required->value.GetArray())
    if (!object->HasMember(name))
      return name.GetString();
  return {};
}

std::string type_message(std::string_view type) {
  if (type == "integer")
    return "must be an integer without fraction or exponent";
  if (type == "boolean")
    return "must be true or false";
  if (type == "object" || type == "array")
    return "must be an " + std::string{type};
  return "must be a " + std::string{type};
}

std::string enum_message(const json::value& rule) {
  std::string names;
  for (const auto& name : rule["enum"].GetArray())
    names += (names.empty() ? "" : ", ") + std::string{name.GetString()};
  return "must be one of: " + names;
}

std::string message_for(std::string_view keyword, const json::value& rule) {
  auto limit = text_in(rule, std::string{keyword}.c_str());
  if (keyword == "type")
    return type_message(limit);
  if (keyword == "additionalProperties")
    return "is not a field of this call";
  if (keyword == "pattern")
    return "must match " + limit;
  if (keyword == "enum")
    return enum_message(rule);
  if (keyword == "minimum")
    return "must be at least " + limit;
  if (keyword == "maximum")
    return "must be at most " + limit;
  if (keyword == "minLength")
    return "must have at least " + limit + " characters";
  if (keyword == "maxLength")
    return "must have at most " + limit + " characters";
  if (keyword == "minItems")
    return "must hold at least " + limit;
  if (keyword == "maxItems")
    return "must hold at most " + limit;
  if (keyword == "minProperties")
    return "must name at least " + limit + " field";
  if (keyword == "uniqueItems")
    return "is there already";
  return "does not fit " + std::string{keyword};
}

result<void> compiled::check(const json::document& input) const {
  // maxLength is judged before the pattern, so no regex runs on a long text.
  rapidjson::SchemaValidator validator{schema_};
  if (input.Accept(validator))
    return ok();
  auto path = text_of(validator.GetInvalidDocumentPointer());
  const auto* keyword = validator.GetInvalidSchemaKeyword();
  const auto* rule = validator.GetInvalidSchemaPointer().Get(text_);
  if (!keyword || !rule)
    return fail(errc::invalid_input, "does not fit the schema", path);
  if (std::string_view{keyword} == "required") {
    path += "/" + missing_name(*rule, input, path);
    return fail(errc::invalid_input, "is missing", path);
  }
  return fail(errc::invalid_input, message_for(keyword, *rule), path);
}

using table =
    std::map<std::string, std::unique_ptr<const compiled>, std::less<>>;

table compile_all() {
  constexpr std::string_view folder = "api/";
  table schemas;
  for (const auto& file : schema::files) {
    // Answers are not judged here.
    if (!file.name.starts_with(folder) ||
        file.name.find('/', folder.size()) != file.name.npos)
      continue;
    auto text = json::parse_object(file.text);
    if (!text)
      continue;  // no schema is INTERNAL below, and a test reads every one
    schemas.emplace(file.name.substr(folder.size()),
                    std::make_unique<const compiled>(std::move(text).value()));
  }
  return schemas;
}

}  // namespace

result<void> check_input(std::string_view group, std::string_view method,
                         const json::document& input) {
  static const table schemas = compile_all();
  auto name = std::string{group} + "." + std::string{method} + ".json";
  auto it = schemas.find(name);
  if (it == schemas.end())
    return fail(errc::internal, "no schema " + name);
  return it->second->check(input);
}

}  // namespace bc::actors::api
