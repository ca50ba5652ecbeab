#include "ops/cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

using fields = std::function<void(json::writer&)>;

void create(context& ctx, std::string_view group, const fields& put) {
  json::writer body;
  body.begin_object().field("tenantId", ctx.tenant);
  put(body);
  body.end_object();
  if (auto record = call(ctx, group, "create", body.str()))
    show_record(ctx, *record);
}

void get(context& ctx, std::string_view group, std::string_view id_field,
         const std::string& id) {
  json::writer body;
  body.begin_object()
      .field("tenantId", ctx.tenant)
      .field(id_field, id)
      .end_object();
  if (auto record = call(ctx, group, "get", body.str()))
    show_record(ctx, *record);
}

void list(context& ctx, std::string_view group,
          const std::vector<column>& columns, const fields& more = nullptr) {
  auto answer = call_all_pages(ctx, group, "list", [&](json::writer& body) {
    body.field("tenantId", ctx.tenant);
    if (more)
      more(body);
  });
  if (answer)
    show_list(ctx, *answer, columns);
}

CLI::App* command(CLI::App* group, const char* name, const char* help,
                  context& ctx) {
  auto* c = group->add_subcommand(name, help);
  add_server_options(*c, ctx);
  add_tenant_option(*c, ctx);
  return c;
}

// The `get` and `list` commands every group has.
void add_get(CLI::App* group, context& ctx, std::string api_group,
             std::string id_field) {
  auto* c = command(group, "get", "Show one", ctx);
  auto id = std::make_shared<std::string>();
  c->add_option("ID", *id, "Its id")->required();
  c->callback(
      [&ctx, id, api_group, id_field] { get(ctx, api_group, id_field, *id); });
}

void add_list(CLI::App* group, context& ctx, std::string api_group,
              std::vector<column> columns) {
  auto* c = command(group, "list", "List them", ctx);
  c->callback([&ctx, api_group, columns] { list(ctx, api_group, columns); });
}

}  // namespace

void add_tenants(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand(
      "tenants", "Create and list tenants (root tenant's credential)");
  group->require_subcommand(1);
  auto* c = command(group, "create", "Create a tenant", ctx);
  auto name = std::make_shared<std::string>();
  c->add_option("--name", *name, "Its name, unique")->required();
  c->callback([&ctx, name] {
    create(ctx, "tenants",
           [&](json::writer& body) { body.field("name", *name); });
  });
  add_list(
      group, ctx, "tenants",
      {field_column("ID", "id"), field_column("NAME", "name"),
       field_column("ROOT", "root"), field_column("CREATED", "createdAt")});
}

void add_sites(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("sites", "Create, list and show sites");
  group->require_subcommand(1);
  auto* c = command(group, "create", "Create a site", ctx);
  auto name = std::make_shared<std::string>();
  auto kind = std::make_shared<std::string>("dedicated");
  c->add_option("--name", *name, "Its name, unique for the tenant")->required();
  c->add_option("--kind", *kind, "shared, dedicated or custom")
      ->capture_default_str();
  c->callback([&ctx, name, kind] {
    create(ctx, "sites", [&](json::writer& body) {
      body.field("name", *name).field("kind", *kind);
    });
  });
  add_get(group, ctx, "sites", "siteId");
  add_list(group, ctx, "sites",
           {field_column("ID", "id"), field_column("NAME", "name"),
            field_column("KIND", "kind"), field_column("OWNER", "tenantId")});
}

void add_pools(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("pools", "Create, list and show pools");
  group->require_subcommand(1);
  auto* c = command(group, "create", "Create a pool in a site", ctx);
  auto site = std::make_shared<std::string>();
  auto name = std::make_shared<std::string>();
  auto agent = std::make_shared<std::string>("bcd");
  c->add_option("--site", *site, "The site its machines stand in")->required();
  c->add_option("--name", *name, "Its name, unique for the tenant")->required();
  c->add_option("--agent", *agent, "bcd, or none for machines without daemon")
      ->capture_default_str();
  c->callback([&ctx, site, name, agent] {
    create(ctx, "pools", [&](json::writer& body) {
      body.field("siteId", *site).field("name", *name).field("agent", *agent);
    });
  });
  add_get(group, ctx, "pools", "poolId");
  add_list(group, ctx, "pools",
           {field_column("ID", "id"), field_column("NAME", "name"),
            field_column("SITE", "siteId"), field_column("AGENT", "agent")});
}

void add_nodes(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("nodes", "List and show nodes");
  group->require_subcommand(1);
  add_get(group, ctx, "nodes", "nodeId");
  auto* c = command(group, "list", "List the tenant's nodes", ctx);
  auto pool = std::make_shared<std::string>();
  add_text(*c, "--pool", *pool, "Those of one pool");
  c->callback([&ctx, pool] {
    list(ctx, "nodes",
         {field_column("ID", "id"), field_column("STATUS", "status"),
          field_column("POOL", "poolId"), field_column("HOSTNAME", "hostname"),
          field_column("JOINED", "joinedAt")},
         [&](json::writer& body) {
           if (!pool->empty())
             body.field("poolId", *pool);
         });
  });
}

}  // namespace bc::cli
