#include "events/credential.hpp"

#include "events/bearer.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"

#include <algorithm>

namespace bc::events::credential {

namespace {

constexpr std::size_t max_pattern = 256;

bool is_pattern_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') ||
         std::string_view{"._:/-"}.find(c) != std::string_view::npos;
}

bool is_pattern(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > max_pattern)
    return false;
  if (pattern == "*")
    return true;
  if (pattern.back() == '*') {
    pattern.remove_suffix(1);
    if (pattern.back() != ':' && pattern.back() != '/')
      return false;
  }
  return std::all_of(pattern.begin(), pattern.end(), is_pattern_char);
}

bool covers(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || pattern.back() != '*')
    return pattern == text;
  pattern.remove_suffix(1);
  return text.substr(0, pattern.size()) == pattern;
}

result<std::vector<grant>> read_grants(const json::reader& from) {
  const auto& list = from.raw();
  auto it = list.FindMember("grants");
  if (it == list.MemberEnd() || !it->value.IsArray())
    return fail(errc::invalid_input, "must be an array", "/grants");
  std::vector<grant> out;
  for (const auto& item : it->value.GetArray()) {
    if (!item.IsObject())
      return fail(errc::invalid_input, "must hold objects", "/grants");
    json::reader one{item, "/grants"};
    BC_TRY(action, one.text("action"));
    BC_TRY(resource, one.text("resource"));
    out.push_back({action, resource});
  }
  return out;
}

}  // namespace

result<void> check_grant(const grant& g) {
  if (!is_pattern(g.action))
    return fail(errc::invalid_input,
                "must be a name, or end in '*' after a ':' or '/'", "/action");
  if (!is_pattern(g.resource))
    return fail(errc::invalid_input,
                "must be a name, or end in '*' after a ':' or '/'",
                "/resource");
  return ok();
}

void put_grants(json::writer& out, const std::vector<grant>& grants) {
  out.begin_array();
  for (const auto& g : grants)
    out.begin_object()
        .field("action", g.action)
        .field("resource", g.resource)
        .end_object();
  out.end_array();
}

bool allows(const std::vector<grant>& grants, std::string_view action,
            std::string_view resource) {
  return std::any_of(grants.begin(), grants.end(), [&](const grant& g) {
    return covers(g.action, action) && covers(g.resource, resource);
  });
}

result<std::vector<event>> decide(const state& s, const revoke& c) {
  if (!s.credential)
    return fail(errc::not_found, "No such credential");
  if (s.revoked_at)
    return std::vector<event>{};
  return std::vector<event>{
      revoked{s.credential->id, s.credential->principal, c.at}};
}

state evolve(state s, const event& e) {
  ++s.version;
  if (const auto* c = std::get_if<created>(&e); c && !s.credential)
    s.credential = *c;
  if (const auto* r = std::get_if<revoked>(&e);
      r && s.credential && !s.revoked_at)
    s.revoked_at = r->at;
  return s;
}

namespace {

event_write encoded(const revoked& r) {
  auto data = codec::object([&](json::writer& out) {
    out.field("credentialId", r.id.str())
        .field("principal", r.principal)
        .field("revokedAt", to_rfc3339(r.at));
  });
  return {std::string{name::credential_revoked}, 1, std::move(data), "{}", {}};
}

event_write encoded(const created& c) {
  auto data = codec::object([&](json::writer& out) {
    out.field("credentialId", c.id.str()).field("principal", c.principal);
    put_grants(out.key("grants"), c.grants);
    out.field("createdAt", to_rfc3339(c.at));
  });
  auto internal = codec::object([&](json::writer& out) {
    out.field("tenantId", c.tenant.str())
        .field("secretSha256", c.secret_sha256);
  });
  return {std::string{name::credential_created},
          1,
          std::move(data),
          std::move(internal),
          {}};
}

result<event> decode_revoked(const envelope& e) {
  return codec::read_event(
      e, [](const json::reader& data, const json::reader&) -> result<event> {
        BC_TRY(id, codec::id_of<credential_id>(data, "credentialId"));
        BC_TRY(principal, data.text("principal"));
        BC_TRY(at, codec::time_of(data, "revokedAt"));
        return revoked{id, principal, at};
      });
}

}  // namespace

event_write encode(const event& e) {
  return std::visit([](const auto& one) { return encoded(one); }, e);
}

result<event> decode(const envelope& e) {
  if (codec::is(e, name::credential_revoked))
    return decode_revoked(e);
  if (!codec::is(e, name::credential_created))
    return codec::unknown_event(e);
  return codec::read_event(
      e,
      [](const json::reader& data,
         const json::reader& internal) -> result<event> {
        BC_TRY(id, codec::id_of<credential_id>(data, "credentialId"));
        BC_TRY(principal, data.text("principal"));
        BC_TRY(grants, read_grants(data));
        BC_TRY(at, codec::time_of(data, "createdAt"));
        BC_TRY(tenant, codec::id_of<tenant_id>(internal, "tenantId"));
        BC_TRY(secret, internal.text("secretSha256"));
        return created{id, tenant, principal, grants, at, secret};
      });
}

std::optional<bearer> parse_bearer(std::string_view text) {
  auto parts = split_bearer(text);
  if (!parts)
    return std::nullopt;
  auto id = credential_id::parse(parts->first);
  if (!id)
    return std::nullopt;
  return bearer{std::move(id).value(), secret_bytes{parts->second}};
}

bool secret_matches(const state& s, const secret_bytes& secret) {
  return s.credential && is_digest_of(s.credential->secret_sha256, secret);
}

}  // namespace bc::events::credential
