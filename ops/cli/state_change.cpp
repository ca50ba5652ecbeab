#include "ops/cli/state_change.hpp"

#include "base/json.hpp"

namespace bc::cli {

namespace {

// RFC 6901: "~" and "/" in a name are escaped.
std::string step(std::string_view name) {
  std::string out{"/"};
  for (char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

void flatten(const json::value& v, const std::string& path, flat_state& out) {
  if (v.IsObject() && v.MemberCount() > 0) {
    for (const auto& m : v.GetObject())
      flatten(m.value,
              path + step({m.name.GetString(), m.name.GetStringLength()}), out);
  } else if (v.IsArray() && !v.Empty()) {
    std::size_t i = 0;
    for (const auto& item : v.GetArray())
      flatten(item, path + "/" + std::to_string(i++), out);
  } else {
    out[path] = json::to_text(v);
  }
}

}  // namespace

result<flat_state> flatten(std::string_view object) {
  BC_TRY(doc, json::parse_object(object));
  flat_state out;
  flatten(doc, "", out);
  out.erase("");  // an empty object has no values
  return out;
}

std::vector<state_change> changes(const flat_state& before,
                                  const flat_state& after) {
  std::vector<state_change> out;
  auto add = [&](const std::string& path, const std::string& was,
                 const std::string& is) {
    if (was != is && path != "/version")
      out.push_back({path, was, is});
  };
  auto b = before.begin();
  auto a = after.begin();
  while (b != before.end() || a != after.end()) {
    if (a == after.end() || (b != before.end() && b->first < a->first)) {
      add(b->first, b->second, {});
      ++b;
    } else if (b == before.end() || a->first < b->first) {
      add(a->first, {}, a->second);
      ++a;
    } else {
      add(a->first, b->second, a->second);
      ++a;
      ++b;
    }
  }
  return out;
}

}  // namespace bc::cli
