#include "base/encoding.hpp"
#include "events/codec.hpp"
#include "events/event_names.hpp"
#include "events/node_codec.hpp"
#include "events/state_codec.hpp"
#include "events/state_fields.hpp"

#include <optional>

namespace bc::events::node {

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
  state_fields::put_time(out, "revokedAtMs", i.revoked_at);
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
  BC_TRY(revoked, state_fields::time_or_none(in, "revokedAtMs"));
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

template <class Event>
void put_event_or_none(json::writer& out, std::string_view name,
                       const std::optional<Event>& e) {
  if (e)
    state_fields::put_event(out.key(name), encode(event{*e}));
}

template <class Event>
result<std::optional<Event>> event_or_none(const json::reader& in,
                                           std::string_view name,
                                           std::string_view type) {
  return state_fields::event_or_none<Event>(in, name, type, &decode);
}

void put_sessions(json::writer& out, const state& s) {
  put_event_or_none(out, "session", s.session);
  put_event_or_none(out, "sessionOver", s.session_over);
  put_times(out, "takeoversMs", s.takeovers);
  state_fields::put_time(out, "acceptanceStartedAtMs", s.acceptance_started_at);
  out.field("acceptanceStartedVersion", s.acceptance_started_version);
  put_event_or_none(out, "failedAcceptance", s.failed_acceptance);
  codec::put_unless_empty(out, "toldOfExpiry", s.told_of_expiry);
  state_fields::put_time(out, "hardwareChangedAtMs", s.hardware_changed_at);
  state_fields::put_time(out, "hardwareTakenAtMs", s.hardware_taken_at);
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
  BC_TRY(started, state_fields::time_or_none(in, "acceptanceStartedAtMs"));
  s.acceptance_started_at = started;
  BC_TRY(version, in.integer("acceptanceStartedVersion"));
  s.acceptance_started_version = static_cast<std::uint64_t>(version);
  BC_TRY(failed, event_or_none<acceptance_failed>(
                     in, "failedAcceptance", name::node_acceptance_failed));
  s.failed_acceptance = std::move(failed);
  BC_TRY(told, in.optional_text("toldOfExpiry"));
  s.told_of_expiry = told.value_or("");
  BC_TRY(changed, state_fields::time_or_none(in, "hardwareChangedAtMs"));
  s.hardware_changed_at = changed;
  BC_TRY(taken, state_fields::time_or_none(in, "hardwareTakenAtMs"));
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
    state_fields::put_time(out, "cloneSuspectedAtMs", s.clone_suspected_at);
    state_fields::put_time(out, "retiredAtMs", s.retired_at);
    state_fields::put_time(out, "adoptedAtMs", s.adopted_at);
    put_event_or_none(out, "cordoned", s.cordon);
    put_sessions(out, s);
  });
}

result<state> decode_state(std::string_view text) {
  BC_TRY(parsed, json::parse_object(text));
  json::reader in{parsed};
  state s;
  BC_TRY(version, state_fields::read_version(in));
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
  BC_TRY(suspected, state_fields::time_or_none(in, "cloneSuspectedAtMs"));
  s.clone_suspected_at = suspected;
  BC_TRY(over, state_fields::time_or_none(in, "retiredAtMs"));
  s.retired_at = over;
  BC_TRY(adopted_at, state_fields::time_or_none(in, "adoptedAtMs"));
  s.adopted_at = adopted_at;
  BC_TRY(cordon, event_or_none<cordoned>(in, "cordoned", name::node_cordoned));
  s.cordon = std::move(cordon);
  BC_TRYV(read_sessions(s, in));
  return s;
}

}  // namespace bc::events::node
