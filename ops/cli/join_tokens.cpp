#include "ops/cli/commands.hpp"
#include "ops/cli/duration.hpp"
#include "ops/cli/files.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

struct create_options {
  std::string pool, ttl, key, out, hosted;
  std::int64_t max_uses = 1;
  std::string serial, mac, product_uuid, gpu_uuid;
  bool allow_reclaim = false;
};

std::string create_body(const context& ctx, const create_options& o,
                        seconds ttl) {
  json::writer body;
  body.begin_object()
      .field("tenantId", ctx.tenant)
      .field("poolId", o.pool)
      .field("ttlSeconds", ttl.count())
      .field("maxUses", o.max_uses)
      .field("idempotencyKey", o.key);
  if (o.allow_reclaim)
    body.field("allowReclaim", true);
  if (!o.hosted.empty())
    body.field("hosted", o.hosted);
  if (!(o.serial + o.mac + o.product_uuid + o.gpu_uuid).empty()) {
    body.key("expect").begin_object();
    auto put = [&body](std::string_view name, const std::string& v) {
      if (!v.empty())
        body.field(name, v);
    };
    put("productUuid", o.product_uuid);
    put("serial", o.serial);
    put("mac", o.mac);
    put("gpuUuid", o.gpu_uuid);
    body.end_object();
  }
  body.end_object();
  return body.str();
}

// Shows the record without the secret, which went to the file.
void show_without_token(const context& ctx, json::document& record) {
  record.RemoveMember("token");
  show_record(ctx, record);
}

void create(context& ctx, const create_options& o) {
  auto ttl = parse_duration(o.ttl);
  if (!ttl)
    return report(ctx, ttl.error(), usage);
  if (ttl.value() < seconds{60} || ttl.value() > seconds{86'400})
    return report(ctx, fail(errc::invalid_input, "--ttl runs from 1m to 24h"),
                  usage);
  std::optional<new_secret_file> file;
  if (!o.out.empty()) {
    auto created = new_secret_file::create(o.out);
    if (!created)
      return report(ctx, created.error());
    file.emplace(std::move(created).value());
  }
  auto record =
      call(ctx, "joinTokens", "create", create_body(ctx, o, ttl.value()));
  if (!record)
    return;
  json::reader from{*record};
  auto id = from.text("id");
  auto token = from.text("token");
  if (!file)
    return show_record(ctx, *record);
  if (!token)
    return report(
        ctx, fail(errc::invalid_state,
                  "this --key was used before, so its token cannot be shown "
                  "again; revoke " +
                      (id ? id.value() : "it") +
                      " and create a new one under another key"));
  auto kept = file->keep(token.value() + "\n");
  if (!kept) {
    auto f = kept.error();
    f.message += "; the token was created and is lost: revoke " +
                 (id ? id.value() : "it");
    return report(ctx, f);
  }
  show_without_token(ctx, *record);
  if (!ctx.json())
    std::cout << "The token is in " << o.out << " (0600).\n";
}

void revoke(context& ctx, const std::string& pool, const std::string& id) {
  // A pasted token has a dot; its secret must never travel as an id.
  if (id.find('.') != std::string::npos)
    return report(ctx,
                  fail(errc::invalid_input,
                       "that looks like a whole token; give its id (jt_…) "
                       "alone"),
                  usage);
  json::writer body;
  body.begin_object()
      .field("tenantId", ctx.tenant)
      .field("poolId", pool)
      .field("tokenId", id)
      .end_object();
  if (auto record = call(ctx, "joinTokens", "revoke", body.str()))
    show_record(ctx, *record);
}

void list(context& ctx, const std::string& pool, bool all) {
  auto answer =
      call_all_pages(ctx, "joinTokens", "list", [&](json::writer& body) {
        body.field("tenantId", ctx.tenant).field("poolId", pool);
        if (all)
          body.field("includeInactive", true);
      });
  if (answer)
    show_list(ctx, *answer,
              {field_column("ID", "id"), field_column("USES LEFT", "usesLeft"),
               field_column("MAX USES", "maxUses"),
               field_column("EXPIRES", "expiresAt"),
               field_column("REVOKED", "revokedAt"),
               field_column("EXPECT", "expect")});
}

}  // namespace

void add_join_tokens(CLI::App& app, context& ctx) {
  auto* group =
      app.add_subcommand("join-tokens", "Create, list and revoke join tokens");
  group->require_subcommand(1);

  auto* c = group->add_subcommand("create", "Mint a join token for a pool");
  auto o = std::make_shared<create_options>();
  add_server_options(*c, ctx);
  add_tenant_option(*c, ctx);
  add_text(*c, "--pool", o->pool, "The pool machines join")->required();
  c->add_option("--ttl", o->ttl, "Lifetime, 1m to 24h: 90s, 15m, 1h30m")
      ->required();
  add_number(*c, "--max-uses", o->max_uses, 1, 10'000,
             "How many machines, 1 to 10000");
  add_text(*c, "--expect-serial", o->serial,
           "Product, board or chassis serial of the one machine");
  add_text(*c, "--expect-mac", o->mac, "A permanent MAC, aa:bb:cc:dd:ee:ff");
  add_text(*c, "--expect-product-uuid", o->product_uuid, "SMBIOS UUID");
  add_text(*c, "--expect-gpu-uuid", o->gpu_uuid, "GPU-…");
  c->add_flag("--allow-reclaim", o->allow_reclaim,
              "Let a known machine with a new key take its node back");
  add_text(*c, "--hosted", o->hosted, "kubernetes");
  add_text(*c, "--key", o->key,
           "Idempotency key: the same key gives the same token")
      ->required();
  add_text(*c, "--out", o->out,
           "Write the token to this new 0600 file; never over one");
  c->callback([&ctx, o] { create(ctx, *o); });

  auto* l = group->add_subcommand("list", "List a pool's live tokens");
  auto pool = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  add_server_options(*l, ctx);
  add_tenant_option(*l, ctx);
  add_text(*l, "--pool", *pool, "The pool")->required();
  l->add_flag("--all", *all, "Also used-up, expired and revoked tokens");
  l->callback([&ctx, pool, all] { list(ctx, *pool, *all); });

  auto* r = group->add_subcommand("revoke", "Revoke a token at once");
  auto id = std::make_shared<std::string>();
  add_server_options(*r, ctx);
  add_tenant_option(*r, ctx);
  add_text(*r, "ID", *id, "The token's id, jt_…")->required();
  add_text(*r, "--pool", *pool, "The token's pool")->required();
  r->callback([&ctx, pool, id] { revoke(ctx, *pool, *id); });
}

}  // namespace bc::cli
