#include "ops/cli/api_groups.hpp"
#include "ops/cli/cells.hpp"

namespace bc::cli {

namespace {

argument for_tenant() {
  return id("--for-tenant", "forTenantId",
            "Another tenant (root tenant's credential only)");
}

result<void> put_grants(json::document& input,
                        const std::vector<std::string>& given) {
  auto& memory = input.GetAllocator();
  auto& grants = member_at(input, "grants").SetArray();
  for (const auto& g : given) {
    const auto at = g.find('@');
    if (at == std::string::npos)
      return fail(errc::invalid_input,
                  "--grant is ACTION@RESOURCE, not '" + g + "'");
    json::value one{rapidjson::kObjectType};
    one.AddMember("action", json::value{g.substr(0, at).c_str(), memory},
                  memory);
    one.AddMember("resource", json::value{g.substr(at + 1).c_str(), memory},
                  memory);
    grants.PushBack(one, memory);
  }
  return ok();
}

argument grants() {
  auto out = texts("--grant", "grants",
                   "ACTION@RESOURCE, for example "
                   "'compute:join-tokens:*@compute-pool/*'; may repeat");
  out.put = put_grants;
  return required(std::move(out));
}

// Each grant as ACTION@RESOURCE, the way create takes it.
cell grants_cell(const json::value& row, const presentation&) {
  std::string out;
  const auto& all = member_of(row, "grants");
  if (all.IsArray())
    for (const auto& g : all.GetArray())
      out += (out.empty() ? "" : " ") + cell_of(member_of(g, "action")).text +
             "@" + cell_of(member_of(g, "resource")).text;
  return {out.empty() ? "-" : out};
}

}  // namespace

api_group credentials_group() {
  return {"credentials",
          "Create, list and revoke API credentials",
          {{"create",
            "Create a credential; its secret is shown once",
            {required(text("--principal", "principal", "Who it is for")),
             grants(), for_tenant()},
            {"credentials create --principal ci --out ./ci-credential \\\n"
             "    --grant 'compute:join-tokens:*@compute-pool/*'"},
            {},
            0,
            one_time_secret{"credential", "credential",
                            "the server's answer has no credential"}},
           {"list",
            "List a tenant's credentials, revoked ones too",
            {for_tenant()},
            {"credentials list"},
            {text_column("ID", "id"),
             free_column("PRINCIPAL", "principal"),
             time_column("CREATED", "createdAt"),
             when_set(time_column("REVOKED", "revokedAt", tone::bad)),
             {"GRANTS", grants_cell, true}}},
           {"revoke",
            "Revoke a credential at once, for ever",
            {required(id("ID", "credentialId", "The credential's id, bck_…")),
             for_tenant()},
            {"credentials revoke bck_01k5w3c9t8e4m2v6h0a7n1p5qd"}}}};
}

}  // namespace bc::cli
