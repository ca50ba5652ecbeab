#include "base/json.hpp"

#include "base/encoding.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <unordered_set>

namespace bc::json {

namespace {

// Walks the text once before a document is built, so that a hostile text is
// turned away before it costs memory.
class shape_check
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, shape_check> {
 public:
  bool Default() { return true; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return no_nul(text, size);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (!no_nul(text, size))
      return false;
    if (!keys_.back().insert(std::string{text, size}).second) {
      problem = "the key \"" + std::string{text, size} + "\" is given twice";
      return false;
    }
    return true;
  }
  bool StartObject() { return open(); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  std::string problem;

 private:
  bool no_nul(const char* text, rapidjson::SizeType size) {
    if (std::string_view{text, size}.find('\0') == std::string_view::npos)
      return true;
    problem = "a string holds a NUL";
    return false;
  }
  bool open() {
    if (keys_.size() >= static_cast<std::size_t>(max_depth)) {
      problem = "more than 32 levels";
      return false;
    }
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::unordered_set<std::string>> keys_;
};

constexpr unsigned flags =
    rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;

fault invalid(std::string message, std::string path) {
  return fail(errc::invalid_input, std::move(message), std::move(path));
}

}  // namespace

result<document> parse(std::string_view text) {
  // RapidJSON takes a NUL for the end and would not see what follows it.
  if (auto nul = text.find('\0'); nul != std::string_view::npos)
    return fail(errc::invalid_input,
                "not valid JSON at byte " + std::to_string(nul) + ": a NUL");
  shape_check check;
  rapidjson::Reader walker;
  rapidjson::MemoryStream first{text.data(), text.size()};
  auto outcome = walker.Parse<flags>(first, check);
  if (outcome.IsError()) {
    auto why = check.problem.empty()
                   ? std::string{rapidjson::GetParseError_En(outcome.Code())}
                   : check.problem;
    return fail(errc::invalid_input, "not valid JSON at byte " +
                                         std::to_string(outcome.Offset()) +
                                         ": " + why);
  }
  document doc;
  doc.Parse<flags>(text.data(), text.size());
  if (doc.HasParseError())
    return fail(errc::invalid_input, "not valid JSON");
  return doc;
}

result<document> parse_object(std::string_view text) {
  BC_TRY(doc, parse(text));
  if (!doc.IsObject())
    return fail(errc::invalid_input, "not a JSON object");
  return std::move(doc);
}

bool reader::has(std::string_view name) const {
  value key{rapidjson::StringRef(name.data(), name.size())};
  return object_.FindMember(key) != object_.MemberEnd();
}

result<const value*> reader::find(std::string_view name) const {
  value key{rapidjson::StringRef(name.data(), name.size())};
  auto it = object_.FindMember(key);
  if (it == object_.MemberEnd())
    return invalid("is missing", path_of(name));
  return &it->value;
}

result<std::string> reader::text(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsString())
    return invalid("must be a string", path_of(name));
  return std::string{v->GetString(), v->GetStringLength()};
}

result<std::int64_t> reader::integer(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsInt64())
    return invalid("must be an integer", path_of(name));
  return v->GetInt64();
}

result<bool> reader::boolean(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsBool())
    return invalid("must be true or false", path_of(name));
  return v->GetBool();
}

result<bytes> reader::base64(std::string_view name) const {
  BC_TRY(v, text(name));
  auto decoded = from_base64(v);
  if (!decoded)
    return invalid("must be base64", path_of(name));
  return decoded;
}

result<reader> reader::object(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsObject())
    return invalid("must be an object", path_of(name));
  return reader{*v, path_of(name)};
}

result<std::vector<std::string>> reader::texts(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsArray())
    return invalid("must be an array", path_of(name));
  std::vector<std::string> out;
  for (const auto& item : v->GetArray()) {
    if (!item.IsString())
      return invalid("must be a string",
                     path_of(name) + "/" + std::to_string(out.size()));
    out.emplace_back(item.GetString(), item.GetStringLength());
  }
  return out;
}

result<std::optional<std::string>> reader::optional_text(
    std::string_view name) const {
  if (!has(name))
    return std::optional<std::string>{};
  BC_TRY(v, text(name));
  return std::optional{std::move(v)};
}

result<std::optional<std::int64_t>> reader::optional_integer(
    std::string_view name) const {
  if (!has(name))
    return std::optional<std::int64_t>{};
  BC_TRY(v, integer(name));
  return std::optional{v};
}

result<bool> reader::boolean_or(std::string_view name, bool fallback) const {
  return has(name) ? boolean(name) : result<bool>{fallback};
}

result<std::vector<std::string>> reader::texts_or_none(
    std::string_view name) const {
  return has(name)
             ? texts(name)
             : result<std::vector<std::string>>{std::vector<std::string>{}};
}

std::string to_text(const value& v) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> out{buffer};
  v.Accept(out);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace bc::json
