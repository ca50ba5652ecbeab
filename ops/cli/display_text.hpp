#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text that somebody else wrote, on a terminal: a machine's hostname must not
/// move the cursor, reorder a line or hide a part of it.
namespace bc::cli {

/// Control characters, line separators, marks that reorder or hide text, and
/// bytes that are no UTF-8 as \x1b or \u202e; the rest as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a JSON text, by JSON's own escapes: it stays the same value.
[[nodiscard]] std::string printable_json(std::string_view json);

/// The columns of a terminal that a printable text takes.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// A printable text, cut to this many columns with "…" at its end when it is
/// wider.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace bc::cli
