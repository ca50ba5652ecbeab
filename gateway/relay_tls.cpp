#include "gateway/relay_tls.hpp"

#include "gateway/relay_link.hpp"
#include "gateway/tls_context.hpp"
#include "pki/certificate.hpp"
#include "pki/internal.hpp"

namespace bc::gateway {

result<relay_tls> make_relay_tls(const tls_identity& identity,
                                 const std::string& internal_ca_pem) {
  auto cas = pki::certificates_from_pem(internal_ca_pem);
  if (!cas)
    return fail(errc::invalid_config,
                "the internal CA is not a certificate in PEM, or several");
  BC_TRY(tls, make_client_tls(identity, internal_ca_pem));
  speak_relay(tls, false);
  return relay_tls{std::make_shared<boost::asio::ssl::context>(std::move(tls)),
                   std::move(cas).value()};
}

result<void> must_be_gateways(const tls_identity& identity,
                              const std::vector<bytes>& internal_cas) {
  auto chain = pki::certificates_from_pem(identity.chain_pem);
  if (!chain || pki::internal_role_of(chain.value().front(), internal_cas) !=
                    pki::internal_role::gateway)
    return fail(errc::invalid_config,
                "the certificate is no gateway's of the internal CA");
  return ok();
}

}  // namespace bc::gateway
