#pragma once

#include "base/clock.hpp"
#include "base/json.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// Answers of the API as a person reads them. Pure: what the terminal is like
/// and what time it is are passed in.
namespace bc::cli {

/// How something is looked at.
struct presentation {
  time_point now;
  bool utc = false;         // exact times, not "5m ago"
  bool colour = false;      // the terminal shows it, and nobody objects
  std::size_t columns = 0;  // of the terminal; 0: as wide as it gets
};

enum class tone { plain, strong, good, attention, bad, faint };

struct cell {
  std::string text;  // as the server gave it
  tone how = tone::plain;
};

/// One column of a table.
struct column {
  std::string title;
  std::function<cell(const json::value& row, const presentation&)> read;
  bool shrinks = false;  // may be cut to fit the terminal
  bool hides = false;    // is left out when no row has something in it
};

/// A field's text, "-" when it is absent.
[[nodiscard]] column text_column(std::string title, std::string field);
/// The same where others write what they like: cut when there is no room.
[[nodiscard]] column free_column(std::string title, std::string field);
/// A time; `once_past` is its tone when it has passed.
[[nodiscard]] column time_column(std::string title, std::string field,
                                 tone once_past = tone::plain);
/// One of the API's words for how something is: adopted, failed, …
[[nodiscard]] column state_column(std::string title, std::string field);

/// The column where it says something, left out elsewhere.
[[nodiscard]] column when_set(column c);

/// Titles and one line for each item, aligned. Nothing of an item reaches the
/// terminal that would move its cursor (display_text.hpp).
[[nodiscard]] std::string table_text(std::span<const column> columns,
                                     const json::value& items,
                                     const presentation& how);

/// A field a line; an object's fields below it, objects of a list as a table.
[[nodiscard]] std::string record_text(const json::value& record,
                                      const presentation& how);

}  // namespace bc::cli
