#include "tests/actors/answer_schema.hpp"

#include <rapidjson/pointer.h>

#include <algorithm>
#include <map>
#include <memory>

namespace bc::api_test {

const answer_schema* answer_schema::of(const std::string& file) {
  static std::map<std::string, std::unique_ptr<const answer_schema>> known;
  auto it = known.find(file);
  if (it == known.end()) {
    auto text = schema::text_of(file);
    auto made = text.empty()
                    ? nullptr
                    : std::make_unique<const answer_schema>(file, text);
    it = known.emplace(file, std::move(made)).first;
  }
  return it->second.get();
}

answer_schema::answer_schema(const std::string& file, std::string_view text) {
  auto read = json::parse_object(text);
  REQUIRE(read);
  if (auto codes = json::reader{read.value()}.texts_or_none("x-errors"))
    errors_ = codes.value();
  flat_.CopyFrom(flat(read.value(), file), flat_.GetAllocator());
  compiled_.emplace(flat_);
}

std::string answer_schema::fault_of(const std::string& answer) const {
  auto read = json::parse_object(answer);
  if (!read)
    return "no JSON object";
  rapidjson::SchemaValidator judge{*compiled_};
  if (read.value().Accept(judge))
    return {};
  rapidjson::StringBuffer where;
  judge.GetInvalidDocumentPointer().Stringify(where);
  return std::string{where.GetString()} + " breaks " +
         judge.GetInvalidSchemaKeyword();
}

const std::vector<std::string>& answer_schema::errors() const {
  return errors_;
}

json::value answer_schema::flat(const json::value& v, const std::string& file) {
  if (v.IsObject() && v.HasMember("$ref"))
    return referred(v["$ref"].GetString(), file);
  auto& m = flat_.GetAllocator();
  if (v.IsArray()) {
    json::value out{rapidjson::kArrayType};
    for (const auto& item : v.GetArray())
      out.PushBack(flat(item, file), m);
    return out;
  }
  if (!v.IsObject())
    return json::value{v, m};
  json::value out{rapidjson::kObjectType};
  for (const auto& member : v.GetObject())
    if (std::string_view{member.name.GetString()} != "allOf")
      out.AddMember(json::value{member.name, m}, flat(member.value, file), m);
  if (auto parts = v.FindMember("allOf"); parts != v.MemberEnd())
    for (const auto& part : parts->value.GetArray())
      merge(out, flat(part, file));
  if (is_record(out) && !out.HasMember("additionalProperties"))
    out.AddMember("additionalProperties", false, m);
  return out;
}

json::value answer_schema::referred(std::string_view ref,
                                    const std::string& file) {
  auto mark = std::min(ref.find('#'), ref.size());
  auto other = beside(file, ref.substr(0, mark));
  auto text = json::parse_object(schema::text_of(other));
  INFO(file << " refers to " << ref);
  REQUIRE(text);
  const auto* found =
      rapidjson::Pointer{
          std::string{ref.substr(std::min(mark + 1, ref.size()))}.c_str()}
          .Get(text.value());
  REQUIRE(found);
  return flat(*found, other);
}

std::string answer_schema::beside(const std::string& file,
                                  std::string_view path) {
  if (path.empty())
    return file;
  auto folder = file.substr(0, file.rfind('/'));
  for (; path.starts_with("../"); path.remove_prefix(3)) {
    auto slash = folder.rfind('/');
    folder = slash == std::string::npos ? "" : folder.substr(0, slash);
  }
  return (folder.empty() ? "" : folder + "/") + std::string{path};
}

bool answer_schema::is_record(const json::value& v) {
  auto it = v.FindMember("properties");
  // A property may have this name too.
  return it != v.MemberEnd() && v.HasMember("type") && v["type"].IsString();
}

void answer_schema::merge(json::value& into, json::value part) {
  auto& m = flat_.GetAllocator();
  into.RemoveMember("additionalProperties");
  for (const char* list : {"properties", "required"}) {
    auto from = part.FindMember(list);
    if (from == part.MemberEnd())
      continue;
    if (!into.HasMember(list)) {
      into.AddMember(json::value{list, m}, from->value, m);
    } else if (from->value.IsArray()) {
      for (auto& item : from->value.GetArray())
        into[list].PushBack(item, m);
    } else {
      for (auto& p : from->value.GetObject()) {
        INFO("two parts of one schema name " << p.name.GetString());
        REQUIRE(!into[list].HasMember(p.name));
        into[list].AddMember(p.name, p.value, m);
      }
    }
  }
  if (!into.HasMember("type"))
    into.AddMember("type", "object", m);
}

bool is_common(errc code) {
  return code != errc::conflict && code != errc::already_exists &&
         code != errc::invalid_state && code != errc::rate_limited &&
         code != errc::invalid_config;
}

void check_answer(const std::string& method, int status,
                  const std::string& text) {
  INFO(method << " answered " << status << " " << text);
  const auto* own = answer_schema::of("api/answers/" + method + ".json");
  if (status == 200) {
    INFO("schema/api/answers/" << method << ".json");
    REQUIRE(own);
    CHECK(own->fault_of(text) == "");
    return;
  }
  const auto* error = answer_schema::of("api/answers/error.json");
  REQUIRE(error);
  CHECK(error->fault_of(text) == "");
  auto doc = json::parse_object(text);
  REQUIRE(doc);
  std::string name = doc.value()["error"]["code"].GetString();
  auto code = errc_of(name);
  CHECK((status == 413 ? code == errc::invalid_input
                       : status == http_status(code)));
  // What no method answers has no schema: there, NOT_FOUND.
  const bool own_error = own && std::ranges::count(own->errors(), name) > 0;
  CHECK((is_common(code) || own_error));
}

}  // namespace bc::api_test
