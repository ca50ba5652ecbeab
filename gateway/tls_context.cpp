#include "gateway/tls_context.hpp"

#include "gateway/reason.hpp"

#include <boost/asio/buffer.hpp>
#include <openssl/err.h>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

void use_our_protocol(SSL_CTX* raw) {
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set1_groups_list(raw, "X25519:P-256");
  // A resumed handshake costs the server as much as a full one here, and none
  // skips the check of a certificate.
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
}

result<void> use_identity(asio::ssl::context& tls,
                          const tls_identity& identity) {
  error_code ec;
  tls.use_certificate_chain(asio::buffer(identity.chain_pem), ec);
  if (ec)
    return fail(errc::invalid_config,
                "the TLS certificate chain cannot be read: " + reason_of(ec));
  auto key = identity.key_pem.expose();
  tls.use_private_key(asio::buffer(key.data(), key.size()),
                      asio::ssl::context::pem, ec);
  if (ec)
    return fail(errc::invalid_config,
                "the TLS key cannot be read, or is not the certificate's: " +
                    reason_of(ec));
  // OpenSSL keeps a pair for each type of key: one of another type than the
  // certificate's came beside it unseen.
  if (SSL_CTX_check_private_key(tls.native_handle()) != 1) {
    ERR_clear_error();
    return fail(errc::invalid_config, "the TLS key is not the certificate's");
  }
  return ok();
}

result<void> trust(asio::ssl::context& tls, const std::string& ca_pem) {
  error_code ec;
  tls.add_certificate_authority(asio::buffer(ca_pem), ec);
  if (ec)
    return fail(errc::invalid_config,
                "the CA certificate cannot be read: " + reason_of(ec));
  return ok();
}

}  // namespace

result<asio::ssl::context> make_server_tls(const tls_identity& identity,
                                           const client_verification& clients) {
  asio::ssl::context tls{asio::ssl::context::tls_server};
  use_our_protocol(tls.native_handle());
  BC_TRYV(use_identity(tls, identity));
  if (clients.ca_pem.empty()) {
    if (clients.required)
      return fail(errc::invalid_config,
                  "client certificates are required and no CA is given");
    return tls;
  }
  BC_TRYV(trust(tls, clients.ca_pem));
  SSL_CTX_set_verify(
      tls.native_handle(),
      SSL_VERIFY_PEER |
          (clients.required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  return tls;
}

result<asio::ssl::context> make_client_tls(const tls_identity& identity,
                                           const std::string& ca_pem) {
  asio::ssl::context tls{asio::ssl::context::tls_client};
  use_our_protocol(tls.native_handle());
  BC_TRYV(use_identity(tls, identity));
  BC_TRYV(trust(tls, ca_pem));
  SSL_CTX_set_verify(tls.native_handle(), SSL_VERIFY_PEER, nullptr);
  return tls;
}

std::string verified_peer(const SSL* ssl) {
  // Without a certificate the result is X509_V_OK too.
  auto* leaf = SSL_get0_peer_certificate(ssl);
  if (leaf == nullptr || SSL_get_verify_result(ssl) != X509_V_OK)
    return {};
  unsigned char* der = nullptr;
  int size = i2d_X509(leaf, &der);
  if (size <= 0)
    return {};
  std::string out{reinterpret_cast<const char*>(der),
                  static_cast<std::size_t>(size)};
  OPENSSL_free(der);
  return out;
}

}  // namespace bc::gateway
