#pragma once

#include "gateway/http_client.hpp"
#include "gateway/http_server.hpp"
#include "pki/bundle.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace bc::gateway::testing {

/// A plain socket that sends exactly the bytes it is told to.
class raw_socket {
 public:
  raw_socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(fd_ >= 0);
    timeval limit{20, 0};  // so that a failing test ends
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  explicit raw_socket(std::uint16_t port) : raw_socket() { connect(port); }
  raw_socket(const raw_socket&) = delete;
  raw_socket& operator=(const raw_socket&) = delete;
  ~raw_socket() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }

  void connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }

  /// False when the peer no longer takes it all.
  bool send(std::string_view text) {
    while (!text.empty()) {
      auto n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// Up to the text, which is included; what was read when the stream ended.
  std::string read_to(std::string_view end) {
    std::string out;
    while (!out.ends_with(end)) {
      char c = 0;
      if (::recv(fd_, &c, 1, 0) != 1)
        break;
      out += c;
    }
    return out;
  }

  /// One answer with its Content-Length; empty when the stream ended.
  std::string read_answer() {
    auto out = read_to("\r\n\r\n");
    auto at = out.find("content-length: ");
    if (at == std::string::npos)
      return out;
    auto size = std::strtoul(out.c_str() + at + 16, nullptr, 10);
    for (; size > 0; --size) {
      char c = 0;
      if (::recv(fd_, &c, 1, 0) != 1)
        break;
      out += c;
    }
    return out;
  }

  /// True when the server closed in good order and nothing more came.
  bool at_end() {
    char c = 0;
    return ::recv(fd_, &c, 1, 0) == 0;
  }

  /// True when the connection is over, also by a reset.
  bool is_over() {
    char c = 0;
    auto n = ::recv(fd_, &c, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }

 private:
  int fd_;
};

/// Answers with what came: method, path, query, body.
inline void echo(http_request request, respond done) {
  http_response out;
  out.content_type = "text/plain";
  out.body = request.method + " " + request.path + "?" + request.query + " " +
             request.body;
  done(std::move(out));
}

inline std::unique_ptr<http_server> serve(server_options options,
                                          http_handler handler = echo) {
  auto server = http_server::start(std::move(options), std::move(handler));
  if (!server)
    FAIL(server.error().message);
  return std::move(server).value();
}

inline std::string url_of(const http_server& server, bool tls = false) {
  return std::string{tls ? "https" : "http"} +
         "://127.0.0.1:" + std::to_string(server.port());
}

inline client_response ask(const http_server& server, const std::string& method,
                           const std::string& path,
                           const std::string& body = {}) {
  client_options options;
  options.url = url_of(server);
  auto answer = send_request(options, method, path, {}, body);
  if (!answer)
    FAIL(answer.error().message);
  return std::move(answer).value();
}

/// Keeps what it is asked until the test answers.
class holding_handler {
 public:
  http_handler handler() {
    return [this](http_request, respond done) {
      std::lock_guard lock{mutex_};
      held_.push_back(std::move(done));
      changed_.notify_all();
    };
  }

  respond take() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, seconds{20},
                              [this] { return !held_.empty(); }));
    auto out = std::move(held_.front());
    held_.erase(held_.begin());
    return out;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<respond> held_;
};

/// A server certificate under a CA, the CA's certificate in a file.
struct tls_setup {
  explicit tls_setup(const std::vector<std::string>& names) {
    auto now = system_clock{}.now();
    auto ca = pki::make_ca("serving CA", now);
    REQUIRE(ca);
    auto leaf = pki::issue_server_certificate(ca.value(), names, now);
    REQUIRE(leaf);
    auto made = std::make_shared<tls_identity>();
    made->chain_pem = pki::certificate_pem(leaf.value().certificate) +
                      pki::certificate_pem(ca.value().certificate);
    made->key_pem = leaf.value().key.pkcs8_pem();
    identity = std::move(made);

    char name[] = "/tmp/bc-gateway-ca-XXXXXX";
    int fd = ::mkstemp(name);
    REQUIRE(fd >= 0);
    ::close(fd);
    ca_file = name;
    std::ofstream{ca_file} << pki::certificate_pem(ca.value().certificate);
  }
  tls_setup(const tls_setup&) = delete;
  tls_setup& operator=(const tls_setup&) = delete;
  ~tls_setup() { ::unlink(ca_file.c_str()); }

  std::shared_ptr<const tls_identity> identity;
  std::string ca_file;
};

}  // namespace bc::gateway::testing
