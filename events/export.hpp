#pragma once

#include "events/journal_chain.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// A journal as lines of JSON (spec: DESIGN section 4): a header; each event;
/// after a commit's last event its link; the checkpoint signed there, if any;
/// an end with a digest of the lines before it. What an event keeps internal
/// is there only when it was asked for, else its hash in its place, so that
/// the rows verify all the same.
namespace bc::events {

struct export_header {
  head_row head;
  bool with_internal = false;
};

struct export_event {
  envelope row;  // internal is empty when only its hash is there
  std::optional<std::string> internal_hash;
  /// row_hash() of what the line holds.
  [[nodiscard]] std::string hash() const;
};

struct export_commit {
  detail::chain_point end;
};

struct export_end {
  std::uint64_t lines = 0;  // before this one
  std::string digest;
};

using export_line = std::variant<export_header, export_event, export_commit,
                                 checkpoint, export_end>;

/// One line without its line end. INTERNAL for a row whose `data` or
/// `internal` is not JSON.
[[nodiscard]] result<std::string> to_text(const export_line& line);
/// Reads to_text's form alone, byte for byte; else INVALID_INPUT.
[[nodiscard]] result<export_line> parse_export_line(std::string_view text);

inline constexpr std::size_t max_export_line = 8 * 1024 * 1024;

/// Writes what the journal holds now, in pages; rows are checked on the way,
/// and a journal that does not verify is INTERNAL naming the row.
using line_sink = std::function<result<void>(std::string_view line)>;
[[nodiscard]] result<export_header> write_export(journal& source,
                                                 bool with_internal,
                                                 const line_sink& write);

struct export_summary {
  export_header header;
  std::uint64_t checkpoints = 0;
};

/// The next line, nullopt after the last. The text lives until the next call.
using line_source = std::function<result<std::optional<std::string_view>>()>;
/// Checks a whole export, line by line: form, digest, rows, links, checkpoints,
/// and with `internal` claims and budgets by `against.effects`. INVALID_INPUT
/// "line N …" for a text that is no export, or one cut off; INTERNAL for a
/// journal that does not verify. `each` (may be empty) sees every event before
/// what follows it is checked.
[[nodiscard]] result<export_summary> read_export(
    const line_source& next, const verify_request& against,
    const std::function<result<void>(const export_event&)>& each = {});

}  // namespace bc::events
