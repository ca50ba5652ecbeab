#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/join_token.hpp"
#include "events/streams.hpp"

namespace bc::events::join_token {

namespace {

using pki::hardware_expectation;

moves on_budget(budget_move::kind what, const join_token_id& id,
                std::int64_t amount) {
  moves m;
  m.budgets.push_back({what, stream_of(id), amount});
  return m;
}

moves effect(const created& c) {
  return on_budget(budget_move::kind::open, c.id, c.max_uses);
}
moves effect(const redeemed& r) {
  return on_budget(budget_move::kind::spend, r.id, 1);
}
moves effect(const revoked& r) {
  return on_budget(budget_move::kind::close, r.id, 0);
}

event_write write(const created& c) {
  auto type = c.token_role == role::site ? name::site_token_created
                                         : name::join_token_created;
  auto data = codec::object([&](json::writer& out) {
    out.field("tokenId", c.id.str())
        .field("poolId", text_of(c.pool))
        .field("siteId", c.site.str())
        .field("role", role_text(c.token_role))
        .field("maxUses", c.max_uses)
        .field("expiresAt", to_rfc3339(c.expires_at))
        .field("pinned", !c.expect.empty())
        .field("allowReclaim", c.allow_reclaim)
        .field("hosted", c.hosted)
        .field("nodeId", text_of(c.node));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", c.tenant.str())
        .field("createdAtMs", to_millis(c.created_at));
    out.key("expect").begin_object();
    out.field("productUuid", c.expect.product_uuid)
        .field("serial", c.expect.serial)
        .field("mac", c.expect.mac)
        .field("gpuUuid", c.expect.gpu_uuid);
    out.end_object().field("secretSha256", c.secret_sha256);
  });
  return {std::string{type}, 1, std::move(data), std::move(internal),
          effect(c)};
}

event_write write(const redeemed& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("tokenId", r.id.str())
        .field("nodeId", r.node.str())
        .field("csrSha256", r.csr_sha256);
  });
  return {std::string{name::join_token_redeemed}, 1, std::move(data), "{}",
          effect(r)};
}

event_write write(const revoked& r) {
  auto type = r.site ? name::site_token_revoked : name::join_token_revoked;
  auto data = codec::object([&](json::writer& out) {
    out.field("tokenId", r.id.str())
        .field("poolId", text_of(r.pool))
        .field("siteId", text_of(r.site))
        .field("revokedAt", to_rfc3339(r.at));
  });
  return {std::string{type}, 1, std::move(data), "{}", effect(r)};
}

result<hardware_expectation> read_expect(const json::reader& from) {
  BC_TRY(uuid, from.optional_text("productUuid"));
  BC_TRY(serial, from.optional_text("serial"));
  BC_TRY(mac, from.optional_text("mac"));
  BC_TRY(gpu, from.optional_text("gpuUuid"));
  return hardware_expectation{uuid, serial, mac, gpu};
}

template <class Id>
result<std::optional<Id>> optional_id(const json::reader& from,
                                      std::string_view name) {
  if (!from.has(name))
    return std::nullopt;
  BC_TRY(id, codec::id_of<Id>(from, name));
  return std::optional{std::move(id)};
}

result<event> read_created(const json::reader& data,
                           const json::reader& internal) {
  BC_TRY(id, codec::id_of<join_token_id>(data, "tokenId"));
  BC_TRY(pool, optional_id<pool_id>(data, "poolId"));
  BC_TRY(site, codec::id_of<site_id>(data, "siteId"));
  BC_TRY(token_role, codec::one_of(data, "role", parse_role));
  BC_TRY(max_uses, data.integer("maxUses"));
  BC_TRY(expires_at, codec::time_of(data, "expiresAt"));
  BC_TRY(allow_reclaim, data.boolean("allowReclaim"));
  BC_TRY(hosted, data.optional_text("hosted"));
  BC_TRY(node, optional_id<node_id>(data, "nodeId"));
  BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
  BC_TRY(created_at, codec::millis_of(internal, "createdAtMs"));
  BC_TRY(expect_object, internal.object("expect"));
  BC_TRY(expect, read_expect(expect_object));
  BC_TRY(secret, internal.text("secretSha256"));
  return created{id,         tenant, pool,          site,   token_role,
                 max_uses,   expect, allow_reclaim, hosted, created_at,
                 expires_at, secret, node};
}

result<event> read_redeemed(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<join_token_id>(data, "tokenId"));
  BC_TRY(node, codec::id_of<node_id>(data, "nodeId"));
  BC_TRY(csr, data.text("csrSha256"));
  return redeemed{std::move(id), std::move(node), std::move(csr)};
}

result<event> read_revoked(const json::reader& data, const json::reader&) {
  BC_TRY(id, codec::id_of<join_token_id>(data, "tokenId"));
  BC_TRY(pool, optional_id<pool_id>(data, "poolId"));
  BC_TRY(site, optional_id<site_id>(data, "siteId"));
  BC_TRY(at, codec::time_of(data, "revokedAt"));
  return revoked{id, pool, at, site};
}

}  // namespace

moves moves_of(const event& e) {
  return std::visit([](const auto& what) { return effect(what); }, e);
}

event_write encode(const event& e) {
  return std::visit([](const auto& what) { return write(what); }, e);
}

result<event> decode(const envelope& e) {
  return codec::decode<event>(e, {{name::join_token_created, read_created},
                                  {name::site_token_created, read_created},
                                  {name::join_token_redeemed, read_redeemed},
                                  {name::join_token_revoked, read_revoked},
                                  {name::site_token_revoked, read_revoked}});
}

}  // namespace bc::events::join_token
