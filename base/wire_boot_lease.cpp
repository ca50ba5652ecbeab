#include "base/wire_boot_lease.hpp"

#include "base/json.hpp"
#include "base/wire.hpp"
#include "base/wire_fields.hpp"

namespace bc::wire {

namespace {

using detail::bounded;
using detail::invalid;

constexpr std::size_t max_id = 64;

result<std::string> id_of(const json::reader& from, std::string_view name) {
  BC_TRY(id, from.text(name));
  if (id.empty() || id.size() > max_id)
    return invalid("must be 1 to 64 bytes", from.path_of(name));
  return std::move(id);
}

}  // namespace

std::string encode(const boot_lease_request& request) {
  json::writer out;
  out.begin_object()
      .field("protocol", protocol_version)
      .field("nodeId", request.node_id)
      .field("siteId", request.site_id);
  if (request.release)
    out.field("release", true);
  return out.end_object().str();
}

result<boot_lease_request> decode_boot_lease_request(std::string_view body) {
  BC_TRY(doc, detail::parse_body(body));
  json::reader from{doc};
  BC_TRYV(detail::check_protocol(from));
  BC_TRY(node, id_of(from, "nodeId"));
  BC_TRY(site, id_of(from, "siteId"));
  BC_TRY(release, from.boolean_or("release", false));
  return boot_lease_request{node, site, release};
}

std::string encode(const boot_lease_body& body) {
  json::writer out;
  out.begin_object()
      .field("held", body.held)
      .field("epoch", body.epoch)
      .field("expiresAt", body.expires_ms);
  if (!body.holder.empty())
    out.field("holder", body.holder);
  return out.end_object().str();
}

result<boot_lease_body> decode_boot_lease_body(std::string_view body) {
  BC_TRY(doc, detail::parse_body(body));
  json::reader from{doc};
  BC_TRY(held, from.boolean("held"));
  BC_TRY(epoch, from.integer("epoch"));
  BC_TRY(expires, from.integer("expiresAt"));
  BC_TRY(holder, bounded(from, "holder", max_id));
  if (epoch < 0 || expires < 0)
    return invalid("must not be negative",
                   from.path_of(epoch < 0 ? "epoch" : "expiresAt"));
  if (held && (holder.empty() || epoch == 0))
    return invalid("is held by none", from.path_of("holder"));
  return boot_lease_body{held, epoch, expires, holder};
}

}  // namespace bc::wire
