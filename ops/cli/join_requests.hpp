#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the commands that decide join requests read. Pure but for the file.
namespace bc::cli {

/// A request, and the certificate request that it was looked at with.
struct chosen_request {
  std::string id;
  std::string csr_sha256;  // what names_csr(); empty: not said
  bool operator==(const chosen_request&) const = default;
};

/// How many digits of a CSR's SHA-256 a table shows.
constexpr std::size_t shown_csr_digits = 16;
/// Of a CSR's SHA-256 in lower-case hex: all of it, or as much as is shown.
[[nodiscard]] bool names_csr(std::string_view text);
[[nodiscard]] bool is_whole_csr(std::string_view text);

/// The cursor after which a list begins with this id; empty: at its start.
[[nodiscard]] std::string cursor_before(std::string_view id);

/// One line of a file of ids: "ID", or "ID CSR" (names_csr()), with blanks
/// around; nullopt for an empty one and one that begins with '#'. INVALID_INPUT
/// for any other.
[[nodiscard]] result<std::optional<chosen_request>> read_chosen(
    std::string_view line);

/// All of a file ("-": standard input), each id once. INVALID_INPUT naming the
/// line, also for a file without any.
[[nodiscard]] result<std::vector<chosen_request>> read_chosen_file(
    const std::string& path);

}  // namespace bc::cli
