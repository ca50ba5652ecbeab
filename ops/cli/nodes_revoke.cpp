#include "ops/cli/argument.hpp"
#include "ops/cli/cells.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/show.hpp"
#include "ops/cli/terminal.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>

namespace bc::cli {

namespace {

struct revoke_options {
  std::string token;
  std::string reason;
  bool dry_run = false;
  bool yes = false;
};

/// Answers of nodes.revokeByToken, put together.
struct outcomes {
  json::document all;
  json::value items{rapidjson::kArrayType};
  bool broke_off = false;  // and was reported

  [[nodiscard]] std::int64_t count(std::string_view outcome) const {
    std::int64_t out = 0;
    for (const auto& item : items.GetArray())
      if (cell_of(member_of(item, "outcome")).text == outcome)
        ++out;
    return out;
  }
};

std::string input_of(const context& ctx, const revoke_options& o, bool dry_run,
                     const std::string& cursor) {
  json::writer out;
  out.begin_object()
      .field("tenantId", ctx.tenant)
      .field("tokenId", o.token)
      .field("dryRun", dry_run)
      .field("limit", 200);
  if (!o.reason.empty())
    out.field("reason", o.reason);
  if (!cursor.empty())
    out.field("cursor", cursor);
  return out.end_object().str();
}

// What the pages before a failure did stays done, and is shown.
void ask(context& ctx, const revoke_options& o, bool dry_run, outcomes& to) {
  to.all.SetObject();
  auto& memory = to.all.GetAllocator();
  std::set<std::string> seen;
  std::string cursor;
  do {
    auto page =
        call(ctx, "nodes", "revokeByToken", input_of(ctx, o, dry_run, cursor));
    if (!page) {
      to.broke_off = true;
      return;
    }
    const auto& found = member_of(*page, "items");
    if (found.IsArray())
      for (const auto& item : found.GetArray())
        to.items.PushBack(json::value{item, memory}, memory);
    auto next = json::reader{*page}.text("cursor");
    cursor = next ? next.value() : "";
  } while (!cursor.empty() && seen.insert(cursor).second);
}

void show(const context& ctx, outcomes& what) {
  static const std::vector<column> columns{
      text_column("NODE", "nodeId"),
      text_column("POOL", "poolId"),
      free_column("HOSTNAME", "hostname"),
      state_column("STATUS", "status"),
      text_column("CONNECTED", "connected"),
      state_column("OUTCOME", "outcome"),
      when_set(free_column("WHY", "message"))};
  what.all.AddMember("items", what.items, what.all.GetAllocator());
  show_list(ctx, what.all, columns);
  what.items = what.all["items"];
}

std::string nodes_text(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

void run(context& ctx, const revoke_options& o) {
  if (!settle_tenant(ctx))
    return;
  outcomes preview;
  ask(ctx, o, true, preview);
  if (preview.broke_off)
    return;
  const auto count = preview.count("would-revoke");
  // A program is told once, what was done.
  if (o.dry_run || !ctx.json() || count == 0)
    show(ctx, preview);
  if (o.dry_run || count == 0)
    return;
  if (auto sure = confirm(
          o.yes, "Revoke every certificate of " + nodes_text(count) + "?");
      !sure)
    return report(ctx, sure.error(), usage);
  outcomes done_now;
  ask(ctx, o, false, done_now);
  show(ctx, done_now);
  const auto failed = done_now.count("failed");
  if (failed > 0 && !done_now.broke_off)
    report(ctx, fail(errc::unavailable,
                     nodes_text(failed) +
                         " still have their certificates; run it again"));
}

}  // namespace

// Beside the commands of `nodes` that are one call of the API.
void add_nodes_revoke(CLI::App& app, context& ctx) {
  auto* group = app.get_subcommand("nodes");
  auto* c = group->add_subcommand(
      "revoke", "Revoke the certificates of every node that joined by a token");
  auto o = std::make_shared<revoke_options>();
  const auto token_id =
      id("--by-token", "tokenId", "The token's id, jt_…; never the token");
  c->add_option(token_id.name, o->token, token_id.help)
      ->required()
      ->type_name(token_id.value_name)
      ->check(CLI::Validator{token_id.check, ""});
  add_text(*c, "--reason", o->reason, "Why; kept in the events and the audit");
  c->add_flag("--dry-run", o->dry_run, "Only show whose they would be");
  add_yes(*c, o->yes);
  add_utc_option(*c, ctx);
  add_tenant_option(*c, ctx);
  add_server_options(*c, ctx);
  const std::string token = "jt_01k5w3c9t8e4m2v6h0a7n1p5qd";
  add_examples(
      *c,
      {"nodes revoke --by-token " + token + " --dry-run",
       "nodes revoke --by-token " + token +
           " --reason 'the token leaked' --yes"},
      "Revoke the token first (join-tokens revoke), so that no machine "
      "joins with it meanwhile. Each node is revoked by itself; run "
      "again, it goes on with the rest.");
  c->callback([&ctx, o] { run(ctx, *o); });
}

}  // namespace bc::cli
