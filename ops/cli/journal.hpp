#pragma once

#include "events/export.hpp"
#include "ops/cli/context.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The parts of `better-compute journal`.
namespace bc::cli {

/// Where a journal is read from: a store, or an export of one.
struct journal_source {
  std::string url;
  std::string from;

  /// What was asked for here wins over what the shell carries along.
  [[nodiscard]] bool is_export() const { return !from.empty(); }
};
/// Adds --store and --from; one of them must be given.
void add_source(CLI::App& command, journal_source& source);
/// False when it is neither, which was then reported.
[[nodiscard]] bool is_given(context& ctx, const journal_source& source);

/// Opens a store for reading.
[[nodiscard]] result<std::unique_ptr<events::journal>> open_for_reading(
    const std::string& url);
/// Reads and checks a whole export (events/export.hpp).
[[nodiscard]] result<events::export_summary> read_export_file(
    const std::string& path, const events::verify_request& against,
    const std::function<result<void>(const events::export_event&)>& each = {});

struct verify_options {
  journal_source source;
  std::vector<std::string> checkpoint_files;
  std::string key_file;
  std::string bundle_file;
  bool without_secret = false;
};
void verify_journal(context& ctx, const verify_options& options);

struct replay_options {
  journal_source source;
  std::string stream;
  std::string until;
  bool with_internal = false;
};
void replay_journal(context& ctx, const replay_options& options);

/// "join_token:jt_…" of an id alone, and any other stream's name as it is;
/// INVALID_INPUT for neither.
[[nodiscard]] result<events::stream_id> stream_named(std::string_view text);

}  // namespace bc::cli
