#pragma once

#include "gateway/http_server.hpp"
#include "tests/gateway/support.hpp"

#include <catch2/catch.hpp>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>

namespace bc::gateway::testing {

/// A TLS client that shows what it is told to.
struct peer_options {
  const tls_identity* identity = nullptr;
  int max_version = TLS1_3_VERSION;
  std::string alpn = {};  // with its length byte; empty: none
};

class tls_peer {
 public:
  tls_peer(std::uint16_t port, const peer_options& o)
      : ctx_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        socket_(port),
        ssl_(nullptr, SSL_free) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
    SSL_CTX_set_max_proto_version(ctx_.get(), o.max_version);
    if (o.identity != nullptr)
      show(*o.identity);
    if (!o.alpn.empty())
      SSL_CTX_set_alpn_protos(
          ctx_.get(), reinterpret_cast<const unsigned char*>(o.alpn.data()),
          static_cast<unsigned>(o.alpn.size()));
    ssl_.reset(SSL_new(ctx_.get()));
    SSL_set_fd(ssl_.get(), socket_.fd());
    connected_ = SSL_connect(ssl_.get()) == 1;
  }

  /// In TLS 1.3 also true when the server has not yet judged our certificate.
  [[nodiscard]] bool connected() const { return connected_; }

  bool send(std::string_view text) {
    return connected_ && SSL_write(ssl_.get(), text.data(),
                                   static_cast<int>(text.size())) > 0;
  }

  /// What comes next; empty when the server has ended it.
  std::string read() {
    std::array<char, 16 * 1024> out;
    int n = connected_ ? SSL_read(ssl_.get(), out.data(), out.size()) : 0;
    return {out.data(), static_cast<std::size_t>(n > 0 ? n : 0)};
  }

  std::string read_to_end() {
    std::string out;
    for (auto part = read(); !part.empty(); part = read())
      out += part;
    return out;
  }

 private:
  void show(const tls_identity& identity) {
    std::unique_ptr<BIO, decltype(&BIO_free)> chain{
        BIO_new_mem_buf(identity.chain_pem.data(),
                        static_cast<int>(identity.chain_pem.size())),
        BIO_free};
    std::unique_ptr<X509, decltype(&X509_free)> leaf{
        PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr), X509_free};
    auto text = identity.key_pem.expose_text();
    std::unique_ptr<BIO, decltype(&BIO_free)> pem{
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{
        PEM_read_bio_PrivateKey(pem.get(), nullptr, nullptr, nullptr),
        EVP_PKEY_free};
    REQUIRE(SSL_CTX_use_certificate(ctx_.get(), leaf.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(ctx_.get(), key.get()) == 1);
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx_;
  raw_socket socket_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool connected_ = false;
};

inline std::shared_ptr<tls_identity> identity_of(const pki::private_key& key,
                                                 byte_view certificate) {
  auto out = std::make_shared<tls_identity>();
  out->chain_pem = pki::certificate_pem(certificate);
  out->key_pem = key.pkcs8_pem();
  return out;
}
inline std::shared_ptr<tls_identity> identity_of(const pki::issuer& who) {
  return identity_of(who.key, who.certificate);
}

/// A node's certificate as a join issues it, at the time given.
struct node_identity {
  bytes certificate;
  std::shared_ptr<tls_identity> tls;
};
inline node_identity make_node(const pki::issuer& ca, time_point now) {
  auto key = pki::private_key::generate();
  auto der = pki::issue_node_certificate(
                 ca, {.subject_key = key.pub(),
                      .trust_domain = "compute.example.com",
                      .site = "site_01k5w000000000000000000000",
                      .node = "node_01k5w000000000000000000000",
                      .statements = {},
                      .now = now,
                      .serial_random = {1}})
                 .der;
  return {der, identity_of(key, der)};
}

}  // namespace bc::gateway::testing
