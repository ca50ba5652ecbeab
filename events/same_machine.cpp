#include "events/same_machine.hpp"

#include <algorithm>

namespace bc::events {

namespace {

bool has_its_mac(const join_request::sighting& seen, const node::joined& j) {
  if (seen.trusted || !seen.vouch)
    return false;
  const auto macs = macs_of(j);
  return std::ranges::find(macs, seen.vouch->mac) != macs.end();
}

}  // namespace

std::vector<std::string> macs_of(const node::joined& j) {
  pki::hardware_claims claims;
  claims.macs = j.claims.macs;
  return pki::normalise(claims).macs;
}

bool is_of_its_own(const join_request::opened& r, const node::joined& j) {
  return r.pool ? r.pool == j.pool : r.tenant == j.tenant;
}

bool is_same_machine(const join_request::state& s, const tenant_id& waits_for,
                     const node::joined& j) {
  const auto& r = *s.request;
  const auto& seen = r.seen;
  if (r.site != j.site ||
      (seen.tpm && j.cert.role == pki::certificate_role::ramdisk))
    return false;
  if (seen.tpm && seen.tpm->ek_hash == j.ek_hash)
    return true;
  if (waits_for == j.tenant && seen.trusted && j.hardware_key_trusted &&
      seen.hardware_key == j.hardware_key)
    return true;
  return s.stored == join_request::status::pending && is_of_its_own(r, j) &&
         has_its_mac(seen, j);
}

}  // namespace bc::events
