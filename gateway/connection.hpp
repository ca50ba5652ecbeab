#pragma once

// Brings <utility>, which Asio 1.74 needs and does not include.
#include "gateway/http_server.hpp"
#include "gateway/rate_limit.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

/// One connection of the HTTP server; included by gateway/*.cpp alone.
namespace bc::gateway {

class connection {
 public:
  virtual ~connection() = default;
  /// Ends it: at once, or (gently) only when nothing is being answered.
  virtual void stop(bool gently) = 0;
};

/// What the connections share. They keep it alive: an answer may come from an
/// actor after the server object is gone.
struct shared_state {
  server_options options;
  http_handler handler;
  boost::asio::io_context io;
  std::atomic<bool> stopping{false};

  std::mutex mutex;
  /// What the next connection is opened by, TLS alone; null: plain HTTP.
  std::shared_ptr<boost::asio::ssl::context> tls;
  std::condition_variable changed;  // a connection ended
  std::unordered_map<connection*, std::weak_ptr<connection>> connections;
  peer_counts peers;
  /// Of `connections`, counted apart from the others: they stay.
  std::size_t web_sockets = 0;
  peer_counts web_socket_peers;
};

/// Serves the socket until it ends; dropped when max_connections are open.
void serve_connection(const std::shared_ptr<shared_state>& shared,
                      boost::asio::ip::tcp::socket socket);

}  // namespace bc::gateway
