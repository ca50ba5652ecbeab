#include "base/json.hpp"

#include "base/encoding.hpp"
#include "base/secret_bytes.hpp"

#include <boost/container/small_vector.hpp>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <unordered_set>

namespace bc::json {

namespace {

// The keys of the objects that are open, the innermost's last. Their texts stay
// where they are.
class open_keys {
 public:
  void open() { levels_.push_back({keys_.size(), nullptr}); }
  void close() {
    keys_.resize(levels_.back().first);
    levels_.pop_back();
  }
  [[nodiscard]] std::size_t depth() const { return levels_.size(); }

  /// False for one that the innermost object has already.
  bool add(std::string_view key) {
    auto& level = levels_.back();
    auto mine = keys_.begin() + static_cast<std::ptrdiff_t>(level.first);
    if (std::find(mine, keys_.end(), key) != keys_.end())
      return false;
    if (keys_.size() - level.first < most_compared) {
      keys_.push_back(key);
      return true;
    }
    if (!level.rest)
      level.rest = std::make_unique<std::unordered_set<std::string_view>>();
    return level.rest->insert(key).second;
  }

 private:
  // Comparing so many is faster than hashing them.
  static constexpr std::size_t most_compared = 16;
  struct level {
    std::size_t first;
    std::unique_ptr<std::unordered_set<std::string_view>> rest;
  };
  // What most texts need is on the stack.
  boost::container::small_vector<std::string_view, 32> keys_;
  boost::container::small_vector<level, 8> levels_;
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
  // RapidJSON's own reading may be the number's neighbour, and what is written
  // of that another's; its exact one reads beyond a table. Meanwhile the stream
  // stands where the number begins.
  bool Double(double v) {
    const char* begin = from->src_;
    const char* end = begin + std::strspn(begin, "+-.0123456789eE");
    double exact = 0;
    auto [stop, failed] = std::from_chars(begin, end, exact);
    return out_.Double(failed == std::errc{} && stop == end ? exact : v);
  }
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
    keys_.close();
    return out_.EndObject(members);
  }
  bool StartArray() { return open() && out_.StartArray(); }
  bool EndArray(size elements) {
    keys_.close();
    return out_.EndArray(elements);
  }

  std::string problem;
  const rapidjson::InsituStringStream* from = nullptr;

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
    if (keys_.add(key))
      return true;
    problem = "the key \"" + std::string{key} + "\" is given twice";
    return false;
  }
  bool open() {
    if (keys_.depth() >= static_cast<std::size_t>(max_depth)) {
      problem = "more than 32 levels";
      return false;
    }
    keys_.open();
    return true;
  }

  document& out_;
  open_keys keys_;  // an array is a level without keys
};

// Reads by recursion, which the builder ends at max_depth, and in place, which
// is the fastest: `text` is of no use after it. RapidJSON's own check of the
// encoding reads past the end of a text that is cut off within a character.
rapidjson::ParseResult read(char* text, strict_builder& into) {
  rapidjson::InsituStringStream from{text};
  into.from = &from;
  auto outcome =
      rapidjson::Reader{}.Parse<rapidjson::kParseInsituFlag>(from, into);
  into.from = nullptr;
  return outcome;
}

// RapidJSON's usual 64 KB for each document cost malloc more than all the rest
// of a small one.
std::size_t memory_for(std::string_view text) {
  return std::min<std::size_t>(4 * text.size() + 256, 65536);
}

void take_memory_for(document& doc, std::string_view text) {
  auto& pool = doc.GetAllocator();
  std::destroy_at(&pool);
  std::construct_at(&pool, memory_for(text));
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

result<void> read_into(document& doc, std::string_view text) {
  // RapidJSON takes a NUL for the end and would not see what follows it.
  if (auto nul = text.find('\0'); nul != std::string_view::npos)
    return fail(errc::invalid_input,
                "not valid JSON at byte " + std::to_string(nul) + ": a NUL");
  strict_builder builder{doc};
  rapidjson::ParseResult outcome;
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
  return ok();
}

result<void> check_object(const document& doc) {
  if (!doc.IsObject())
    return fail(errc::invalid_input, "not a JSON object");
  return ok();
}

}  // namespace

result<document> parse(std::string_view text) {
  document doc;
  take_memory_for(doc, text);
  BC_TRYV(read_into(doc, text));
  return doc;
}

result<document> parse_object(std::string_view text) {
  BC_TRY(doc, parse(text));
  BC_TRYV(check_object(doc));
  return std::move(doc);
}

brief_object::brief_object(std::string_view text)
    : pool_{memory_, sizeof memory_, memory_for(text)},
      doc_{rapidjson::kObjectType, &pool_},
      outcome_{ok()} {
  if (text == "{}")  // most of them, and not worth a parser
    return;
  outcome_ = read_into(doc_, text);
  if (outcome_)
    outcome_ = check_object(doc_);
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

result<std::string_view> reader::text_view(std::string_view name) const {
  BC_TRY(v, find(name));
  if (!v->IsString())
    return invalid("must be a string", path_of(name));
  return std::string_view{v->GetString(), v->GetStringLength()};
}

result<std::string> reader::text(std::string_view name) const {
  BC_TRY(v, text_view(name));
  return std::string{v};
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
  BC_TRY(v, text_view(name));
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
