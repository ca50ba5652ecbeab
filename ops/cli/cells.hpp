#pragma once

#include "ops/cli/table.hpp"

#include <string>
#include <string_view>

/// How one value of an answer becomes a cell, and a cell text.
namespace bc::cli {

/// What is shown for a value that is not there.
inline constexpr std::string_view nothing = "-";

/// True for the fields that hold a time: "time", "since", those that end in
/// "At" and a certificate's two.
[[nodiscard]] bool holds_time(std::string_view field);

/// The value of a field as text: "-" for null, a list's texts with commas.
[[nodiscard]] cell cell_of(const json::value& v);
/// An RFC 3339 text as the presentation wants it, other text as it is.
[[nodiscard]] cell time_cell(const json::value& v, const presentation& how,
                             tone once_past = tone::plain);
/// One of the API's words, in the tone it has for an operator.
[[nodiscard]] cell state_cell(const json::value& v);

/// A printable text in the colour of its tone, when colours are shown.
[[nodiscard]] std::string painted(const std::string& text, tone how,
                                  bool colour);

/// The member, or null for a value that has none of the name.
[[nodiscard]] const json::value& member_of(const json::value& object,
                                           std::string_view field);

}  // namespace bc::cli
