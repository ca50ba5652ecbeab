#include "daemon/tpm/key_keeper.hpp"

#include "pki/tpm/cursor.hpp"
#include "pki/tpm/identity.hpp"
#include "pki/tpm/structures.hpp"

namespace bc::daemon::tpm {

result<pki::public_key> public_key_of(const key_blobs& key) {
  using namespace pki::tpm;
  auto area = parse_public(key.public_area);
  const auto* ecc = area ? area->ecc() : nullptr;
  if (ecc == nullptr || ecc->curve != curve::p256)
    return fail(errc::invalid_input, "not a P-256 key of a TPM");
  bytes point{0x04};
  put(point, padded(ecc->x, 32));
  put(point, padded(ecc->y, 32));
  return pki::public_key::from_point(point);
}

std::string statement_of(byte_view ak_public) {
  auto area = pki::tpm::parse_public(ak_public);
  return area ? pki::tpm::ak_statement(pki::tpm::name_of(*area, ak_public))
              : std::string{};
}

}  // namespace bc::daemon::tpm
