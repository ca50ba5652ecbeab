#pragma once

#include "pki/certificate.hpp"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

/// A TLS server on loopback for one connection. It records the request and
/// the server name it was asked for, then sends `answer` as it is and closes.
class tls_server {
 public:
  tls_server(const bc::pki::issuer& identity, const bc::bytes& ca,
             std::string answer, int max_version = TLS1_3_VERSION,
             const bc::bytes& client_ca = {})
      : answer_(std::move(answer)), context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_set_max_proto_version(context_, max_version);
    use(identity, ca);
    if (!client_ca.empty())
      ask_for_certificate(client_ca);
    listen_on_loopback();
    thread_ = std::thread{[this] { serve(); }};
  }
  tls_server(const tls_server&) = delete;
  tls_server& operator=(const tls_server&) = delete;
  ~tls_server() {
    finish();
    ::close(listener_);
    SSL_CTX_free(context_);
  }

  [[nodiscard]] std::string url(const std::string& host) const {
    return "https://" + host + ":" + std::to_string(port_);
  }
  /// Waits for the connection to end.
  void finish() {
    ::shutdown(listener_, SHUT_RD);
    if (thread_.joinable())
      thread_.join();
  }

  std::string request;
  std::string server_name;
  bool handshake_done = false;
  bc::bytes client_certificate;  // DER, verified

 private:
  static X509* certificate(const bc::bytes& der) {
    const unsigned char* at = der.data();
    return d2i_X509(nullptr, &at, static_cast<long>(der.size()));
  }

  void use(const bc::pki::issuer& identity, const bc::bytes& ca) {
    auto* leaf = certificate(identity.certificate);
    SSL_CTX_use_certificate(context_, leaf);
    X509_free(leaf);
    if (!ca.empty())
      SSL_CTX_add_extra_chain_cert(context_, certificate(ca));
    auto pem = identity.key.pkcs8_pem();
    auto* bio =
        BIO_new_mem_buf(pem.expose().data(), static_cast<int>(pem.size()));
    auto* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context_, key);
    EVP_PKEY_free(key);
    BIO_free(bio);
  }

  // As the gateway does: without one it goes on, with a bad one it does not.
  void ask_for_certificate(const bc::bytes& ca) {
    auto* parsed = certificate(ca);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), parsed);
    X509_free(parsed);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  }

  void take_certificate(SSL* tls) {
    auto* peer = SSL_get0_peer_certificate(tls);
    unsigned char* der = nullptr;
    int size = peer == nullptr ? 0 : i2d_X509(peer, &der);
    if (size > 0)
      client_certificate.assign(der, der + size);
    OPENSSL_free(der);
  }

  void listen_on_loopback() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 1) != 0 ||
        ::getsockname(listener_, any, &size) != 0)
      throw std::runtime_error("no port on loopback");
    port_ = ntohs(address.sin_port);
  }

  void serve() {
    int peer = ::accept(listener_, nullptr, nullptr);
    if (peer < 0)
      return;
    SSL* tls = SSL_new(context_);
    SSL_set_fd(tls, peer);
    handshake_done = SSL_accept(tls) == 1;
    if (handshake_done) {
      if (const char* name = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name))
        server_name = name;
      take_certificate(tls);
      receive(tls);
      if (!answer_.empty())
        SSL_write(tls, answer_.data(), static_cast<int>(answer_.size()));
      SSL_shutdown(tls);
    }
    SSL_free(tls);
    ::close(peer);
  }

  // Head and body; the tests' bodies end with '}'.
  void receive(SSL* tls) {
    char buffer[4096];
    int got = 0;
    while ((got = SSL_read(tls, buffer, sizeof buffer)) > 0) {
      request.append(buffer, static_cast<std::size_t>(got));
      auto head = request.find("\r\n\r\n");
      if (head != std::string::npos &&
          (request.starts_with("GET ") || request.back() == '}'))
        return;
    }
  }

  std::string answer_;
  SSL_CTX* context_;
  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
};
