#pragma once

#include "gateway/http_server.hpp"

#include <boost/asio/ssl/context.hpp>

#include <utility>  // for Asio 1.74

/// How this folder speaks TLS; included by gateway/*.cpp alone.
namespace bc::gateway {

/// TLS 1.3 alone, X25519 or P-256, no tickets. INVALID_CONFIG for a chain, key
/// or CA that cannot be used.
[[nodiscard]] result<boost::asio::ssl::context> make_server_tls(
    const tls_identity& identity, const client_verification& clients);

/// The same for a client with a certificate of its own, which trusts the CAs in
/// `ca_pem`.
[[nodiscard]] result<boost::asio::ssl::context> make_client_tls(
    const tls_identity& identity, const std::string& ca_pem);

/// DER of the certificate the peer proved to hold; empty without one.
[[nodiscard]] std::string verified_peer(const SSL* ssl);

}  // namespace bc::gateway
