#include "ops/cli/cells.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/table.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace bc::cli {

namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;  // after a name
constexpr std::size_t most_columns = 6;

bool has_fields(const json::value& v) {
  return v.IsObject() && !v.ObjectEmpty();
}

bool is_list_of_objects(const json::value& v) {
  return v.IsArray() && !v.Empty() &&
         std::all_of(v.Begin(), v.End(), [](auto& e) { return e.IsObject(); });
}

bool is_flat(const json::value& object) {
  return std::none_of(object.MemberBegin(), object.MemberEnd(), [](auto& m) {
    return m.value.IsObject() || is_list_of_objects(m.value);
  });
}

std::string name_of(const json::value::Member& m) {
  return {m.name.GetString(), m.name.GetStringLength()};
}

// Ids are there to be copied, so never cut.
bool is_id(std::string_view field) {
  return field == "id" || field.ends_with("Id");
}

std::string upper(std::string name) {
  // By no locale: field names are ASCII (CASES 147).
  for (auto& c : name)
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  return name;
}

cell value_cell(std::string_view field, const json::value& v,
                const presentation& how) {
  if (holds_time(field))
    return time_cell(v, how);
  return field == "status" || field == "verdict" || field == "outcome"
             ? state_cell(v)
             : cell_of(v);
}

std::vector<std::string> fields_of(const json::value& items) {
  std::vector<std::string> fields;
  for (const auto& item : items.GetArray())
    for (const auto& m : item.GetObject())
      if (auto name = name_of(m);
          std::find(fields.begin(), fields.end(), name) == fields.end())
        fields.push_back(std::move(name));
  return fields;
}

// A column for each field that any item has, in the order they come up.
std::vector<column> columns_of(const std::vector<std::string>& fields) {
  std::vector<column> out;
  for (const auto& field : fields)
    out.push_back({upper(field),
                   [field](const json::value& row, const presentation& how) {
                     return value_cell(field, member_of(row, field), how);
                   },
                   !is_id(field)});
  return out;
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    out += (line.empty() ? line : std::string(indent, ' ') + line) + "\n";
  return out;
}

// What has few plain fields reads best as a table, the rest one by one.
std::string list_text(const json::value& items, const presentation& how) {
  const auto fields = fields_of(items);
  if (fields.size() <= most_columns &&
      std::all_of(items.Begin(), items.End(), is_flat))
    return table_text(columns_of(fields), items, how);
  std::string out;
  for (const auto& item : items.GetArray())
    out += (out.empty() ? "" : "\n") + record_text(item, how);
  return out;
}

}  // namespace

std::string record_text(const json::value& record, const presentation& how) {
  std::size_t width = 0;
  for (const auto& m : record.GetObject())
    if (!has_fields(m.value) && !is_list_of_objects(m.value))
      width = std::max(width, width_of(printable(name_of(m))));
  auto inner = how;
  inner.columns = how.columns > indent ? how.columns - indent : how.columns;
  std::string out;
  for (const auto& m : record.GetObject()) {
    const auto name = printable(name_of(m));
    if (has_fields(m.value)) {
      out += name + "\n" + indented(record_text(m.value, inner));
    } else if (is_list_of_objects(m.value)) {
      out += name + "\n" + indented(list_text(m.value, inner));
    } else {
      const auto shown = value_cell(name_of(m), m.value, how);
      out += name + std::string(width - width_of(name) + gap, ' ') +
             painted(printable(shown.text), shown.how, how.colour) + "\n";
    }
  }
  return out;
}

}  // namespace bc::cli
