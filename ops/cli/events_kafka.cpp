#include "ops/cli/events_kafka.hpp"

#include "base/json.hpp"
#include "events/kafka/repair.hpp"
#include "events/kafka/resume.hpp"
#include "events/kafka/verify.hpp"
#include "ops/cli/context.hpp"
#include "ops/cli/layered.hpp"
#include "ops/cli/options.hpp"
#include "ops/serve/config.hpp"
#include "ops/serve/publishing.hpp"
#include "ops/store/store.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

namespace kafka = events::kafka;

constexpr std::int64_t most_positions = 1'000'000'000'000'000;
const kafka::keep_going always = [] { return true; };

bool is_needed(const serve::option& o) {
  return o.key == "store" || o.key == "source" || o.key.starts_with("kafka.");
}

// The settings of the server that these commands need, by the same names.
struct settings {
  serve::serve_config config;
  layered from{serve::options_of(config), is_needed};
};
using settings_ptr = std::shared_ptr<settings>;

settings_ptr add_settings(CLI::App& c) {
  auto s = std::make_shared<settings>();
  s->from.add_file(c);
  s->from.add_flags(c);
  return s;
}

result<void> read(const settings& s) {
  BC_TRYV(s.from.read());
  if (s.config.store.empty())
    return fail(errc::invalid_config,
                "store is missing: give --store or --config");
  if (s.config.kafka_brokers.empty())
    return fail(errc::invalid_config,
                "kafka.brokers is missing: give --kafka-brokers or --config");
  return ok();
}

void report_outcome(context& ctx, const fault& f) {
  report(ctx, f, f.code == errc::unavailable ? unreachable : refused);
}

// The journal for reading and the publisher's options; then `work`, whose
// fault is reported.
template <class Work>
void with_journal(context& ctx, const settings& s, Work work) {
  if (auto done = read(s); !done)
    return report(ctx, done.error(), usage);
  auto options = serve::publisher_of(s.config);
  if (!options)
    return report(ctx, options.error(), usage);
  system_clock time;
  auto open = [&]() -> result<std::unique_ptr<events::journal>> {
    BC_TRY(where, store::parse_url(s.config.store));
    return store::open_reader(where, time);
  };
  auto journal = open();
  auto done = journal ? work(options.value(), *journal.value())
                      : result<void>{journal.error()};
  if (!done)
    report_outcome(ctx, done.error());
}

void show(const context& ctx, const kafka::verify_report& r) {
  const auto published = r.published ? r.published->position : 0;
  if (ctx.json()) {
    json::writer out;
    out.begin_object()
        .field("head", r.head)
        .field("published", published)
        .field("read", r.read)
        .field("expected", r.expected)
        .field("agedOut", r.aged_out)
        .field("parked", r.parked)
        .field("abandoned", r.abandoned)
        .field("faults", r.faults)
        .key("findings")
        .begin_array();
    for (const auto& f : r.findings)
      out.begin_object()
          .field("kind", kafka::text_of(f.what))
          .field("position", f.position)
          .field("text", f.text)
          .end_object();
    std::cout << out.end_array().end_object().str() << "\n";
    return;
  }
  std::cout << "journal head          " << r.head << "\n"
            << "published position    " << published << "\n"
            << "events in the topics  " << r.read << "\n"
            << "public events so far  " << r.expected << "\n"
            << "  aged out of Kafka   " << r.aged_out << "\n"
            << "  parked, too large   " << r.parked << "\n"
            << "of a journal restored " << r.abandoned << "\n";
  for (const auto& f : r.findings)
    std::cout << kafka::text_of(f.what) << "\t" << f.text << "\n";
  if (r.faults > r.findings.size())
    std::cout << "and " << r.faults - r.findings.size() << " more\n";
  std::cout << (r.faults == 0 ? "clean\n" : "NOT clean\n");
}

void add_verify(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand("verify",
                                 "Compare the topics in Kafka with the "
                                 "journal: what is missing, repeated, "
                                 "altered or out of order");
  auto s = add_settings(*c);
  add_output_option(*c, ctx);
  add_examples(*c, {"events verify --config better-compute.toml"});
  c->callback([&ctx, s] {
    with_journal(ctx, *s, [&](const auto& p, auto& journal) -> result<void> {
      kafka::verify_options o;
      o.client = p.client;
      o.topics = p.topics;
      o.transactional_id = p.transactional_id;
      o.source = p.source;
      BC_TRY(report, kafka::verify_published(o, journal, always));
      show(ctx, report);
      if (report.faults > 0)
        ctx.exit_code = refused;
      return ok();
    });
  });
}

void add_backfill(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "backfill",
      "Publish a range of the journal to a new topic, with the events' own "
      "ids");
  auto s = add_settings(*c);
  auto topic = std::make_shared<std::string>();
  auto from = std::make_shared<std::int64_t>(1);
  auto to = std::make_shared<std::int64_t>(0);
  add_text(*c, "--topic", *topic, "The topic: a new or an empty one")
      ->required();
  add_number(*c, "--from", *from, 1, most_positions,
             "First position of the journal; else its first event");
  add_number(*c, "--to", *to, 1, most_positions,
             "Last position; else the journal's head");
  add_output_option(*c, ctx);
  add_examples(*c, {"events backfill --config better-compute.toml \\\n"
                    "    --topic better-compute.backfill --from 1 --to 10000"});
  c->callback([=, &ctx] {
    with_journal(ctx, *s, [&](const auto& p, auto& journal) -> result<void> {
      kafka::backfill_options o;
      o.client = p.client;
      o.topics = p.topics;
      o.source = p.source;
      o.topic = *topic;
      o.from = static_cast<std::uint64_t>(*from);
      o.to = static_cast<std::uint64_t>(*to);
      BC_TRY(sent, kafka::backfill(o, journal, always));
      if (ctx.json())
        std::cout << json::writer{}
                         .begin_object()
                         .field("topic", o.topic)
                         .field("published", sent)
                         .end_object()
                         .str()
                  << "\n";
      else
        std::cout << sent << " events published to " << o.topic << "\n";
      return ok();
    });
  });
}

void add_resume(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "resume",
      "After the journal was restored from a backup and journal "
      "new-incarnation was run: let the publisher go on, giving up the events "
      "that only Kafka still has");
  auto s = add_settings(*c);
  auto after = std::make_shared<std::int64_t>(0);
  auto consent = std::make_shared<kafka::resume_consent>();
  add_number(*c, "--after", *after, 1, most_positions,
             "Go on after this position; else after the last event of the "
             "journal that was published");
  c->add_flag("--skip-undelivered", consent->skip_undelivered,
              "Also where subscribers never get some events before it");
  c->add_flag("--resend-delivered", consent->resend_delivered,
              "Also where subscribers get some events behind it once more");
  add_output_option(*c, ctx);
  add_examples(*c, {"events resume --config better-compute.toml"});
  c->callback([=, &ctx] {
    with_journal(ctx, *s, [&](const auto& p, auto& journal) -> result<void> {
      BC_TRY(next,
             kafka::resume_after(
                 p, journal,
                 *after ? std::optional{static_cast<std::uint64_t>(*after)}
                        : std::nullopt,
                 *consent, always));
      if (ctx.json())
        std::cout << json::writer{}
                         .begin_object()
                         .field("position", next.position)
                         .field("incarnation", next.incarnation)
                         .end_object()
                         .str()
                  << "\n";
      else
        std::cout << "the publisher goes on after position " << next.position
                  << "\n";
      return ok();
    });
  });
}

}  // namespace

void add_events_kafka(CLI::App& events, context& ctx) {
  add_verify(events, ctx);
  add_backfill(events, ctx);
  add_resume(events, ctx);
}

}  // namespace bc::cli
