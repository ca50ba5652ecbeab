#pragma once

#include "base/json.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/pointer.h>
#include <rapidjson/prettywriter.h>

#include <set>
#include <string>
#include <string_view>

/// For tests of the documents that describe the product.
namespace bc::gateway_test {

inline const json::value* find_at(const json::value& v,
                                  const std::string& pointer) {
  return rapidjson::Pointer{pointer.c_str()}.Get(v);
}

/// The value at a JSON pointer, a string without its quotes; it must be there.
inline std::string text_at(const json::value& v, const std::string& pointer) {
  INFO(pointer);
  const auto* found = find_at(v, pointer);
  REQUIRE(found);
  return found->IsString() ? found->GetString() : json::to_text(*found);
}

inline std::string pretty(const json::value& v) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> out{buffer};
  out.SetIndent(' ', 1);
  v.Accept(out);
  return buffer.GetString();
}

inline void collect_refs(const json::value& v, std::set<std::string>& refs) {
  if (v.IsArray())
    for (const auto& item : v.GetArray())
      collect_refs(item, refs);
  if (!v.IsObject())
    return;
  for (const auto& m : v.GetObject()) {
    if (std::string_view{m.name.GetString()} == "$ref")
      refs.insert(m.value.GetString());
    collect_refs(m.value, refs);
  }
}

/// Every $ref of a document, wherever it stands, leads to a part of it.
inline void check_refs(const json::value& document) {
  std::set<std::string> refs;
  collect_refs(document, refs);
  CHECK(refs.size() > 20);
  for (const auto& ref : refs) {
    INFO(ref);
    REQUIRE(ref.starts_with("#"));
    CHECK(find_at(document, ref.substr(1)));
  }
}

}  // namespace bc::gateway_test
