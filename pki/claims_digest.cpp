#include "pki/claims_digest.hpp"

#include <string>
#include <vector>

namespace bc::pki {

namespace {

void add_list(field_hash& to, const std::vector<std::string>& all) {
  to.add(std::to_string(all.size()));
  for (const auto& one : all)
    to.add(one);
}

}  // namespace

sha256_digest claims_digest(const wire::join_request& request) {
  const auto& h = request.hardware;
  field_hash out;
  out.add("bc-claims-v1")
      .add(request.attestor)
      .add(request.role)
      .add(request.site_id)
      .add(request.node_id)
      .add(h.product_uuid)
      .add(h.product_serial)
      .add(h.board_serial)
      .add(h.chassis_serial);
  add_list(out, h.macs);
  add_list(out, h.gpu_uuids);
  out.add(h.hostname);
  return std::move(out).finish();
}

}  // namespace bc::pki
