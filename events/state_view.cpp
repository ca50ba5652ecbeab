#include "events/state_view.hpp"

#include "base/encoding.hpp"
#include "events/codec.hpp"

#include <optional>

namespace bc::events {

namespace {

/// The version, what `more` adds, and the event that made the stream's
/// subject, its two halves apart.
template <class State, class Fill>
std::string view_of(const State& s, std::string_view name,
                    const std::optional<event_write>& made, bool with_internal,
                    Fill more) {
  return codec::object([&](json::writer& out) {
    out.field("version", s.version);
    more(out);
    if (!made)
      return;
    out.key(name).raw(made->data);
    if (with_internal)
      out.key("internal").raw(made->internal);
  });
}

void put_time(json::writer& out, std::string_view name,
              const std::optional<time_point>& t) {
  if (t)
    out.field(name, to_rfc3339(*t));
}

constexpr auto nothing_more = [](json::writer&) {};

}  // namespace

namespace tenant {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.tenant)
    made = encode(event{*s.tenant});
  return view_of(s, "tenant", made, with_internal, nothing_more);
}
}  // namespace tenant

namespace site {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.site)
    made = encode(event{*s.site});
  return view_of(s, "site", made, with_internal, [&](json::writer& out) {
    put_time(out, "deletedAt", s.deleted_at);
  });
}
}  // namespace site

namespace pool {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.pool)
    made = encode(event{*s.pool});
  return view_of(s, "pool", made, with_internal, [&](json::writer& out) {
    put_time(out, "archivedAt", s.archived_at);
  });
}
}  // namespace pool

namespace credential {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.credential)
    made = encode(event{*s.credential});
  return view_of(s, "credential", made, with_internal, [&](json::writer& out) {
    put_time(out, "revokedAt", s.revoked_at);
  });
}
}  // namespace credential

namespace join_token {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.token)
    made = encode(event{*s.token});
  return view_of(s, "token", made, with_internal, [&](json::writer& out) {
    out.field("usesLeft", s.uses_left);
    put_time(out, "revokedAt", s.revoked_at);
  });
}
}  // namespace join_token

namespace join_request {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.request)
    made = encode(event{*s.request});
  return view_of(s, "request", made, with_internal, [&](json::writer& out) {
    out.field("state", status_text(s.stored));
    out.field("claimsChanged", s.claims_changed);
    put_time(out, "refreshedAt", s.refreshed_at);
    if (s.decided) {
      if (with_internal)
        out.field("decidedBy", s.decided->by);
      codec::put_unless_empty(out, "reason", s.decided->reason);
      put_time(out, "decidedAt", s.decided->at);
    }
    put_time(out, "consumedAt", s.consumed_at);
    put_time(out, "supersededAt", s.superseded_at);
    out.field("nodeId", text_of(s.node));
  });
}
}  // namespace join_request

namespace node {

namespace {

void put(json::writer& out, const issued& i, bool with_internal) {
  const auto& c = i.cert;
  out.begin_object()
      .field("serial", c.serial)
      .field("spkiSha256", c.spki_sha256)
      .field("role", pki::role_text(c.role))
      .field("generation", c.generation)
      .field("notBefore", to_rfc3339(c.not_before))
      .field("notAfter", to_rfc3339(c.not_after))
      .field("statements", c.statements);
  put_time(out, "revokedAt", i.revoked_at);
  if (i.revoked_for)
    out.field("revokedFor", revocation_text(*i.revoked_for));
  if (!c.allowed_kinds.empty())
    out.field("allowedKinds", c.allowed_kinds);
  if (with_internal)
    out.field("certificate", to_base64(c.der)).field("csrSha256", c.csr_sha256);
  out.end_object();
}

void put_session(json::writer& out, const state& s) {
  if (!s.session)
    return;
  out.key("session").raw(encode(event{*s.session}).data);
  if (s.session_over)
    out.key("sessionOver").raw(encode(event{*s.session_over}).data);
}

}  // namespace

std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.node)
    made = encode(event{*s.node});
  return view_of(s, "node", made, with_internal, [&](json::writer& out) {
    out.field("status", status_text(s.current))
        .field("generation", s.generation);
    if (s.cordon) {
      codec::put_unless_empty(out, "cordonReason", s.cordon->reason);
      put_time(out, "cordonedAt", s.cordon->at);
    }
    put_time(out, "adoptedAt", s.adopted_at);
    put_time(out, "acceptanceStartedAt", s.acceptance_started_at);
    if (s.failed_acceptance) {
      out.field("failedChecks", s.failed_acceptance->checks);
      put_time(out, "acceptanceFailedAt", s.failed_acceptance->at);
    }
    put_session(out, s);
    put_time(out, "cloneSuspectedAt", s.clone_suspected_at);
    put_time(out, "hardwareChangedAt", s.hardware_changed_at);
    if (!s.changed_identifiers.empty())
      out.field("changedIdentifiers", s.changed_identifiers);
    put_time(out, "hardwareTakenAt", s.hardware_taken_at);
    put_time(out, "retiredAt", s.retired_at);
    out.key("certificates").begin_array();
    for (const auto& i : s.certificates)
      put(out, i, with_internal);
    out.end_array();
  });
}

}  // namespace node

namespace command {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.command)
    made = encode(event{*s.command});
  return view_of(s, "command", made, with_internal, [&](json::writer& out) {
    if (!s.outcome)
      return;
    out.field("succeeded", s.outcome->succeeded);
    put_time(out, "completedAt", s.outcome->at);
    if (with_internal)
      out.field("output", s.outcome->output);
  });
}
}  // namespace command

namespace boot_lease {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.lease)
    made = encode(event{*s.lease});
  return view_of(s, "lease", made, with_internal, nothing_more);
}
}  // namespace boot_lease

namespace refusal {
std::string view(const state& s, bool with_internal) {
  return view_of(s, {}, std::nullopt, with_internal, nothing_more);
}
}  // namespace refusal

namespace journal_log {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.last)
    made = encode(event{*s.last});
  return view_of(s, "journal", made, with_internal, nothing_more);
}
}  // namespace journal_log

namespace pki_bundle {
std::string view(const state& s, bool with_internal) {
  std::optional<event_write> made;
  if (s.bundle)
    made = encode(event{*s.bundle});
  return view_of(s, "bundle", made, with_internal, nothing_more);
}
}  // namespace pki_bundle

}  // namespace bc::events
