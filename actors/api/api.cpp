#include "actors/api/api.hpp"

#include "actors/api/authentication.hpp"
#include "actors/api/await_models.hpp"
#include "actors/api/exchange.hpp"
#include "actors/api/method_table.hpp"
#include "actors/api/methods.hpp"
#include "actors/api/schema_check.hpp"

#include <charconv>

namespace bc::actors {

namespace api {

namespace {

constexpr std::size_t max_body = 256 * 1024;

/// One method: the action a caller must be granted, the resource it is decided
/// on (`field` empty: any of its kind; a field the input lacks: the tenant),
/// and what runs.
struct method {
  std::string_view group;
  std::string_view name;
  std::string_view action;
  std::string_view resource_kind;
  std::string_view field;
  void (*run)(exchange_ptr);
  bool root_only = false;
  void (*replay)(exchange_ptr, std::function<void()>) = nullptr;
};

// spec: api-join-tokens#methods and DESIGN section 9.
constexpr method methods[] = {
    {"tenants", "create", "compute:tenants:create", "compute-tenant/",
     "tenantId", tenants_create, true},
    {"tenants", "list", "compute:tenants:read", "compute-tenant/", "tenantId",
     tenants_list, true},
    {"sites", "create", "compute:sites:create", "compute-site/", "",
     sites_create},
    {"sites", "update", "compute:sites:manage", "compute-site/", "siteId",
     sites_update},
    {"sites", "delete", "compute:sites:manage", "compute-site/", "siteId",
     sites_delete},
    {"sites", "get", "compute:sites:read", "compute-site/", "siteId",
     sites_get},
    {"sites", "list", "compute:sites:read", "compute-site/", "", sites_list},
    {"pools", "create", "compute:pools:create", "compute-pool/", "",
     pools_create},
    {"pools", "update", "compute:pools:manage", "compute-pool/", "poolId",
     pools_update},
    {"pools", "archive", "compute:pools:manage", "compute-pool/", "poolId",
     pools_archive},
    {"pools", "get", "compute:pools:read", "compute-pool/", "poolId",
     pools_get},
    {"pools", "list", "compute:pools:read", "compute-pool/", "", pools_list},
    {"credentials", "create", "compute:credentials:create", "compute-tenant/",
     "forTenantId", credentials_create},
    {"credentials", "list", "compute:credentials:read", "compute-tenant/",
     "forTenantId", credentials_list},
    {"credentials", "revoke", "compute:credentials:revoke", "compute-tenant/",
     "forTenantId", credentials_revoke},
    {"joinTokens", "create", "compute:join-tokens:create", "compute-pool/",
     "poolId", join_tokens_create, false, join_tokens_replay},
    {"joinTokens", "list", "compute:join-tokens:read", "compute-pool/",
     "poolId", join_tokens_list},
    {"joinTokens", "revoke", "compute:join-tokens:revoke", "compute-pool/",
     "poolId", join_tokens_revoke},
    {"siteTokens", "create", "compute:sites:manage", "compute-site/", "siteId",
     site_tokens_create, false, site_tokens_replay},
    {"siteTokens", "revoke", "compute:sites:manage", "compute-site/", "siteId",
     site_tokens_revoke},
    {"joinRequests", "list", "compute:join-tokens:read", "compute-pool/",
     "poolId", join_requests_list},
    {"joinRequests", "approve", "compute:join-tokens:create", "compute-pool/",
     "poolId", join_requests_approve},
    {"joinRequests", "reject", "compute:join-tokens:create", "compute-pool/",
     "poolId", join_requests_reject},
    {"nodes", "list", "compute:nodes:read", "compute-node/", "", nodes_list},
    {"nodes", "get", "compute:nodes:read", "compute-node/", "nodeId",
     nodes_get},
    {"nodes", "adopt", "compute:nodes:adopt", "compute-node/", "nodeId",
     nodes_adopt},
    {"nodes", "cordon", "compute:nodes:cordon", "compute-node/", "nodeId",
     nodes_cordon},
    {"nodes", "delete", "compute:nodes:delete", "compute-node/", "nodeId",
     nodes_delete},
    {"nodes", "revokeIdentity", "compute:nodes:revoke-identity",
     "compute-node/", "nodeId", nodes_revoke_identity},
    {"nodes", "revokeByToken", "compute:nodes:revoke-identity", "compute-node/",
     "", nodes_revoke_by_token},
    {"commands", "enqueue", "compute:commands:create", "compute-node/",
     "nodeId", commands_enqueue, false, commands_replay},
    {"commands", "get", "compute:commands:read", "compute-node/", "nodeId",
     commands_get},
    {"commands", "list", "compute:commands:read", "compute-node/", "nodeId",
     commands_list},
    {"audit", "list", "compute:audit:read", "compute-tenant/", "tenantId",
     audit_list},
    {"joins", "explain", "compute:joins:explain", "compute-tenant/", "tenantId",
     joins_explain},
    {"joins", "simulate", "compute:joins:simulate", "compute-tenant/",
     "tenantId", joins_simulate},
    {"events", "list", "compute:events:read", "compute-tenant/", "tenantId",
     events_list},
};

// "*", or one kind's ids: all of them or one.
bool is_resource_of(const method& m, std::string_view pattern) {
  if (pattern == "*")
    return true;
  if (!pattern.starts_with(m.resource_kind))
    return false;
  pattern.remove_prefix(m.resource_kind.size());
  return pattern == "*" || (!pattern.empty() && pattern.find_first_of("*/") ==
                                                    std::string_view::npos);
}

const method* find_method(const api_call& call) {
  for (const auto& m : methods)
    if (m.group == call.group && m.name == call.method)
      return &m;
  return nullptr;
}

// A grant on `kind/*` alone opens what is decided on no single resource.
result<std::string> resource_of(const method& m, const exchange& x) {
  std::string kind{m.resource_kind};
  if (m.field.empty())
    return kind + "*";
  BC_TRY(id, x.in().optional_text(m.field));
  return kind + id.value_or(x.who.tenant.str());
}

void authorise(const method& m, exchange_ptr x) {
  auto resource = resource_of(m, *x);
  if (!resource)
    return x->refuse(resource.error());
  if (m.root_only && !x->who.root)
    return x->refuse(errc::access_denied, "The root tenant alone may do this");
  if (!allows(x->who.grants, m.action, resource.value()))
    return x->refuse(errc::access_denied, "This credential is not granted " +
                                              std::string{m.action} + " on " +
                                              resource.value());
  m.run(std::move(x));
}

// Answered from the read models, which may be behind the journal; events come
// from the journal itself.
bool is_read(const method& m) {
  return m.group != "events" && (m.name == "list" || m.name == "get");
}

// For the documents; joins.simulate writes nothing either.
bool changes_nothing(const method& m) {
  return m.name == "list" || m.name == "get" || m.name == "explain" ||
         m.name == "simulate";
}

// The header x-min-position, and the caller's own writes.
void await_position(const method& m, exchange_ptr x,
                    std::function<void()> next) {
  const auto& text = x->call.min_position;
  if (text.empty())
    return is_read(m) ? await_models(x, 0, std::move(next)) : next();
  std::uint64_t wanted = 0;
  auto [end, bad] =
      std::from_chars(text.data(), text.data() + text.size(), wanted);
  if (bad != std::errc{} || end != text.data() + text.size())
    return x->refuse(errc::invalid_input, "x-min-position is not a position");
  x->streams->head(
      then(x, [x, wanted, reads = is_read(m),
               next = std::move(next)](const events::head_row& head) {
        if (wanted > head.position)
          return x->refuse(errc::invalid_input,
                           "x-min-position is beyond the journal's head");
        if (reads)
          return await_models(x, wanted, next);
        next();
      }));
}

result<json::document> read_input(const method& m, const std::string& body) {
  BC_TRY(input, json::parse_object(body));
  BC_TRYV(check_input(m.group, m.name, input));
  return std::move(input);
}

void take_up(exchange_ptr x) {
  const auto* m = find_method(x->call);
  if (!m)
    return x->refuse(errc::not_found, "No such method");
  if (x->call.body.size() > max_body)
    return x->refuse_size();
  auto input = read_input(*m, x->call.body);
  if (!input) {
    const auto& why = input.error();
    return why.code == errc::invalid_input ? x->refuse(why) : x->break_off(why);
  }
  x->input = std::move(input).value();
  x->call.body.clear();
  // Where the schema does not ask for it, the caller's own is meant.
  auto own = x->who.tenant.str();
  auto tenant = x->in().optional_text("tenantId");
  if (!tenant || tenant.value().value_or(own) != own)
    return x->refuse(errc::not_found, "No such tenant");
  await_position(*m, x, [m, x] {
    if (!m->replay)
      return authorise(*m, x);
    m->replay(x, [m, x] { authorise(*m, x); });
  });
}

}  // namespace

std::vector<method_info> method_table() {
  std::vector<method_info> out;
  for (const auto& m : methods)
    out.push_back({m.group, m.name, m.action, m.resource_kind, m.field,
                   m.root_only, changes_nothing(m)});
  return out;
}

result<void> check_opens_something(const events::credential::grant& g) {
  const std::vector<events::credential::grant> anywhere{{g.action, "*"}};
  bool known = false;
  for (const auto& m : methods) {
    if (!allows(anywhere, m.action, m.resource_kind))
      continue;
    if (is_resource_of(m, g.resource))
      return ok();
    known = true;
  }
  if (!known)
    return fail(errc::invalid_input, "matches no action of this API",
                "/action");
  return fail(errc::invalid_input,
              "is no resource this action is decided on (KIND/ID or KIND/*)",
              "/resource");
}

}  // namespace api

void run_api_call(std::shared_ptr<const api_environment> env,
                  std::shared_ptr<ledger> streams, api_call call,
                  std::function<void(api_reply)> done) {
  auto x = std::make_shared<api::exchange>(std::move(env), std::move(streams),
                                           std::move(call), std::move(done));
  api::authenticate(x, [x] { api::take_up(x); });
}

}  // namespace bc::actors
