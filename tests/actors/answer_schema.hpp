#pragma once

// As in actors/api/schema_check.cpp: std::regex, in every file of a program.
#define RAPIDJSON_SCHEMA_USE_INTERNALREGEX 0

#include "base/errc.hpp"
#include "base/json.hpp"
#include "schema/embedded.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/pointer.h>
#include <rapidjson/schema.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Answers held against schema/api/answers/. What the schemas leave open for
/// later releases is closed here: a field that no schema names is a fault.
namespace bc::api_test {

class answer_schema {
 public:
  /// Of a file under schema/; nullptr when there is none.
  static const answer_schema* of(const std::string& file) {
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

  answer_schema(const std::string& file, std::string_view text) {
    auto read = json::parse_object(text);
    REQUIRE(read);
    if (auto codes = json::reader{read.value()}.texts_or_none("x-errors"))
      errors_ = codes.value();
    flat_.CopyFrom(flat(read.value(), file), flat_.GetAllocator());
    compiled_.emplace(flat_);
  }

  /// The place and the rule that a text breaks; empty when it fits.
  [[nodiscard]] std::string fault_of(const std::string& answer) const {
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

  /// Codes beside those that any method may answer.
  [[nodiscard]] const std::vector<std::string>& errors() const {
    return errors_;
  }

 private:
  using memory = json::document::AllocatorType;

  // In one object and without references, so that it can be closed.
  json::value flat(const json::value& v, const std::string& file) {
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

  json::value referred(std::string_view ref, const std::string& file) {
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

  static std::string beside(const std::string& file, std::string_view path) {
    if (path.empty())
      return file;
    auto folder = file.substr(0, file.rfind('/'));
    for (; path.starts_with("../"); path.remove_prefix(3)) {
      auto slash = folder.rfind('/');
      folder = slash == std::string::npos ? "" : folder.substr(0, slash);
    }
    return (folder.empty() ? "" : folder + "/") + std::string{path};
  }

  static bool is_record(const json::value& v) {
    auto it = v.FindMember("properties");
    // A property may have this name too.
    return it != v.MemberEnd() && v.HasMember("type") && v["type"].IsString();
  }

  void merge(json::value& into, json::value part) {
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

  json::document flat_;
  std::vector<std::string> errors_;
  std::optional<rapidjson::SchemaDocument> compiled_;
};

/// A code any method may answer.
inline bool is_common(errc code) {
  return code != errc::conflict && code != errc::already_exists &&
         code != errc::invalid_state && code != errc::rate_limited &&
         code != errc::invalid_config;
}

/// Fails when the answer of a method ("sites.create") is not as its schema has
/// it: every field, the status, and which errors it may be.
inline void check_answer(const std::string& method, int status,
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
