#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/checkpoint.hpp"
#include "events/stream_fold.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/journal.hpp"
#include "ops/cli/line_file.hpp"
#include "ops/cli/store.hpp"

#include <algorithm>
#include <iostream>

namespace bc::cli {

namespace {

using events::checkpoint;

// The keys that checkpoints may be signed with; none: not checked.
result<std::vector<pki::public_key>> keys_of(const verify_options& o) {
  if (!o.key_file.empty()) {
    BC_TRY(text, read_file(o.key_file));
    auto keys = events::parse_journal_keys(text);
    if (!keys)
      return fail(errc::invalid_config,
                  o.key_file +
                      " holds no journal key, as `better-compute pki "
                      "show` prints it: " +
                      keys.error().message);
    return std::move(keys).value();
  }
  if (o.without_secret)
    return std::vector<pki::public_key>{};
  if (o.source.is_export() && o.bundle_file.empty())
    return fail(errc::invalid_config,
                "an export does not open its keys: give --journal-key FILE "
                "(better-compute pki show prints the key), --bundle FILE, or "
                "--without-secret");
  auto keys = open_keys(o.bundle_file, o.source.url);
  if (!keys && keys.error().code == errc::invalid_config) {
    auto why = std::move(keys).error();
    why.message += "; or give --journal-key FILE or --without-secret";
    return why;
  }
  BC_TRY(bundle, std::move(keys));
  return pki::journal_keys_of(*bundle);
}

// Every checkpoint in a file from outside: log lines, Kafka values, an export.
result<void> add_checkpoints(const std::string& path,
                             std::vector<checkpoint>& out) {
  BC_TRY(file, line_file::open(path, events::max_export_line));
  auto before = out.size();
  for (std::size_t number = 1;; ++number) {
    BC_TRY(line, file.next());
    if (!line)
      break;
    auto found = events::find_checkpoint(*line);
    if (!found)
      return fail(errc::invalid_input, path + " line " +
                                           std::to_string(number) + " is " +
                                           found.error().message);
    if (found.value())
      out.push_back(std::move(*found.value()));
  }
  if (out.size() == before)
    return fail(errc::invalid_input, path + " holds no checkpoint");
  return ok();
}

struct verified {
  events::head_row head;
  std::uint64_t checkpoints = 0;
  bool whole = true;            // false: without what only `internal` shows
  std::uint64_t signed_to = 0;  // the last checkpoint's row
};

result<verified> verify_store(const std::string& url,
                              const events::verify_request& against) {
  BC_TRY(journal, open_for_reading(url));
  // At least so far: a server may be writing.
  BC_TRY(head, journal->head());
  BC_TRYV(journal->verify(against));
  return verified{std::move(head)};
}

result<verified> verify_export(const std::string& path,
                               const events::verify_request& against) {
  BC_TRY(summary, read_export_file(path, against));
  return verified{summary.header.head, summary.checkpoints,
                  summary.header.with_internal};
}

void show(const context& ctx, const verified& v, bool signatures,
          std::size_t outside) {
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("clean", true)
        .field("position", v.head.position)
        .field("commit", v.head.commit)
        .field("link", v.head.link)
        .field("incarnation", v.head.incarnation.str())
        .field("checkpoints", v.checkpoints)
        .field("outsideCheckpoints", outside)
        .field("signaturesChecked", signatures)
        .field("internalChecked", v.whole)
        .field("signedTo", v.signed_to)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "clean: rows 1 to " << v.head.position << " in " << v.head.commit
            << " commits, incarnation " << v.head.incarnation.str() << "\nlink "
            << v.head.link << "\n"
            << v.checkpoints << " checkpoints in it, " << outside
            << " from outside"
            << (signatures ? "" : "; signatures were not checked") << "\n";
  if (!v.whole)
    std::cout << "the export has no `internal`: claims and budgets were not "
                 "checked\n";
  if (v.checkpoints + outside == 0 && v.head.position > 0)
    std::cout << "no checkpoint: nothing vouches for the incarnation, nor for "
                 "a journal rewritten as a whole\n";
  else if (v.signed_to < v.head.position)
    std::cout << "rows " << v.signed_to + 1 << " to " << v.head.position
              << " came after the last checkpoint: nothing vouches for them "
                 "yet\n";
}

}  // namespace

void verify_journal(context& ctx, const verify_options& o) {
  if (!is_given(ctx, o.source))
    return;
  auto keys = keys_of(o);
  if (!keys)
    return report(ctx, keys.error(),
                  keys.error().code == errc::invalid_config ? usage : refused);
  events::verify_request against;
  against.effects = events::moves_of;
  against.folds = events::make_stream_fold;
  for (const auto& path : o.checkpoint_files)
    if (auto read = add_checkpoints(path, against.outside); !read)
      return report(ctx, read.error(), usage);
  std::uint64_t seen = 0;
  std::uint64_t signed_to = 0;
  against.is_signed = [&](const checkpoint& c) {
    ++seen;
    signed_to = std::max(signed_to, c.position);
    return keys.value().empty() || events::is_signed_by_any(c, keys.value());
  };
  auto done = o.source.is_export() ? verify_export(o.source.from, against)
                                   : verify_store(o.source.url, against);
  if (!done)
    return report(ctx, done.error());
  done.value().checkpoints = seen - against.outside.size();
  done.value().signed_to = signed_to;
  show(ctx, done.value(), !keys.value().empty(), against.outside.size());
}

}  // namespace bc::cli
