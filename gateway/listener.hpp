#pragma once

// Brings <utility>, which Asio 1.74 needs and does not include.
#include "base/result.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bc::gateway {

/// Accepts connections on one address, and has the threads that run the
/// io_context; included by gateway/*.cpp alone.
class listener {
 public:
  /// Gets each socket, whose executor is a strand of its own; may throw
  /// std::bad_alloc, which drops the socket.
  using taker = std::function<void(boost::asio::ip::tcp::socket)>;

  listener(boost::asio::io_context& io, taker take);

  /// UNAVAILABLE naming address and port when it cannot, INVALID_CONFIG for
  /// what is no IP address.
  [[nodiscard]] result<void> listen(const std::string& address,
                                    std::uint16_t port);
  /// Begins to accept, on so many threads.
  void run(int threads);
  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// No new connections.
  void close();
  /// Ends the threads once nothing is left to run; the owner has ended its
  /// connections by then.
  void join();

 private:
  void accept();
  void on_accept(boost::system::error_code ec,
                 boost::asio::ip::tcp::socket socket);

  boost::asio::io_context& io_;
  taker take_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer backoff_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_;
  std::vector<std::thread> threads_;
  std::uint16_t port_ = 0;
};

}  // namespace bc::gateway
