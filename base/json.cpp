#include "base/json.hpp"

#include "base/encoding.hpp"
#include "base/secret_bytes.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

namespace bc::json {

namespace {

// The keys of one object so far, whose texts stay where they are.
class object_keys {
 public:
  /// False for one that is there already.
  bool add(std::string_view key) {
    if (std::find(few_.begin(), few_.end(), key) != few_.end())
      return false;
    if (few_.size() < most_compared) {
      few_.push_back(key);
      return true;
    }
    return rest_.insert(key).second;
  }

 private:
  // Comparing so many is faster than hashing them.
  static constexpr std::size_t most_compared = 16;
  std::vector<std::string_view> few_;
  std::unordered_set<std::string_view> rest_;
};

// Builds the document as the text is read; the first that breaks a rule ends
// the reading, so that a hostile text costs no more than its good part.
class strict_builder {
 public:
  using size = rapidjson::SizeType;

  explicit strict_builder(document& out) : out_(out) {}

  bool Null() { return out_.Null(); }
  bool Bool(bool v) { return out_.Bool(v); }
  bool Int(int v) { return out_.Int(v); }
  bool Uint(unsigned v) { return out_.Uint(v); }
  bool Int64(std::int64_t v) { return out_.Int64(v); }
  bool Uint64(std::uint64_t v) { return out_.Uint64(v); }
  bool Double(double v) { return out_.Double(v); }
  bool RawNumber(const char* text, size n, bool copy) {
    return out_.RawNumber(text, n, copy);
  }
  // Copied: a value that is copied from the document must own its strings.
  bool String(const char* text, size n, bool) {
    return is_allowed({text, n}) && out_.String(text, n, true);
  }
  bool Key(const char* text, size n, bool) {
    return is_allowed({text, n}) && is_new({text, n}) &&
           out_.Key(text, n, true);
  }
  bool StartObject() { return open() && out_.StartObject(); }
  bool EndObject(size members) {
    levels_.pop_back();
    return out_.EndObject(members);
  }
  bool StartArray() { return open() && out_.StartArray(); }
  bool EndArray(size elements) {
    levels_.pop_back();
    return out_.EndArray(elements);
  }

  std::string problem;

 private:
  // An escape may name a NUL, or half a surrogate pair, which is not UTF-8.
  bool is_allowed(std::string_view text) {
    if (text.find('\0') != std::string_view::npos)
      problem = "a string holds a NUL";
    else if (!is_utf8(text))
      problem = "a string is not UTF-8";
    return problem.empty();
  }
  bool is_new(std::string_view key) {
    if (levels_.back().add(key))
      return true;
    problem = "the key \"" + std::string{key} + "\" is given twice";
    return false;
  }
  bool open() {
    if (levels_.size() >= static_cast<std::size_t>(max_depth)) {
      problem = "more than 32 levels";
      return false;
    }
    levels_.emplace_back();
    return true;
  }

  document& out_;
  std::vector<object_keys> levels_;  // of an array: without keys
};

// Reads by recursion, which the builder ends at max_depth, and in place, which
// is the fastest: `text` is of no use after it. RapidJSON's own check of the
// encoding reads past the end of a text that is cut off within a character.
rapidjson::ParseResult read(char* text, strict_builder& into) {
  rapidjson::InsituStringStream from{text};
  return rapidjson::Reader{}.Parse<rapidjson::kParseInsituFlag>(from, into);
}

// RapidJSON's usual 64 KB for each document cost malloc more than all the rest
// of a small one.
void take_memory_for(document& doc, std::string_view text) {
  auto& pool = doc.GetAllocator();
  std::destroy_at(&pool);
  std::construct_at(&pool, std::min<std::size_t>(4 * text.size() + 256, 65536));
}

// A copy to parse in place. Some documents hold keys (pki/bundle_seal.cpp), and
// their texts are wiped: so is this one.
struct scratch {
  explicit scratch(std::string_view from) : text(from) {}
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { wipe(text.data(), text.size()); }
  std::string text;
};

fault invalid(std::string message, std::string path) {
  return fail(errc::invalid_input, std::move(message), std::move(path));
}

}  // namespace

result<document> parse(std::string_view text) {
  // RapidJSON takes a NUL for the end and would not see what follows it.
  if (auto nul = text.find('\0'); nul != std::string_view::npos)
    return fail(errc::invalid_input,
                "not valid JSON at byte " + std::to_string(nul) + ": a NUL");
  document doc;
  strict_builder builder{doc};
  rapidjson::ParseResult outcome;
  take_memory_for(doc, text);
  scratch copy{text};
  auto read_text = [&](auto&) {
    outcome = read(copy.text.data(), builder);
    return !outcome.IsError();
  };
  doc.Populate(read_text);
  if (outcome.IsError()) {
    auto why = builder.problem.empty()
                   ? std::string{rapidjson::GetParseError_En(outcome.Code())}
                   : builder.problem;
    return fail(errc::invalid_input, "not valid JSON at byte " +
                                         std::to_string(outcome.Offset()) +
                                         ": " + why);
  }
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
