#include "ops/cli/commands.hpp"
#include "ops/cli/event_line.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

namespace bc::cli {

namespace {

struct options {
  std::string type;
  bool follow = false;
};

void show(const context& ctx, const json::value& event) {
  if (ctx.json())
    std::cout << json::to_text(event) << "\n";
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

}  // namespace

void add_events(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("events", "Read the tenant's events");
  group->require_subcommand(1);
  auto* c = group->add_subcommand(
      "list", "Print events, oldest first; with --output json one a line");
  auto o = std::make_shared<options>();
  add_server_options(*c, ctx);
  add_tenant_option(*c, ctx);
  add_text(*c, "--type", o->type, "Only this type, e.g. node.joined");
  c->add_flag("--follow", o->follow, "Go on with new events until stopped");
  c->callback([&ctx, o] {
    std::string cursor;
    for (;;) {
      bool more = false;
      if (!show_page(ctx, *o, cursor, more))
        return;
      if (more)
        continue;
      if (!o->follow)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds{500});
    }
  });
}

}  // namespace bc::cli
