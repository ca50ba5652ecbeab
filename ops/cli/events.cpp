#include "gateway/http_client.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/event_line.hpp"
#include "ops/cli/events_kafka.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/show.hpp"
#include "ops/cli/sse_reader.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

namespace bc::cli {

namespace {

constexpr int http_ok = 200;
// The server beats each 15 s.
constexpr seconds silence{45};
constexpr std::chrono::milliseconds least_pause{1'000};
constexpr std::chrono::milliseconds most_pause{30'000};

struct options {
  std::string type;
  std::string correlation;
  std::string after;
  bool follow = false;
};

// RFC 3986: all but the unreserved characters.
std::string to_percent(std::string_view text) {
  constexpr std::string_view kept =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (kept.find(c) != std::string_view::npos)
      out += c;
    else
      out.append(1, '%')
          .append(1, digits[byte / 16])
          .append(1, digits[byte % 16]);
  }
  return out;
}

void show(const context& ctx, const json::value& event) {
  if (ctx.json())
    show_json(event);
  else
    std::cout << event_line(event) << "\n";
}

// One page; false when it failed. `cursor` moves on also when nothing of the
// page was the tenant's.
bool show_page(context& ctx, const options& o, std::string& cursor,
               bool& more) {
  json::writer body;
  body.begin_object().field("tenantId", ctx.tenant).field("limit", 200);
  if (!o.type.empty())
    body.field("type", o.type);
  if (!o.correlation.empty())
    body.field("correlation", o.correlation);
  if (!cursor.empty())
    body.field("cursor", cursor);
  body.end_object();
  auto answer = call(ctx, "events", "list", body.str());
  if (!answer)
    return false;
  if (answer->HasMember("items") && (*answer)["items"].IsArray())
    for (const auto& event : (*answer)["items"].GetArray())
      show(ctx, event);
  std::cout.flush();
  auto next = json::reader{*answer}.text("cursor");
  more = next.has_value() && next.value() != cursor;
  if (next)
    cursor = next.value();
  return true;
}

void list(context& ctx, const options& o) {
  if (!settle_tenant(ctx))
    return;
  auto cursor = o.after;
  for (;;) {
    bool more = false;
    if (!show_page(ctx, o, cursor, more))
      return;
    if (more)
      continue;
    if (!o.follow)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
  }
}

/// The stream, across connections that are lost.
class streaming {
 public:
  streaming(context& ctx, const options& o)
      : ctx_(ctx),
        options_(o),
        reader_([this](const std::string& data) { print(data); }) {}

  void run() {
    if (!settle(ctx_))
      return;
    // Until the first answer a failure is the caller's to see.
    while (connect())
      std::this_thread::sleep_for(pause_);
  }

 private:
  void print(const std::string& data) {
    std::cout << printable_json(data) << "\n";
    std::cout.flush();
    // A reader that went away ends the stream.
    alive_ = static_cast<bool>(std::cout);
  }

  std::string path() const {
    std::string query;
    auto add = [&](const char* name, const std::string& value) {
      if (!value.empty())
        query += (query.empty() ? "?" : "&") + std::string{name} + "=" +
                 to_percent(value);
    };
    add("type", options_.type);
    add("cursor", options_.after);
    return "/api/compute/events/stream" + query;
  }

  // One connection; true to try again.
  bool connect() {
    auto credential = read_credential(ctx_);
    if (!credential) {
      report(ctx_, credential.error(), usage);
      return false;
    }
    std::map<std::string, std::string> headers{
        {"authorization", "Bearer " + credential.value()},
        {"accept", "text/event-stream"}};
    reader_.begin();
    if (!reader_.last_id().empty())
      headers["last-event-id"] = reader_.last_id();
    auto answer =
        gateway::read_stream({ctx_.url, ctx_.ca_file, silence}, path(), headers,
                             [this](std::string_view text) {
                               begun_ = true;
                               pause_ = least_pause;
                               reader_.take(text);
                               return alive_;
                             });
    if (!alive_)
      return false;
    if (!answer)
      return lost(answer.error());
    if (answer.value().status == http_ok)
      return true;
    return refused_by_server(answer.value());
  }

  bool lost(const fault& why) {
    if (!begun_ || why.code == errc::invalid_input) {
      report(ctx_, why, why.code == errc::invalid_input ? usage : unreachable);
      return false;
    }
    return again(why.message);
  }

  bool refused_by_server(const gateway::client_response& answer) {
    auto why = fault_of(answer.status, answer.body);
    bool passes =
        why.code == errc::unavailable || why.code == errc::rate_limited;
    if (begun_ && passes)
      return again(why.message);
    report(ctx_, why);
    return false;
  }

  bool again(const std::string& why) {
    warn(why + "; trying again in " + std::to_string(pause_.count() / 1000) +
         " s");
    pause_ = std::min(pause_ * 2, most_pause);
    return true;
  }

  context& ctx_;
  const options& options_;
  sse_reader reader_;
  std::chrono::milliseconds pause_ = least_pause;
  bool begun_ = false;
  bool alive_ = true;
};

void add_list(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "list", "Print events, oldest first; with --output json one a line");
  auto o = std::make_shared<options>();
  add_text(*c, "--type", o->type, "Only this type, e.g. node.joined");
  add_text(*c, "--correlation", o->correlation,
           "Only what this request (a call's or a join's request id) caused");
  add_text(*c, "--after", o->after,
           "Only what came after this event's id; head: only what will come");
  c->add_flag("--follow", o->follow, "Go on with new events until stopped");
  add_tenant_option(*c, ctx);
  add_server_options(*c, ctx);
  add_examples(*c, {"events list --type security.join.refused",
                    "events list --after head --follow --output json"});
  c->callback([&ctx, o] { list(ctx, *o); });
}

void add_stream(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "stream",
      "Print the credential's tenant's events as JSON, one a line, as they "
      "come; a lost connection is taken up where it ended");
  auto o = std::make_shared<options>();
  add_text(*c, "--type", o->type, "Only this type, e.g. node.joined");
  add_text(*c, "--after", o->after,
           "Only what came after this event's id; head: only what will come");
  add_server_options(*c, ctx);
  add_examples(*c, {"events stream --after head",
                    "events stream --type node.joined >> joined.ndjson"});
  c->callback([&ctx, o] { streaming{ctx, *o}.run(); });
}

}  // namespace

void add_events(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("events", "Read the tenant's events");
  group->require_subcommand(1);
  add_list(*group, ctx);
  add_stream(*group, ctx);
  add_events_kafka(*group, ctx);
}

}  // namespace bc::cli
