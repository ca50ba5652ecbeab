#include "actors/api/request_records.hpp"

#include "actors/api/records.hpp"

#include <optional>
#include <string>

namespace bc::actors::api {

namespace {

using events::join_request::status;
using projections::join_request_row;

std::optional<std::string> text_of(const std::optional<time_point>& t) {
  return t ? std::optional{to_rfc3339(*t)} : std::nullopt;
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional{text};
}

std::string state_of(const request_record& request) {
  const auto& row = request.row;
  const bool ends = row.state == status_text(status::pending) ||
                    row.state == status_text(status::approved);
  return ends && request.now >= row.expires_at
             ? std::string{status_text(status::expired)}
             : row.state;
}

}  // namespace

join_request_row row_of(const events::join_request::state& s) {
  const auto& r = *s.request;
  const auto& seen = r.seen;
  join_request_row row;
  row.id = r.id.str();
  row.tenant = r.tenant.str();
  row.site = r.site.str();
  row.pool = r.pool ? r.pool->str() : "";
  row.attestor = r.attestor;
  row.state = status_text(s.stored);
  row.csr_sha256 = seen.csr_sha256;
  row.claims = events::join_request::text_of(seen.machine);
  row.hardware_key = seen.hardware_key;
  row.hardware_key_trusted = seen.trusted;
  if (const auto& v = seen.vouch) {
    row.mac = v->mac;
    row.ip = v->ip;
    row.vouched_by = v->by.str();
    row.boot_lease_epoch = v->boot_lease_epoch;
    row.workflow = v->workflow;
  }
  if (const auto& t = seen.tpm) {
    row.ek_hash = t->ek_hash;
    row.ek_cert = events::join_request::ek_text(t->certificate);
    row.ek_manufacturer = unless_empty(t->manufacturer);
    row.ek_model = unless_empty(t->model);
  }
  row.created_at = r.at;
  row.refreshed_at = s.refreshed_at;
  row.expires_at = r.expires_at;
  row.claims_changed = s.claims_changed;
  if (const auto& d = s.decided) {
    row.decided_at = d->at;
    row.decided_by = d->by;
    row.reason = unless_empty(d->reason);
  }
  row.consumed_at = s.consumed_at;
  row.superseded_at = s.superseded_at;
  row.node = bc::text_of(s.node);
  return row;
}

void put(json::writer& out, const request_record& request) {
  const auto& row = request.row;
  out.field("id", row.id)
      .field("siteId", row.site)
      .field("poolId", unless_empty(row.pool))
      .field("state", state_of(request))
      .field("attestor", row.attestor)
      .field("csrSha256", row.csr_sha256);
  out.key("claims");
  if (auto claims = json::parse_object(row.claims))
    put_identifiers(out, claims.value());
  else
    out.raw(row.claims);
  out.field("hardwareKey", unless_empty(row.hardware_key))
      .field("hardwareKeyTrusted", row.hardware_key_trusted)
      .field("mac", row.mac)
      .field("ip", row.ip)
      .field("workflowId", row.workflow)
      .field("vouchedBy", row.vouched_by)
      .field("bootLeaseEpoch", row.boot_lease_epoch)
      .field("ekHash", row.ek_hash)
      .field("ekCert", row.ek_cert)
      .field("ekManufacturer", row.ek_manufacturer)
      .field("ekModel", row.ek_model)
      .field("claimsChanged", row.claims_changed)
      .field("sameMac", request.same_mac)
      .field("createdAt", to_rfc3339(row.created_at))
      .field("refreshedAt", text_of(row.refreshed_at))
      .field("expiresAt", to_rfc3339(row.expires_at))
      .field("decidedAt", text_of(row.decided_at))
      .field("decidedBy", row.decided_by)
      .field("reason", row.reason)
      .field("consumedAt", text_of(row.consumed_at))
      .field("supersededAt", text_of(row.superseded_at))
      .field("nodeId", row.node);
}

}  // namespace bc::actors::api
