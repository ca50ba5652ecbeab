#include "events/state_codec.hpp"

#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/state_fields.hpp"

#include <optional>

namespace bc::events {

namespace join_token {

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version).field("usesLeft", s.uses_left);
    if (s.revoked_at)
      out.field("revokedAtMs", to_millis(*s.revoked_at));
    if (s.token)
      state_fields::put_event(out.key("created"), encode(event{*s.token}));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, state_fields::read_version(in));
  s.version = version;
  BC_TRY(left, in.integer("usesLeft"));
  s.uses_left = left;
  BC_TRY(revoked, in.optional_integer("revokedAtMs"));
  if (revoked)
    s.revoked_at = from_millis(*revoked);
  BC_TRY(token, state_fields::event_or_none<created>(
                    in, "created", name::join_token_created, &decode));
  s.token = std::move(token);
  return s;
}

}  // namespace join_token

namespace boot_lease {

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version);
    if (s.lease)
      state_fields::put_event(out.key("lease"), encode(event{*s.lease}));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, state_fields::read_version(in));
  s.version = version;
  BC_TRY(lease, state_fields::event_or_none<acquired>(
                    in, "lease", name::boot_lease_acquired, &decode));
  s.lease = std::move(lease);
  return s;
}

}  // namespace boot_lease

namespace join_request {

namespace {

void put(json::writer& out, const decision& d) {
  out.key("decided").begin_object();
  out.field("by", d.by)
      .field("reason", d.reason)
      .field("atMs", to_millis(d.at));
  out.end_object();
}

result<std::optional<decision>> read_decision(const json::reader& in) {
  if (!in.has("decided"))
    return std::nullopt;
  BC_TRY(from, in.object("decided"));
  BC_TRY(by, from.text("by"));
  BC_TRY(reason, from.text("reason"));
  BC_TRY(at, codec::millis_of(from, "atMs"));
  return decision{by, reason, at};
}

}  // namespace

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version)
        .field("status", status_text(s.stored))
        .field("claimsChanged", s.claims_changed);
    if (s.request)
      state_fields::put_event(out.key("request"), encode(event{*s.request}));
    state_fields::put_time(out, "refreshedAtMs", s.refreshed_at);
    if (s.decided)
      put(out, *s.decided);
    state_fields::put_time(out, "consumedAtMs", s.consumed_at);
    state_fields::put_time(out, "supersededAtMs", s.superseded_at);
    out.field("node", text_of(s.node));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, state_fields::read_version(in));
  s.version = version;
  BC_TRY(stored, codec::one_of(in, "status", parse_status));
  s.stored = stored;
  BC_TRY(changed, in.boolean("claimsChanged"));
  s.claims_changed = changed;
  BC_TRY(request, state_fields::event_or_none<opened>(
                      in, "request", name::join_request_opened, &decode));
  s.request = std::move(request);
  BC_TRY(refreshed_at, state_fields::time_or_none(in, "refreshedAtMs"));
  s.refreshed_at = refreshed_at;
  BC_TRY(decided, read_decision(in));
  s.decided = std::move(decided);
  BC_TRY(consumed_at, state_fields::time_or_none(in, "consumedAtMs"));
  s.consumed_at = consumed_at;
  BC_TRY(superseded_at, state_fields::time_or_none(in, "supersededAtMs"));
  s.superseded_at = superseded_at;
  if (in.has("node")) {
    BC_TRY(node, codec::id_of<node_id>(in, "node"));
    s.node = std::move(node);
  }
  return s;
}

}  // namespace join_request

}  // namespace bc::events
