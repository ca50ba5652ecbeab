#include "ops/cli/cells.hpp"

#include "ops/cli/relative_time.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace bc::cli {

namespace {

constexpr std::array<std::pair<std::string_view, tone>, 20> words{{
    {"joined", tone::good},        {"reclaimed", tone::good},
    {"adopted", tone::good},       {"passed", tone::good},
    {"adopting", tone::attention}, {"cordoned", tone::attention},
    {"pending", tone::attention},  {"retired", tone::faint},
    {"revoked", tone::bad},        {"expired", tone::bad},
    {"failed", tone::bad},         {"refused", tone::bad},
    {"rejected", tone::bad},       {"archived", tone::faint},
    {"deleted", tone::faint},      {"not-reached", tone::faint},
    {"not-checked", tone::faint},  {"approved", tone::good},
    {"succeeded", tone::good},     {"tenant-controlled", tone::attention},
}};

std::string_view colour_of(tone how) {
  switch (how) {
    case tone::plain:
      return {};
    case tone::strong:
      return "\x1b[1m";
    case tone::good:
      return "\x1b[32m";
    case tone::attention:
      return "\x1b[33m";
    case tone::bad:
      return "\x1b[31m";
    case tone::faint:
      return "\x1b[2m";
  }
  return {};
}

std::string text_of(const json::value& v) {
  if (v.IsString())
    return {v.GetString(), v.GetStringLength()};
  if (v.IsNull() || (v.IsObject() && v.ObjectEmpty()) ||
      (v.IsArray() && v.Empty()))
    return std::string{nothing};
  return json::to_text(v);
}

}  // namespace

bool holds_time(std::string_view field) {
  return field.ends_with("At") || field == "time" || field == "since" ||
         field == "notBefore" || field == "notAfter";
}

cell cell_of(const json::value& v) {
  if (!v.IsArray() || v.Empty() ||
      std::any_of(v.Begin(), v.End(), [](auto& e) { return !e.IsString(); }))
    return {text_of(v)};
  std::string out;
  for (const auto& item : v.GetArray())
    out += (out.empty() ? "" : ", ") + text_of(item);
  return {out};
}

cell time_cell(const json::value& v, const presentation& how, tone once_past) {
  auto shown = cell_of(v);
  auto at = from_rfc3339(shown.text);
  if (!at)
    return shown;
  if (at.value() <= how.now)
    shown.how = once_past;
  if (!how.utc)
    shown.text = relative_time(at.value(), how.now);
  return shown;
}

cell state_cell(const json::value& v) {
  auto shown = cell_of(v);
  const auto* known =
      std::find_if(words.begin(), words.end(),
                   [&](const auto& w) { return w.first == shown.text; });
  if (known != words.end())
    shown.how = known->second;
  return shown;
}

std::string painted(const std::string& text, tone how, bool colour) {
  const auto begin = colour_of(how);
  if (!colour || begin.empty())
    return text;
  return std::string{begin} + text + "\x1b[0m";
}

const json::value& member_of(const json::value& object,
                             std::string_view field) {
  static const json::value none;
  if (!object.IsObject())
    return none;
  auto it = object.FindMember(json::value{rapidjson::StringRef(
      field.data(), static_cast<rapidjson::SizeType>(field.size()))});
  return it == object.MemberEnd() ? none : it->value;
}

column text_column(std::string title, std::string field) {
  return {std::move(title), [field = std::move(field)](const json::value& row,
                                                       const presentation&) {
            return cell_of(member_of(row, field));
          }};
}

column free_column(std::string title, std::string field) {
  auto out = text_column(std::move(title), std::move(field));
  out.shrinks = true;
  return out;
}

column when_set(column c) {
  c.hides = true;
  return c;
}

column time_column(std::string title, std::string field, tone once_past) {
  return {std::move(title),
          [field = std::move(field), once_past](const json::value& row,
                                                const presentation& how) {
            return time_cell(member_of(row, field), how, once_past);
          }};
}

column state_column(std::string title, std::string field) {
  return {std::move(title), [field = std::move(field)](const json::value& row,
                                                       const presentation&) {
            return state_cell(member_of(row, field));
          }};
}

}  // namespace bc::cli
