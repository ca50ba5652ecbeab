#pragma once

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret_bytes.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway {

struct http_request {
  std::string method;
  std::string path;   // without the query
  std::string query;  // after '?', undecoded
  /// Lower-case names; a header given twice keeps the first.
  std::map<std::string, std::string> headers;
  std::string body;
  /// Of the peer: its address without the port, and the DER of the client
  /// certificate that was verified (empty without one).
  std::string peer_address;
  std::string client_certificate;
};

/// The rest of an answer that has no end of its own (server-sent events). Any
/// thread; ended by end(), by the client, by the server's stop, or when the
/// last reference goes.
class response_stream {
 public:
  virtual ~response_stream() = default;
  /// False when the client is gone, or too far behind (over 1 MiB unsent).
  virtual bool write(std::string text) = 0;
  virtual void end() = 0;
  /// Bytes that still wait to leave, so that a writer with much to say keeps
  /// the client's pace; nullopt once the client is gone.
  [[nodiscard]] virtual std::optional<std::size_t> unsent() const { return 0; }
};

struct http_response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Further headers, lower-case names.
  std::map<std::string, std::string> headers;
  /// When set, the head goes out, then `body`, and the answer stays open: the
  /// server calls this once, with where the rest is written. Chunked; answer
  /// timeouts no longer count, a client that reads nothing for read_timeout is
  /// dropped.
  std::function<void(std::shared_ptr<response_stream>)> stream;
  /// With `stream`: how many bytes `body` and the rest are together. They go
  /// out under this content-length in place of chunks, so that a client knows
  /// an answer that was cut.
  std::optional<std::uint64_t> stream_length;
};

/// Answers once, from any thread; the server writes it on its own. A second
/// call, and one after the server stopped, does nothing.
using respond = std::function<void(http_response)>;
using http_handler = std::function<void(http_request, respond)>;

struct tls_identity {
  std::string chain_pem;  // leaf first, then the CA
  secret_bytes key_pem;
};

/// Client certificates: asked for when `ca_pem` is not empty, verified against
/// it, and the handshake fails on one that is not good.
struct client_verification {
  std::string ca_pem;
  bool required = false;
};

struct web_socket_options;

struct server_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                   // 0: any free one
  std::shared_ptr<const tls_identity> tls;  // null: plain HTTP
  client_verification clients;              // with TLS alone
  std::size_t max_body = 64 * 1024;
  std::size_t max_connections = 4096;
  /// From one peer address (of IPv6, one /64); 0: no limit of its own.
  std::size_t max_connections_per_peer = 0;
  /// For the TLS handshake, for one whole request and the wait before it, and
  /// for writing an answer; a byte now and then does not prolong it.
  milliseconds read_timeout{15'000};
  /// A handler that has not answered by then is answered for: 503.
  milliseconds answer_timeout{30'000};
  int io_threads = 1;
  /// WebSockets on one path, beside the handler; null: none.
  std::shared_ptr<const web_socket_options> web_socket;
  /// What a path is served for, as "GET, HEAD", for the answer to other methods
  /// than GET, HEAD and POST, which no handler sees; empty: there is no such
  /// path. Null: all three, on every path.
  std::function<std::string(std::string_view path)> allow;
  /// The body of an error the server answers by itself (400, 401, 405, 413,
  /// 429, 431, 503); null: gateway::error_body with a new request id.
  std::function<std::string(int status, std::string_view code,
                            std::string_view message)>
      error_body;
};

/// HTTP/1.1, keep-alive; TLS 1.3 only. A body over the limit is answered 413
/// as soon as it is known, kept nowhere, and the connection closed. The handler
/// runs on an I/O thread and must not block.
class http_server {
 public:
  /// UNAVAILABLE naming address and port when it cannot listen, INVALID_CONFIG
  /// for a certificate, key or address that cannot be used.
  [[nodiscard]] static result<std::unique_ptr<http_server>> start(
      server_options options, http_handler handler);
  virtual ~http_server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// The connections that come from now on are opened with these; those that
  /// stand go on. A fault changes nothing: INVALID_CONFIG for what cannot be
  /// used, INVALID_STATE for a server of plain HTTP. Any thread.
  [[nodiscard]] virtual result<void> renew_tls(
      const tls_identity& identity, const client_verification& clients) = 0;
  /// No new connections; answers in flight are written; returns within
  /// `grace`. A second call returns at once.
  virtual void stop(seconds grace) = 0;
};

}  // namespace bc::gateway
