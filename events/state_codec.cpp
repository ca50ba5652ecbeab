#include "events/state_codec.hpp"

#include "base/encoding.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"

#include <variant>

namespace bc::events {

namespace {

// An event inside a state is written as it stands in the journal, so that
// there is one codec for it.
void put_event(json::writer& out, const event_write& e) {
  out.begin_object().field("typeVersion", e.type_version);
  out.key("data").raw(e.data).key("internal").raw(e.internal).end_object();
}

template <class Event, class Decode>
result<Event> read_event(const json::reader& in, std::string_view type,
                         Decode decode) {
  envelope e;
  e.type = type;
  BC_TRY(version, in.integer("typeVersion"));
  e.type_version = static_cast<int>(version);
  BC_TRY(data, in.object("data"));
  e.data = json::to_text(data.raw());
  BC_TRY(internal, in.object("internal"));
  e.internal = json::to_text(internal.raw());
  BC_TRY(any, decode(e));
  auto* event = std::get_if<Event>(&any);
  if (event == nullptr)
    return fail(errc::internal, "The state holds another event");
  return std::move(*event);
}

result<std::uint64_t> read_version(const json::reader& in) {
  BC_TRY(version, in.integer("version"));
  if (version < 0)
    return fail(errc::internal, "The state has no version");
  return static_cast<std::uint64_t>(version);
}

void put_time(json::writer& out, std::string_view name,
              const std::optional<time_point>& t) {
  if (t)
    out.field(name, to_millis(*t));
}

result<std::optional<time_point>> time_or_none(const json::reader& in,
                                               std::string_view name) {
  BC_TRY(ms, in.optional_integer(name));
  return ms ? std::optional{from_millis(*ms)} : std::nullopt;
}

}  // namespace

namespace join_token {

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version).field("usesLeft", s.uses_left);
    if (s.revoked_at)
      out.field("revokedAtMs", to_millis(*s.revoked_at));
    if (s.token)
      put_event(out.key("created"), encode(event{*s.token}));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  BC_TRY(left, in.integer("usesLeft"));
  s.uses_left = left;
  BC_TRY(revoked, in.optional_integer("revokedAtMs"));
  if (revoked)
    s.revoked_at = from_millis(*revoked);
  if (in.has("created")) {
    BC_TRY(object, in.object("created"));
    BC_TRY(token,
           read_event<created>(object, name::join_token_created, &decode));
    s.token = std::move(token);
  }
  return s;
}

}  // namespace join_token

namespace boot_lease {

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version);
    if (s.lease)
      put_event(out.key("lease"), encode(event{*s.lease}));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  if (in.has("lease")) {
    BC_TRY(object, in.object("lease"));
    BC_TRY(lease,
           read_event<acquired>(object, name::boot_lease_acquired, &decode));
    s.lease = std::move(lease);
  }
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
      put_event(out.key("request"), encode(event{*s.request}));
    put_time(out, "refreshedAtMs", s.refreshed_at);
    if (s.decided)
      put(out, *s.decided);
    put_time(out, "consumedAtMs", s.consumed_at);
    put_time(out, "supersededAtMs", s.superseded_at);
    out.field("node", text_of(s.node));
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  BC_TRY(stored, codec::one_of(in, "status", parse_status));
  s.stored = stored;
  BC_TRY(changed, in.boolean("claimsChanged"));
  s.claims_changed = changed;
  if (in.has("request")) {
    BC_TRY(object, in.object("request"));
    BC_TRY(request,
           read_event<opened>(object, name::join_request_opened, &decode));
    s.request = std::move(request);
  }
  BC_TRY(refreshed_at, time_or_none(in, "refreshedAtMs"));
  s.refreshed_at = refreshed_at;
  BC_TRY(decided, read_decision(in));
  s.decided = std::move(decided);
  BC_TRY(consumed_at, time_or_none(in, "consumedAtMs"));
  s.consumed_at = consumed_at;
  BC_TRY(superseded_at, time_or_none(in, "supersededAtMs"));
  s.superseded_at = superseded_at;
  if (in.has("node")) {
    BC_TRY(node, codec::id_of<node_id>(in, "node"));
    s.node = std::move(node);
  }
  return s;
}

}  // namespace join_request

namespace node {

namespace {

void put(json::writer& out, const issued& i) {
  const auto& c = i.cert;
  out.begin_object()
      .field("serial", c.serial)
      .field("spkiSha256", c.spki_sha256)
      .field("role", pki::role_text(c.role))
      .field("generation", c.generation)
      .field("notBeforeMs", to_millis(c.not_before))
      .field("notAfterMs", to_millis(c.not_after))
      .field("statements", c.statements)
      .field("certificate", to_base64(c.der))
      .field("csrSha256", c.csr_sha256);
  if (!c.allowed_kinds.empty())
    out.field("allowedKinds", c.allowed_kinds);
  put_time(out, "revokedAtMs", i.revoked_at);
  if (i.revoked_for)
    out.field("revokedFor", revocation_text(*i.revoked_for));
  out.end_object();
}

result<issued> read_issued(const json::reader& in) {
  issued i;
  auto& c = i.cert;
  BC_TRY(serial, in.text("serial"));
  c.serial = std::move(serial);
  BC_TRY(spki, in.text("spkiSha256"));
  c.spki_sha256 = std::move(spki);
  BC_TRY(role, codec::one_of(in, "role", pki::parse_role));
  c.role = role;
  BC_TRY(generation, in.integer("generation"));
  c.generation = generation;
  BC_TRY(not_before, codec::millis_of(in, "notBeforeMs"));
  c.not_before = not_before;
  BC_TRY(not_after, codec::millis_of(in, "notAfterMs"));
  c.not_after = not_after;
  BC_TRY(statements, in.texts("statements"));
  c.statements = std::move(statements);
  BC_TRY(der, in.base64("certificate"));
  c.der = std::move(der);
  BC_TRY(csr, in.text("csrSha256"));
  c.csr_sha256 = std::move(csr);
  BC_TRY(kinds, in.texts_or_none("allowedKinds"));
  c.allowed_kinds = std::move(kinds);
  BC_TRY(revoked, time_or_none(in, "revokedAtMs"));
  i.revoked_at = revoked;
  if (in.has("revokedFor")) {
    BC_TRY(why, codec::one_of(in, "revokedFor", parse_revocation));
    i.revoked_for = why;
  }
  return i;
}

result<json::value::ConstArray> array_of(const json::reader& in,
                                         const char* name) {
  if (!in.has(name) || !in.raw()[name].IsArray())
    return fail(errc::internal, "The state has no " + std::string{name});
  return in.raw()[name].GetArray();
}

result<void> read_certificates(state& s, const json::reader& in) {
  BC_TRY(all, array_of(in, "certificates"));
  for (const auto& item : all) {
    if (!item.IsObject())
      return fail(errc::internal, "A certificate is no object");
    BC_TRY(one, read_issued(json::reader{item}));
    s.certificates.push_back(std::move(one));
  }
  return ok();
}

void put_times(json::writer& out, std::string_view name,
               const std::vector<time_point>& times) {
  out.key(name).begin_array();
  for (auto at : times)
    out.integer(to_millis(at));
  out.end_array();
}

result<std::vector<time_point>> times_of(const json::reader& in,
                                         const char* name) {
  BC_TRY(all, array_of(in, name));
  std::vector<time_point> out;
  for (const auto& item : all) {
    if (!item.IsInt64())
      return fail(errc::internal, std::string{name} + " holds what is no time");
    out.push_back(from_millis(item.GetInt64()));
  }
  return out;
}

/// An event that the state may hold.
template <class Event>
void put_event_or_none(json::writer& out, std::string_view name,
                       const std::optional<Event>& e) {
  if (e)
    put_event(out.key(name), encode(event{*e}));
}

template <class Event>
result<std::optional<Event>> event_or_none(const json::reader& in,
                                           std::string_view name,
                                           std::string_view type) {
  if (!in.has(name))
    return std::optional<Event>{};
  BC_TRY(object, in.object(name));
  BC_TRY(read, read_event<Event>(object, type, &decode));
  return std::optional{std::move(read)};
}

void put_sessions(json::writer& out, const state& s) {
  put_event_or_none(out, "session", s.session);
  put_event_or_none(out, "sessionOver", s.session_over);
  put_times(out, "takeoversMs", s.takeovers);
  put_time(out, "acceptanceStartedAtMs", s.acceptance_started_at);
  out.field("acceptanceStartedVersion", s.acceptance_started_version);
  put_event_or_none(out, "failedAcceptance", s.failed_acceptance);
  codec::put_unless_empty(out, "toldOfExpiry", s.told_of_expiry);
  put_time(out, "hardwareChangedAtMs", s.hardware_changed_at);
  put_time(out, "hardwareTakenAtMs", s.hardware_taken_at);
  if (!s.changed_identifiers.empty())
    out.field("changedIdentifiers", s.changed_identifiers);
  detail::put_identifiers(out, s.identifiers);
}

result<void> read_sessions(state& s, const json::reader& in) {
  BC_TRY(session,
         event_or_none<connected>(in, "session", name::node_connected));
  s.session = std::move(session);
  BC_TRY(over, event_or_none<disconnected>(in, "sessionOver",
                                           name::node_disconnected));
  s.session_over = std::move(over);
  BC_TRY(takeovers, times_of(in, "takeoversMs"));
  s.takeovers = std::move(takeovers);
  BC_TRY(started, time_or_none(in, "acceptanceStartedAtMs"));
  s.acceptance_started_at = started;
  BC_TRY(version, in.integer("acceptanceStartedVersion"));
  s.acceptance_started_version = static_cast<std::uint64_t>(version);
  BC_TRY(failed, event_or_none<acceptance_failed>(
                     in, "failedAcceptance", name::node_acceptance_failed));
  s.failed_acceptance = std::move(failed);
  BC_TRY(told, in.optional_text("toldOfExpiry"));
  s.told_of_expiry = told.value_or("");
  BC_TRY(changed, time_or_none(in, "hardwareChangedAtMs"));
  s.hardware_changed_at = changed;
  BC_TRY(taken, time_or_none(in, "hardwareTakenAtMs"));
  s.hardware_taken_at = taken;
  BC_TRY(kinds, in.texts_or_none("changedIdentifiers"));
  s.changed_identifiers = std::move(kinds);
  BC_TRY(all, detail::read_identifiers(in));
  s.identifiers = std::move(all);
  return ok();
}

std::optional<status> parse_status(std::string_view text) {
  for (auto s :
       {status::adopting, status::adopted, status::cordoned, status::retired})
    if (status_text(s) == text)
      return s;
  return std::nullopt;
}

}  // namespace

std::string encode_state(const state& s) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version)
        .field("status", status_text(s.current))
        .field("generation", s.generation);
    put_event_or_none(out, "joined", s.node);
    out.key("certificates").begin_array();
    for (const auto& i : s.certificates)
      put(out, i);
    out.end_array();
    put_times(out, "reclaimsMs", s.reclaims);
    put_time(out, "cloneSuspectedAtMs", s.clone_suspected_at);
    put_time(out, "retiredAtMs", s.retired_at);
    put_time(out, "adoptedAtMs", s.adopted_at);
    put_event_or_none(out, "cordoned", s.cordon);
    put_sessions(out, s);
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, read_version(in));
  s.version = version;
  BC_TRY(current, codec::one_of(in, "status", parse_status));
  s.current = current;
  BC_TRY(generation, in.integer("generation"));
  s.generation = generation;
  BC_TRY(node, event_or_none<joined>(in, "joined", name::node_joined));
  s.node = std::move(node);
  BC_TRYV(read_certificates(s, in));
  BC_TRY(reclaims, times_of(in, "reclaimsMs"));
  s.reclaims = std::move(reclaims);
  BC_TRY(suspected, time_or_none(in, "cloneSuspectedAtMs"));
  s.clone_suspected_at = suspected;
  BC_TRY(over, time_or_none(in, "retiredAtMs"));
  s.retired_at = over;
  BC_TRY(adopted_at, time_or_none(in, "adoptedAtMs"));
  s.adopted_at = adopted_at;
  BC_TRY(cordon, event_or_none<cordoned>(in, "cordoned", name::node_cordoned));
  s.cordon = std::move(cordon);
  BC_TRYV(read_sessions(s, in));
  return s;
}

}  // namespace node

}  // namespace bc::events
