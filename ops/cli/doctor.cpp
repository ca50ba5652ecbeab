#include "ops/cli/doctor.hpp"

#include "base/json.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/layered.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/store.hpp"
#include "ops/serve/config.hpp"
#include "ops/serve/publishing.hpp"
#include "pki/bundle.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace bc::cli {

namespace {

constexpr seconds a_day{86'400};

bool is_needed(const serve::option& o) {
  return o.key == "store" || o.key == "secret_file" || o.key == "gateway.url" ||
         o.key == "source" || o.key.starts_with("kafka.");
}

struct doctor_options {
  patient who;
  std::string kafka;
  serve::serve_config config;
  layered from{serve::options_of(config), is_needed};
};

result<void> add_kafka(patient& p, const serve::serve_config& c) {
  if (c.kafka_brokers.empty())
    return ok();
  BC_TRY(publisher, serve::publisher_of(c));
  p.kafka = std::move(publisher.client);
  p.topics = publisher.topics.event_topics();
  p.topics.push_back(publisher.topics.control());
  return ok();
}

// What the flags leave open comes from the server's configuration.
result<void> add_config(doctor_options& o) {
  BC_TRYV(o.from.read());
  auto take = [](std::string& into, const std::string& from) {
    if (into.empty())
      into = from;
  };
  take(o.who.store_url, o.config.store);
  take(o.who.secret_file, o.config.secret_file);
  take(o.who.gateway_url, o.config.gateway_url);
  if (!o.kafka.empty())
    o.config.kafka_brokers = o.kafka;
  return add_kafka(o.who, o.config);
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

// Where a person's other commands go.
bool add_profile(context& ctx, patient& p) {
  ctx.url = p.api_url;
  ctx.ca_file = p.ca_file;
  if (!settle_profile(ctx))
    return false;
  p.api_url = ctx.url;
  p.ca_file = ctx.ca_file;
  return true;
}

void examine(context& ctx, doctor_options& o) {
  if (!add_profile(ctx, o.who))
    return;
  if (auto read = add_config(o); !read)
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

finding expiry_finding(const serve::dated_certificate& c, time_point now) {
  constexpr auto* check = "certificates";
  auto until = to_rfc3339(c.not_after);
  if (now >= c.not_after)
    return {check, verdict::failed,
            "the " + c.name + " certificate ended at " + until, "replace it"};
  auto days = std::chrono::duration_cast<seconds>(c.not_after - now) / a_day;
  auto text = "the " + c.name + " certificate ends at " + until + ", in " +
              std::to_string(days) + " days";
  if (c.not_after - now > c.early)
    return {check, verdict::ok, text, {}};
  return {check, verdict::warning, text, "replace it before then"};
}

void add_doctor(CLI::App& app, context& ctx) {
  auto* c = app.add_subcommand(
      "doctor",
      "Look at a deployment and say what is wrong; changes nothing, exits 1 "
      "when a check failed");
  auto o = std::make_shared<doctor_options>();
  o->from.add_file(*c);
  add_store_option(*c, o->who.store_url);
  add_path(*c, "--secret-file", o->who.secret_file,
           "File with the deployment's secret; else BETTER_COMPUTE_SECRET")
      ->envname("BETTER_COMPUTE_SECRET_FILE");
  add_text(*c, "--url", o->who.api_url, "The API; else the profile's")
      ->envname("BETTER_COMPUTE_URL");
  add_path(*c, "--ca-file", o->who.ca_file,
           "PEM of the CA the API's certificate is from")
      ->envname("BETTER_COMPUTE_CA_FILE");
  add_text(*c, "--gateway", o->who.gateway_url,
           "A gateway as machines reach it, https://HOST[:PORT]");
  add_text(*c, "--serving-ca-pin", o->who.serving_ca_pin,
           "Pin of the gateway's CA; else from the keys in the store");
  add_text(*c, "--kafka", o->kafka,
           "Kafka brokers, HOST:PORT,…, in place of the configuration's");
  add_profile_option(*c, ctx);
  add_output_option(*c, ctx);
  add_examples(*c, {"doctor", "doctor --config better-compute.toml",
                    "doctor --url https://compute.example.com \\\n"
                    "    --gateway https://gw-1.example.com"});
  c->callback([&ctx, o] { examine(ctx, *o); });
}

}  // namespace bc::cli
