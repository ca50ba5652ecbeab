#include "events/postgres_text.hpp"

#include <algorithm>
#include <cctype>

namespace bc::postgres::detail {

namespace {

// Where a quoted part or a comment that starts at `i` ends; `i` when none
// does.
std::size_t end_of_opaque(std::string_view sql, std::size_t i) {
  auto end_after = [&](std::string_view mark, std::size_t from) {
    auto at = sql.find(mark, from);
    return at == std::string_view::npos ? sql.size() : at + mark.size();
  };
  char c = sql[i];
  // A doubled quote inside ends one part and starts the next.
  if (c == '\'' || c == '"')
    return end_after(sql.substr(i, 1), i + 1);
  if (sql.substr(i, 2) == "--")
    return end_after("\n", i);
  if (sql.substr(i, 2) == "/*")
    return end_after("*/", i + 2);
  if (c != '$')
    return i;
  auto close = sql.find('$', i + 1);
  if (close == std::string_view::npos)
    return i;
  auto tag = sql.substr(i, close - i + 1);
  auto is_name = [](char t) {
    return std::isalpha(static_cast<unsigned char>(t)) != 0 || t == '_';
  };
  if (!std::all_of(tag.begin() + 1, tag.end() - 1, is_name))
    return i;
  return end_after(tag, close + 1);
}

bool starts(std::string_view state, std::string_view with) {
  return state.starts_with(with);
}

bool is_connection_lost(std::string_view state) {
  return state.empty() || starts(state, "08") || starts(state, "57P");
}

bool may_pass(std::string_view state) {
  return starts(state, "40") || state == "55P03" || state == "57014" ||
         starts(state, "53") || state == "58030";
}

}  // namespace

std::string one_line(std::string_view words) {
  std::string out;
  for (const char c : words) {
    const bool blank = c == '\n' || c == '\t' || c == ' ';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.ends_with(' '))
    out.pop_back();
  return out;
}

std::string numbered(std::string_view sql) {
  std::string out;
  out.reserve(sql.size() + 16);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < sql.size();) {
    if (auto end = end_of_opaque(sql, i); end != i) {
      out += sql.substr(i, end - i);
      i = end;
      continue;
    }
    if (sql[i] != '?') {
      out += sql[i++];
      continue;
    }
    std::size_t number = 0;
    auto digits = i + 1;
    for (; digits < sql.size() &&
           std::isdigit(static_cast<unsigned char>(sql[digits])) != 0;
         ++digits)
      number = number * 10 + static_cast<std::size_t>(sql[digits] - '0');
    if (digits == i + 1)
      number = largest + 1;
    largest = std::max(largest, number);
    out += '$' + std::to_string(number);
    i = digits;
  }
  return out;
}

failure failure_of(std::string_view state, std::string_view words) {
  auto detail = one_line(words);
  if (!state.empty())
    detail = "SQLSTATE " + std::string{state} + ": " + detail;
  if (is_connection_lost(state))
    return {
        fail(errc::unavailable, "the database cannot be reached", {}, detail),
        true};
  // The server closes a connection that idles in a transaction.
  if (state == "25P03")
    return {
        fail(errc::unavailable,
             "the database ended a transaction that stood still", {}, detail),
        true};
  // A standby, or a server that was made read-only: the next connection may
  // find the primary.
  if (state == "25006")
    return {
        fail(errc::unavailable, "the database is read-only now", {}, detail),
        true};
  if (state == "53100")
    return {fail(errc::unavailable, "the database's disk is full", {}, detail)};
  if (may_pass(state))
    return {fail(errc::unavailable, "the database is busy", {}, detail)};
  if (state == "42501")
    return {fail(errc::invalid_config, "the database user lacks a privilege",
                 {}, detail)};
  return {fail(errc::internal, "the database refused a statement", {}, detail)};
}

}  // namespace bc::postgres::detail
