#include "ops/cli/journal.hpp"

#include "base/json.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/line_file.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/store.hpp"
#include "ops/cli/terminal.hpp"
#include "ops/store/new_incarnation.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <utility>

namespace bc::cli {

namespace {

// Lines for standard output, or for a new file that only its owner can read;
// an export has millions, so they are written many at once.
class export_target {
 public:
  explicit export_target(new_secret_file* file) : file_(file) {}

  result<void> write(std::string_view line) {
    waiting_.append(line) += '\n';
    if (waiting_.size() < enough)
      return ok();
    const auto text = std::exchange(waiting_, {});
    return file_ == nullptr ? print(text) : file_->write(text);
  }

  result<void> keep() {
    return file_ == nullptr ? print(waiting_) : file_->keep(waiting_);
  }

 private:
  static constexpr std::size_t enough = 64 * 1024;

  static result<void> print(std::string_view text) {
    if (std::cout << text << std::flush)
      return ok();
    return fail(errc::unavailable,
                "cannot write the export to standard output");
  }

  new_secret_file* file_;  // null: standard output
  std::string waiting_;
};

result<events::export_header> export_journal(const std::string& url,
                                             bool with_internal,
                                             const std::string& path) {
  BC_TRY(journal, open_for_reading(url));
  std::optional<new_secret_file> file;
  if (!path.empty()) {
    BC_TRY(made, new_secret_file::create(path));
    file.emplace(std::move(made));
  }
  export_target target{file ? &*file : nullptr};
  BC_TRY(header, events::write_export(*journal, with_internal,
                                      [&](std::string_view line) {
                                        return target.write(line);
                                      }));
  BC_TRYV(target.keep());
  return std::move(header);
}

void add_verify(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "verify", "Check every row, commit, claim, budget, snapshot, checkpoint");
  auto o = std::make_shared<verify_options>();
  add_source(*c, o->source);
  c->add_option("--checkpoint", o->checkpoint_files,
                "File with checkpoints kept outside the store: a server's log, "
                "values of the Kafka topic, an export; may repeat")
      ->type_name("FILE");
  add_path(*c, "--journal-key", o->key_file,
           "File with the key that checkpoints are signed with, as "
           "`better-compute pki show` prints it");
  add_path(*c, "--bundle", o->bundle_file,
           "The file of the sealed key bundle, where the store has none");
  c->add_flag("--without-secret", o->without_secret,
              "Compare checkpoints without checking who signed them");
  add_output_option(*c, ctx);
  add_examples(
      *c,
      {"journal verify --store sqlite:journal.db",
       "journal verify --store postgres://compute@db.example.com/compute \\\n  "
       "  --checkpoint /var/log/better-compute.log",
       "journal verify --from export.ndjson --journal-key journal.key"},
      "A running server's store may be checked too. Exit code 1 and INTERNAL "
      "name the first\nrow that is altered, missing, inserted or out of order. "
      "Read models, the lease and\ncounts of dropped refusals are no part of "
      "it; `projections rebuild` makes the read\nmodels anew. What was "
      "rewritten after the last checkpoint is found by one from\noutside alone "
      "(--checkpoint).");
  c->callback([&ctx, o] { verify_journal(ctx, *o); });
}

void add_export(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "export", "Write the journal as lines of JSON, with its checkpoints");
  auto url = std::make_shared<std::string>();
  auto path = std::make_shared<std::string>();
  auto with_internal = std::make_shared<bool>(false);
  add_store_option(*c, *url)->required();
  c->add_flag("--with-internal", *with_internal,
              "With what never leaves otherwise: secret hashes, certificates, "
              "the sealed keys");
  add_out(*c, *path, "New file (0600), instead of standard output");
  add_examples(*c,
               {"journal export --store sqlite:journal.db --out export.ndjson"},
               "The export verifies and replays without the store (--from).");
  c->callback([&ctx, url, path, with_internal] {
    if (!store_at(ctx, *url))
      return;
    auto header = export_journal(*url, *with_internal, *path);
    if (!header)
      return report(ctx, header.error());
    if (!path->empty())
      std::cout << "rows 1 to " << header.value().head.position << " in "
                << *path << "\n";
  });
}

void add_replay(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "replay", "A stream's events, and what each made of its state");
  auto o = std::make_shared<replay_options>();
  add_source(*c, o->source);
  add_text(*c, "--stream", o->stream,
           "An id (jt_…, node_…) or a stream (refusal:…, pki, journal)")
      ->required();
  add_text(*c, "--until", o->until,
           "Up to this position, or this time (2026-11-29T18:00:00Z)");
  c->add_flag("--with-internal", o->with_internal,
              "Show what never leaves otherwise");
  add_output_option(*c, ctx);
  add_examples(*c,
               {"journal replay --store sqlite:journal.db \\\n"
                "    --stream jt_01k5w3c9t8e4m2v6h0a7n1p5qd",
                "journal replay --from export.ndjson \\\n"
                "    --stream node_01k5w3c9t8e4m2v6h0a7n1p5qd --until 4711"});
  c->callback([&ctx, o] { replay_journal(ctx, *o); });
}

void new_incarnation(context& ctx, const std::string& url, bool yes) {
  auto where = store_at(ctx, url);
  if (!where)
    return;
  if (auto sure = confirm(
          yes, "Begin another incarnation of " + store::shown(*where) + "?");
      !sure)
    return report(ctx, sure.error(), usage);
  system_clock time;
  auto opened = store::open(*where, time);
  if (!opened)
    return report(ctx, opened.error());
  auto done = store::start_incarnation(*opened.value().journal);
  if (!done)
    return report(ctx, done.error());
  const auto& change = done.value();
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("incarnation", change.now.str())
        .field("previous", change.previous.str())
        .field("position", change.position)
        .end_object();
    std::cout << out.str() << "\n";
    return;
  }
  std::cout << "incarnation  " << change.now.str() << " from row "
            << change.position << " on\nbefore       " << change.previous.str()
            << "\n";
}

void add_new_incarnation(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "new-incarnation",
      "After a restore: give ids and sequences of events another beginning");
  auto url = std::make_shared<std::string>();
  auto sure = std::make_shared<bool>(false);
  add_store_option(*c, *url)->required();
  add_yes(*c, *sure);
  add_output_option(*c, ctx);
  add_examples(*c,
               {"journal new-incarnation --store "
                "postgres://compute@db.example.com/compute --yes"},
               "Stop every server first. An event keeps the id it was "
               "published with: those up to here\nthe old incarnation's, those "
               "after it the new one's. A cursor or Last-Event-ID of an\nevent "
               "that the restore lost is refused afterwards.");
  c->callback([&ctx, url, sure] { new_incarnation(ctx, *url, *sure); });
}

}  // namespace

void add_source(CLI::App& command, journal_source& source) {
  add_store_option(command, source.url);
  add_path(command, "--from", source.from,
           "An export of a journal, instead of a store; - is standard "
           "input (verify alone)");
}

bool is_given(context& ctx, const journal_source& source) {
  if (source.is_export())
    return true;
  if (!source.url.empty())
    return store_at(ctx, source.url).has_value();
  report(ctx, fail(errc::invalid_input, "give --store URL or --from FILE"),
         usage);
  return false;
}

result<std::unique_ptr<events::journal>> open_for_reading(
    const std::string& url) {
  static const system_clock time;
  BC_TRY(where, store::parse_url(url));
  return store::open_reader(where, time);
}

result<events::export_summary> read_export_file(
    const std::string& path, const events::verify_request& against,
    const std::function<result<void>(const events::export_event&)>& each) {
  BC_TRY(file, line_file::open(path, events::max_export_line));
  return events::read_export([&] { return file.next(); }, against, each);
}

void add_journal(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "journal", "The journal of a store: verify, export, replay");
  group->require_subcommand(1);
  add_verify(*group, ctx);
  add_export(*group, ctx);
  add_replay(*group, ctx);
  add_new_incarnation(*group, ctx);
}

}  // namespace bc::cli
