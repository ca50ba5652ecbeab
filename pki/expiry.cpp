#include "pki/expiry.hpp"

#include "pki/pem.hpp"
#include "pki/x509.hpp"

#include <algorithm>

namespace bc::pki {

result<validity> validity_of(std::string_view chain_pem) {
  constexpr std::string_view begin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view end = "-----END CERTIFICATE-----";
  auto from = chain_pem.find(begin);
  auto to = chain_pem.find(end, std::min(from, chain_pem.size()));
  if (from == chain_pem.npos || to == chain_pem.npos)
    return fail(errc::invalid_input, "no certificate in PEM");
  BC_TRY(der, pem::decode("CERTIFICATE",
                          chain_pem.substr(from, to + end.size() - from)));
  BC_TRY(parts, x509::split(der.expose()));
  return validity{parts.not_before, parts.not_after};
}

result<time_point> not_after_of(std::string_view chain_pem) {
  BC_TRY(found, validity_of(chain_pem));
  return found.not_after;
}

}  // namespace bc::pki
