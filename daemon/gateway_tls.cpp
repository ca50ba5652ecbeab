#include "daemon/gateway_tls.hpp"

#include "pki/certificate.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

bytes der_of(X509* certificate) {
  unsigned char* der = nullptr;
  int size = i2d_X509(certificate, &der);
  if (size <= 0)
    return {};
  bytes out{der, der + size};
  OPENSSL_free(der);
  return out;
}

}  // namespace

pinned_tls::pinned_tls(std::string host,
                       std::vector<std::string> serving_ca_pins)
    : host_(std::move(host)),
      pins_(std::move(serving_ca_pins)),
      tls_(asio::ssl::context::tls_client) {
  tls_.set_verify_mode(asio::ssl::verify_peer);
  SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_3_VERSION);
  SSL_CTX_set_cert_verify_callback(tls_.native_handle(), judge, this);
}

// Stands in for OpenSSL's own path building; no exception passes through C.
int pinned_tls::judge(X509_STORE_CTX* store, void* self) noexcept {
  auto& me = *static_cast<pinned_tls*>(self);
  me.chain_.clear();
  if (auto* presented = X509_STORE_CTX_get0_untrusted(store))
    for (int i = 0; i < sk_X509_num(presented); ++i)
      me.chain_.push_back(der_of(sk_X509_value(presented, i)));
  me.verdict_ = pki::check_server_chain(me.chain_, me.pins_, me.host_);
  if (me.verdict_ == pki::chain_fault::none)
    return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

error_code pinned_tls::present(const node_identity& me) {
  std::string chain;
  for (const auto& der : me.who.certificate_chain)
    chain += pki::certificate_pem(der);
  error_code ec;
  tls_.use_certificate_chain(asio::buffer(chain), ec);
  if (ec)
    return ec;
  auto key = me.key.evp(
      [told = key_failed_](const fault& why) { *told = why.message; });
  if (SSL_CTX_use_PrivateKey(tls_.native_handle(), key.get()) != 1)
    ec = error_code{static_cast<int>(ERR_get_error()),
                    asio::error::get_ssl_category()};
  ERR_clear_error();
  return ec;
}

void pinned_tls::name_host(SSL* ssl) const {
  error_code ec;
  asio::ip::make_address(host_, ec);
  if (ec)
    SSL_set_tlsext_host_name(ssl, host_.c_str());
}

std::string_view pinned_tls::chain_failed() const {
  if (chain_.empty() || verdict_ == pki::chain_fault::none)
    return {};
  return pki::chain_fault_text(verdict_);
}

std::string pinned_tls::key_failed() const {
  if (key_failed_->empty())
    return {};
  return "the node's key does not sign: " + *key_failed_;
}

bool is_about_our_certificate(error_code ec) {
  if (ec.category() != asio::error::get_ssl_category())
    return false;
  switch (ERR_GET_REASON(static_cast<unsigned long>(ec.value()))) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

}  // namespace bc::daemon
