#pragma once

#include "base/bytes.hpp"
#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"
#include "pki/chain.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <utility>  // for Asio 1.74
#include <vector>

/// How bcd speaks TLS with its gateway; included by daemon/*.cpp alone.
namespace bc::daemon {

/// TLS 1.3 with a server whose chain is a pinned serving CA's and names the
/// host. Trust comes from the pin alone: the machine's clock and certificate
/// stores have no say.
class pinned_tls {
 public:
  pinned_tls(std::string host, std::vector<std::string> serving_ca_pins);
  pinned_tls(const pinned_tls&) = delete;
  pinned_tls& operator=(const pinned_tls&) = delete;

  /// Shows the node's certificate. A key that is in the TPM signs there, on the
  /// thread of the handshake and as long as the TPM takes (tens to hundreds of
  /// milliseconds): OpenSSL has no other way. Nothing else of the daemon may
  /// wait for that thread.
  [[nodiscard]] boost::system::error_code present(const node_identity& me);
  /// Before the handshake: the server's name, unless it is an address.
  void name_host(SSL* ssl) const;

  [[nodiscard]] boost::asio::ssl::context& context() { return tls_; }
  /// As the server presented it, leaf first.
  [[nodiscard]] const std::vector<bytes>& chain() const { return chain_; }
  /// It presented one, and that failed a check: which one.
  [[nodiscard]] std::string_view chain_failed() const;
  /// Why the node's key did not sign; empty when it did, or was not asked.
  [[nodiscard]] std::string key_failed() const;

 private:
  static int judge(X509_STORE_CTX* store, void* self) noexcept;

  const std::string host_;
  const std::vector<std::string> pins_;
  std::vector<bytes> chain_;
  // Shared with the key, which OpenSSL may keep for longer than this.
  std::shared_ptr<std::string> key_failed_ = std::make_shared<std::string>();
  pki::chain_fault verdict_ = pki::chain_fault::no_chain;
  boost::asio::ssl::context tls_;
};

/// What a server says when it does not take the client's certificate. In TLS
/// 1.3 that comes after the client's own handshake is done.
[[nodiscard]] bool is_about_our_certificate(boost::system::error_code ec);

}  // namespace bc::daemon
