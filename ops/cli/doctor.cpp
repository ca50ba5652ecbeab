#include "ops/cli/doctor.hpp"

#include "events/kafka/topics.hpp"
#include "ops/cli/commands.hpp"
#include "ops/serve/config.hpp"
#include "pki/bundle.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace bc::cli {

namespace {

constexpr seconds a_day{86'400};

struct doctor_options {
  patient who;
  std::string config;
  std::string kafka;
};

result<void> add_kafka(patient& p, const serve::serve_config& c) {
  if (c.kafka_brokers.empty())
    return ok();
  if (!c.kafka_properties_file.empty()) {
    BC_TRY(more, events::kafka::read_properties(c.kafka_properties_file));
    p.kafka = std::move(more);
  }
  p.kafka.insert(c.kafka_properties.begin(), c.kafka_properties.end());
  p.kafka["bootstrap.servers"] = c.kafka_brokers;
  events::kafka::topic_names names;
  names.prefix = c.kafka_prefix;
  if (c.kafka_layout == "type")
    names.events_by = events::kafka::layout::type;
  p.topics = names.event_topics();
  p.topics.push_back(names.control());
  return ok();
}

// What the flags leave open comes from the server's configuration.
result<void> add_config(patient& p, const std::string& file) {
  serve::serve_config c;
  auto options = serve::options_of(c);
  auto over = serve::from_environment(options);
  BC_TRYV(serve::read_options(options, file, over));
  auto take = [](std::string& into, const std::string& from) {
    if (into.empty())
      into = from;
  };
  take(p.store_url, c.store);
  take(p.secret_file, c.secret_file);
  take(p.gateway_url, c.gateway_url);
  return p.kafka.empty() ? add_kafka(p, c) : ok();
}

void show(const context& ctx, const findings& all) {
  if (!ctx.json()) {
    for (const auto& f : all) {
      auto verdict = std::string{verdict_text(f.how)};
      verdict.resize(std::max<std::size_t>(verdict.size(), 9), ' ');
      std::cout << verdict << f.check << ": " << f.message << "\n";
      if (!f.advice.empty())
        std::cout << std::string(9, ' ') << "-> " << f.advice << "\n";
    }
    return;
  }
  json::writer out;
  out.begin_object().key("checks").begin_array();
  for (const auto& f : all) {
    out.begin_object()
        .field("check", f.check)
        .field("status", verdict_text(f.how))
        .field("message", f.message);
    if (!f.advice.empty())
      out.field("advice", f.advice);
    out.end_object();
  }
  std::cout << out.end_array().end_object().str() << "\n";
}

void examine(context& ctx, doctor_options o) {
  if (!o.kafka.empty())
    o.who.kafka["bootstrap.servers"] = o.kafka;
  if (!o.config.empty())
    if (auto read = add_config(o.who, o.config); !read)
      return report(ctx, read.error(), usage);
  system_clock time;
  std::shared_ptr<const pki::key_bundle> keys;
  auto all = examine_store(o.who, time, keys);
  if (o.who.serving_ca_pin.empty() && keys)
    o.who.serving_ca_pin = pki::pins_of(*keys).serving_ca;
  auto more = examine_network(o.who, time);
  all.insert(all.end(), more.begin(), more.end());
  show(ctx, all);
  if (std::any_of(all.begin(), all.end(),
                  [](const finding& f) { return f.how == verdict::failed; }))
    ctx.exit_code = refused;
}

}  // namespace

std::string_view verdict_text(verdict v) {
  switch (v) {
    case verdict::ok:
      return "ok";
    case verdict::warning:
      return "warning";
    case verdict::failed:
      return "failed";
    case verdict::skipped:
      return "skipped";
  }
  return "failed";
}

finding expiry_finding(const std::string& check, const std::string& whose,
                       time_point not_after, time_point now, seconds early) {
  auto until = to_rfc3339(not_after);
  if (now >= not_after)
    return {check, verdict::failed, "the " + whose + " ended at " + until,
            "replace it"};
  auto days = std::chrono::duration_cast<seconds>(not_after - now) / a_day;
  auto text = "the " + whose + " ends at " + until + ", in " +
              std::to_string(days) + " days";
  if (not_after - now > early)
    return {check, verdict::ok, text, {}};
  return {check, verdict::warning, text, "replace it before then"};
}

void add_doctor(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "doctor",
      "Look at a deployment and say what is wrong; changes nothing, exits 1 "
      "when a check failed");
  auto o = std::make_shared<doctor_options>();
  add_text(*c, "--config", o->config,
           "The server's TOML file, for what is not given here");
  add_text(*c, "--store", o->who.store_url,
           "The store: postgres://USER@HOST/NAME or sqlite:PATH")
      ->envname("BETTER_COMPUTE_STORE");
  add_text(*c, "--secret-file", o->who.secret_file,
           "File with the deployment's secret; else BETTER_COMPUTE_SECRET")
      ->envname("BETTER_COMPUTE_SECRET_FILE");
  add_text(*c, "--url", o->who.api_url, "The API")
      ->envname("BETTER_COMPUTE_URL");
  add_text(*c, "--ca-file", o->who.ca_file,
           "PEM of the CA the API's certificate is from")
      ->envname("BETTER_COMPUTE_CA_FILE");
  add_text(*c, "--gateway", o->who.gateway_url,
           "A gateway as machines reach it, https://HOST[:PORT]");
  add_text(*c, "--serving-ca-pin", o->who.serving_ca_pin,
           "Pin of the gateway's CA; else from the keys in the store");
  add_text(*c, "--kafka", o->kafka, "Kafka brokers, HOST:PORT,…");
  c->add_option("--output", ctx.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  c->callback([&ctx, o] { examine(ctx, *o); });
}

}  // namespace bc::cli
