#include "actors/api/node_records.hpp"

#include "events/node_sessions.hpp"

#include <optional>
#include <utility>

namespace bc::actors::api {

namespace {

using projections::certificate_row;
using projections::node_row;

std::optional<std::string> text_of(const std::optional<time_point>& t) {
  return t ? std::optional{to_rfc3339(*t)} : std::nullopt;
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional{text};
}

certificate_row row_of(const events::node::issued& i, const node_id& node) {
  certificate_row row;
  row.serial = i.cert.serial;
  row.node = node.str();
  row.role = pki::role_text(i.cert.role);
  row.spki_sha256 = i.cert.spki_sha256;
  row.generation = i.cert.generation;
  row.not_before = i.cert.not_before;
  row.not_after = i.cert.not_after;
  row.revoked_at = i.revoked_at;
  if (i.revoked_for)
    row.revoked_for = events::node::revocation_text(*i.revoked_for);
  return row;
}

time_point warn_of(const certificate_row& row) {
  events::node::certificate c;
  c.not_before = row.not_before;
  c.not_after = row.not_after;
  return events::node::warn_from(c);
}

void add_cordoned(std::vector<condition>& to, const node_row& node) {
  if (node.cordoned_at)
    to.push_back({"Cordoned", *node.cordoned_at,
                  node.cordon_reason.value_or(
                      "An operator took it out of service; nodes.adopt "
                      "brings it back")});
}

// "a, b" of a JSON array of texts.
std::string list_text(const std::optional<std::string>& json_array) {
  std::string out;
  auto items = json::parse(json_array.value_or("[]"));
  if (items && items.value().IsArray())
    for (const auto& item : items.value().GetArray())
      if (item.IsString())
        out.append(out.empty() ? "" : ", ").append(item.GetString());
  return out;
}

void add_acceptance(std::vector<condition>& to, const node_row& node) {
  using events::node::status;
  if (!node.acceptance || node.status != status_text(status::adopting))
    return;
  if (node.acceptance_failed_at)
    to.push_back({"AcceptanceFailed", *node.acceptance_failed_at,
                  "These checks of its pool did not pass: " +
                      list_text(node.failed_checks) +
                      "; mend the cause, then nodes.adopt takes it into "
                      "service"});
  else if (node.acceptance_started_at)
    to.push_back({"AwaitingAcceptance", *node.acceptance_started_at,
                  "The acceptance checks of its pool are running"});
  else
    to.push_back({"AwaitingAcceptance", node.joined_at,
                  "Its pool runs acceptance checks before a node is adopted; "
                  "they begin at its first session"});
}

void add_of_certificate(std::vector<condition>& to, const certificate_row& c,
                        time_point now) {
  if (c.revoked_at)
    to.push_back({"IdentityRevoked", *c.revoked_at,
                  "Its certificate is revoked; the machine must join again "
                  "with a token that allows a reclaim"});
  else if (now >= c.not_after)
    to.push_back({"CertificateExpired", c.not_after,
                  "Its certificate is over and was not renewed; the machine "
                  "comes back by it within seven days, where x509pop is "
                  "configured, or must join again"});
  else if (auto due = warn_of(c); now >= due)
    to.push_back({"CertificateExpiring", due,
                  "Its certificate should have been renewed by now: see that "
                  "the machine runs and reaches its gateway"});
}

// A suspicion is of the machine that holds the certificate now: it falls with
// that certificate.
void add_cloned(std::vector<condition>& to, const node_row& node) {
  const auto& suspected = node.clone_suspected_at;
  bool is_past = suspected && *suspected < node.joined_at;
  bool is_dealt_with = node.certificate && node.certificate->revoked_at;
  if (suspected && !is_past && !is_dealt_with)
    to.push_back({"CloneSuspected", *suspected,
                  "Several machines take this node from one another: revoke "
                  "its identity, and join the right one again"});
}

void add_of_hardware(std::vector<condition>& to, const node_row& node) {
  if (node.hardware_changed_at) {
    const auto which = list_text(node.changed_identifiers);
    to.push_back({"HardwareChanged", *node.hardware_changed_at,
                  "Its inventory names other hardware than it joined with" +
                      (which.empty() ? "" : " (" + which + ")") +
                      "; it keeps the key it joined by. If the machine was "
                      "replaced, delete the node and join the new one"});
  }
  if (node.hardware_taken_at)
    to.push_back({"HardwareTaken", *node.hardware_taken_at,
                  "Its inventory names hardware that another node holds, so "
                  "it goes without a trusted hardware key; find the other one "
                  "by this key and delete the one that is over"});
}

std::optional<projections::session_row> session_of(
    const events::node::state& s) {
  if (!s.session)
    return std::nullopt;
  projections::session_row row{s.session->session,
                               s.session->gateway,
                               s.session->address,
                               s.session->version,
                               s.session->at,
                               {},
                               {}};
  if (const auto& over = s.session_over) {
    row.disconnected_at = over->at;
    row.reason = events::node::session_end_text(over->reason);
  }
  return row;
}

std::string json_list(const std::vector<std::string>& items) {
  json::writer out;
  out.begin_array();
  for (const auto& item : items)
    out.text(item);
  return out.end_array().str();
}

}  // namespace

node_row row_of(const events::node::state& s) {
  const auto& j = *s.node;
  node_row row;
  row.id = j.id.str();
  row.tenant = j.tenant.str();
  row.site = j.site.str();
  row.pool = j.pool ? j.pool->str() : "";
  row.status = events::node::status_text(s.current);
  row.attestor = j.attestor;
  row.hardware_key = j.hardware_key;
  row.hostname = j.claims.hostname;
  row.node_key = j.node_key;
  row.role = pki::role_text(j.cert.role);
  row.trust = events::node::trust_text(j.node_trust);
  row.hardware_key_trusted = j.hardware_key_trusted;
  row.acceptance = j.acceptance;
  row.generation = s.generation;
  row.joined_at = j.at;
  row.adopted_at = s.adopted_at;
  if (s.cordon) {
    row.cordoned_at = s.cordon->at;
    row.cordon_reason = unless_empty(s.cordon->reason);
  }
  row.retired_at = s.retired_at;
  row.clone_suspected_at = s.clone_suspected_at;
  row.session = session_of(s);
  row.acceptance_started_at = s.acceptance_started_at;
  if (const auto& failed = s.failed_acceptance) {
    row.acceptance_failed_at = failed->at;
    row.failed_checks = json_list(failed->checks);
  }
  row.hardware_changed_at = s.hardware_changed_at;
  row.hardware_taken_at = s.hardware_taken_at;
  if (!s.changed_identifiers.empty())
    row.changed_identifiers = json_list(s.changed_identifiers);
  row.ek_hash = unless_empty(j.ek_hash);
  if (!s.certificates.empty())
    row.certificate = row_of(s.certificates.back(), j.id);
  return row;
}

std::vector<condition> conditions_of(const node_row& node, time_point now) {
  std::vector<condition> out;
  if (node.retired_at)
    return out;
  add_cordoned(out, node);
  add_acceptance(out, node);
  if (node.certificate)
    add_of_certificate(out, *node.certificate, now);
  add_cloned(out, node);
  add_of_hardware(out, node);
  return out;
}

void put(json::writer& out, const certificate_row& row) {
  out.field("serial", row.serial)
      .field("role", row.role)
      .field("spkiSha256", row.spki_sha256)
      .field("generation", row.generation)
      .field("notBefore", to_rfc3339(row.not_before))
      .field("notAfter", to_rfc3339(row.not_after))
      .field("revokedAt", text_of(row.revoked_at))
      .field("revokedFor", row.revoked_for);
}

namespace {

void put(json::writer& out, const projections::session_row& row) {
  out.field("id", row.id)
      .field("gatewayId", row.gateway)
      .field("address", row.address)
      .field("version", row.version)
      .field("connectedAt", to_rfc3339(row.connected_at))
      .field("disconnectedAt", text_of(row.disconnected_at))
      .field("reason", row.reason);
}

void put_session(json::writer& out, const node_row& node) {
  const auto& s = node.session;
  const bool connected = s && !s->disconnected_at;
  out.field("connected", connected);
  if (connected)
    out.field("connectedAt", to_rfc3339(s->connected_at));
  if (!s)
    return;
  out.key("lastSession").begin_object();
  put(out, *s);
  out.end_object();
}

}  // namespace

void put(json::writer& out, const node_record& node) {
  const auto& row = node.row;
  out.field("id", row.id)
      .field("tenantId", row.tenant)
      .field("siteId", row.site)
      .field("poolId", unless_empty(row.pool))
      .field("status", row.status)
      .field("role", row.role)
      .field("trust", row.trust)
      .field("attestor", row.attestor)
      .field("hostname", unless_empty(row.hostname))
      .field("hardwareKey", unless_empty(row.hardware_key))
      .field("hardwareKeyTrusted", row.hardware_key_trusted)
      .field("ekHash", row.ek_hash)
      .field("nodeKey", row.node_key)
      .field("identityGeneration", row.generation)
      .field("joinedAt", to_rfc3339(row.joined_at))
      .field("adoptedAt", text_of(row.adopted_at))
      .field("retiredAt", text_of(row.retired_at));
  put_session(out, row);
  out.key("conditions").begin_array();
  for (const auto& c : conditions_of(row, node.now))
    out.begin_object()
        .field("type", c.type)
        .field("since", to_rfc3339(c.since))
        .field("message", c.message)
        .end_object();
  out.end_array();
  if (row.certificate) {
    out.key("certificate").begin_object();
    put(out, *row.certificate);
    out.end_object();
  }
}

}  // namespace bc::actors::api
