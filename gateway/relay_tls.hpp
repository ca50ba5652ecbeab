#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "gateway/http_server.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace bc::gateway {

/// What a connection to an API process is opened with, and whose certificates
/// it is checked by; included by gateway/*.cpp alone.
struct relay_tls {
  std::shared_ptr<boost::asio::ssl::context> context;
  std::vector<bytes> internal_cas;
};

/// INVALID_CONFIG for a certificate, key or CA that cannot be used.
[[nodiscard]] result<relay_tls> make_relay_tls(
    const tls_identity& identity, const std::string& internal_ca_pem);

/// INVALID_CONFIG unless these CAs made the certificate, for a gateway.
[[nodiscard]] result<void> must_be_gateways(
    const tls_identity& identity, const std::vector<bytes>& internal_cas);

}  // namespace bc::gateway
