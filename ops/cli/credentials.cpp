#include "ops/cli/commands.hpp"
#include "ops/cli/files.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace bc::cli {

namespace {

struct create_options {
  std::string principal, for_tenant, out;
  std::vector<std::string> grants;
};

void put_tenants(json::writer& body, const context& ctx,
                 const std::string& for_tenant) {
  body.field("tenantId", ctx.tenant);
  if (!for_tenant.empty())
    body.field("forTenantId", for_tenant);
}

// False when a grant is not of its form.
bool put_grants(json::writer& body, context& ctx, const create_options& o) {
  body.key("grants").begin_array();
  for (const auto& g : o.grants) {
    auto at = g.find('@');
    if (at == std::string::npos) {
      report(ctx,
             fail(errc::invalid_input,
                  "--grant is ACTION@RESOURCE, not '" + g + "'"),
             usage);
      return false;
    }
    body.begin_object()
        .field("action", g.substr(0, at))
        .field("resource", g.substr(at + 1))
        .end_object();
  }
  body.end_array();
  return true;
}

// The file is made before the credential, so that none is lost for it.
void create(context& ctx, const create_options& o) {
  json::writer body;
  body.begin_object();
  put_tenants(body, ctx, o.for_tenant);
  body.field("principal", o.principal);
  if (!put_grants(body, ctx, o))
    return;
  body.end_object();
  std::optional<new_secret_file> file;
  if (!o.out.empty()) {
    auto created = new_secret_file::create(o.out);
    if (!created)
      return report(ctx, created.error());
    file.emplace(std::move(created).value());
  }
  auto record = call(ctx, "credentials", "create", body.str());
  if (!record)
    return;
  if (!file)
    return show_record(ctx, *record);
  auto text = json::reader{*record}.text("credential");
  if (!text)
    return report(
        ctx, fail(errc::internal, "the server's answer has no credential"));
  if (auto kept = file->keep(text.value() + "\n"); !kept)
    return report(ctx, kept.error());
  record->RemoveMember("credential");
  show_record(ctx, *record);
  if (!ctx.json())
    std::cout << "The credential is in " << o.out << " (0600).\n";
}

// Each grant as ACTION@RESOURCE, the way create takes it.
std::string grants_cell(const json::value& row) {
  std::string out;
  auto it = row.FindMember("grants");
  if (it == row.MemberEnd() || !it->value.IsArray())
    return "-";
  for (const auto& g : it->value.GetArray()) {
    json::reader one{g};
    auto action = one.text("action");
    auto resource = one.text("resource");
    if (action && resource)
      out += (out.empty() ? "" : " ") + action.value() + "@" + resource.value();
  }
  return out.empty() ? "-" : out;
}

void list(context& ctx, const std::string& for_tenant) {
  auto answer = call_all_pages(
      ctx, "credentials", "list",
      [&](json::writer& body) { put_tenants(body, ctx, for_tenant); });
  if (answer)
    show_list(ctx, *answer,
              {field_column("ID", "id"),
               field_column("PRINCIPAL", "principal"),
               field_column("CREATED", "createdAt"),
               field_column("REVOKED", "revokedAt"),
               {"GRANTS", grants_cell}});
}

void revoke(context& ctx, const std::string& for_tenant,
            const std::string& id) {
  // A pasted credential has a dot; its secret must never travel as an id.
  if (id.find('.') != std::string::npos)
    return report(ctx,
                  fail(errc::invalid_input,
                       "that looks like a whole credential; give its id "
                       "(bck_…) alone"),
                  usage);
  json::writer body;
  body.begin_object();
  put_tenants(body, ctx, for_tenant);
  body.field("credentialId", id).end_object();
  if (auto record = call(ctx, "credentials", "revoke", body.str())) {
    if (!ctx.json() && record->HasMember("grants"))
      (*record)["grants"].SetString(grants_cell(*record).c_str(),
                                    record->GetAllocator());
    show_record(ctx, *record);
  }
}

CLI::App* command(CLI::App& group, const char* name, const char* help,
                  context& ctx, std::string& for_tenant) {
  auto* c = group.add_subcommand(name, help);
  add_server_options(*c, ctx);
  add_tenant_option(*c, ctx);
  add_text(*c, "--for-tenant", for_tenant,
           "Another tenant (root tenant's credential only)");
  return c;
}

}  // namespace

void add_credentials(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("credentials",
                                   "Create, list and revoke API credentials");
  group->require_subcommand(1);
  auto o = std::make_shared<create_options>();
  auto* c =
      command(*group, "create", "Create a credential; its secret is shown once",
              ctx, o->for_tenant);
  c->add_option("--principal", o->principal, "Who it is for")->required();
  c->add_option("--grant", o->grants,
                "ACTION@RESOURCE, for example "
                "'compute:join-tokens:*@compute-pool/*'; may repeat")
      ->required();
  add_text(*c, "--out", o->out,
           "Write the credential to this new 0600 file; never over one");
  c->callback([&ctx, o] { create(ctx, *o); });

  auto* l =
      command(*group, "list", "List a tenant's credentials, revoked ones too",
              ctx, o->for_tenant);
  l->callback([&ctx, o] { list(ctx, o->for_tenant); });

  auto id = std::make_shared<std::string>();
  auto* r = command(*group, "revoke", "Revoke a credential at once, for ever",
                    ctx, o->for_tenant);
  add_text(*r, "ID", *id, "The credential's id, bck_…")->required();
  r->callback([&ctx, o, id] { revoke(ctx, o->for_tenant, *id); });
}

}  // namespace bc::cli
