#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/certificate.hpp"

#include <cstdint>
#include <span>
#include <string>

/// Certificate revocation lists (RFC 5280 section 5).
namespace bc::pki {

/// CRLReason of RFC 5280 section 5.3.1, those that occur here.
enum class crl_reason : std::uint8_t {
  unspecified = 0,  // left out, as the RFC wants
  superseded = 4,
  cessation_of_operation = 5
};

struct revoked_serial {
  std::string serial;  // issued_certificate::serial
  time_point at;
  crl_reason why = crl_reason::unspecified;
};

/// DER of a whole v2 CRL of what the CA issued: authority key id and CRL
/// number, ecdsa-with-SHA256. `number` must rise from list to list.
/// INVALID_INPUT for a serial that is none.
[[nodiscard]] result<bytes> make_crl(const issuer& ca,
                                     std::span<const revoked_serial> revoked,
                                     std::uint64_t number,
                                     time_point this_update,
                                     time_point next_update);

/// What tells one CA's lists from another's: the key id (hex) of the CA, which
/// its certificates and lists name as their authority's.
[[nodiscard]] std::string authority_id(const issuer& ca);
/// The same of who issued a certificate (DER); empty where it names none.
[[nodiscard]] std::string authority_id_of(byte_view certificate);

}  // namespace bc::pki
