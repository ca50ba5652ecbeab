#pragma once

#include "base/clock.hpp"
#include "gateway/relay_codec.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>
#include <utility>  // for Asio 1.74
#include <vector>

namespace bc::gateway {

/// One TLS connection that carries relay messages, either side's; included by
/// gateway/*.cpp alone. Everything runs on its executor, calls to it and to its
/// user alike.
class relay_link {
 public:
  struct limits {
    std::size_t max_message = relay::max_message;
    /// What is not yet sent, at most.
    std::size_t max_queued = 8 * 1024 * 1024;
    /// For connecting and the TLS handshake together.
    milliseconds opening{10'000};
    /// A peer that sends nothing, or takes nothing of what waits, for so long
    /// is gone.
    milliseconds idle{15'000};
  };
  /// Who uses it; kept until on_closed.
  class user {
   public:
    virtual ~user() = default;
    /// Connected, the handshake done, the peer's certificate (DER) verified
    /// against the CA: true when it may speak.
    virtual bool on_open(const std::string& certificate) = 0;
    virtual void on_message(relay::message m) = 0;
    /// Once, whatever the reason, and the last call.
    virtual void on_closed(const std::string& why) = 0;
  };

  virtual ~relay_link() = default;
  /// False when it is over, or the queue is full; then nothing is sent.
  virtual bool send(std::string frame) = 0;
  /// Ends it at once; on_closed is called before this returns.
  virtual void close(const std::string& why) = 0;
};

/// The accepting side.
[[nodiscard]] std::shared_ptr<relay_link> accept_relay_link(
    boost::asio::ip::tcp::socket socket,
    std::shared_ptr<boost::asio::ssl::context> tls, relay_link::limits limits,
    std::shared_ptr<relay_link::user> user);

/// The dialling side; tries the endpoints in order.
[[nodiscard]] std::shared_ptr<relay_link> open_relay_link(
    const boost::asio::any_io_executor& on,
    std::vector<boost::asio::ip::tcp::endpoint> to,
    std::shared_ptr<boost::asio::ssl::context> tls, relay_link::limits limits,
    std::shared_ptr<relay_link::user> user);

/// Makes the context speak relay::protocol and no other (ALPN).
void speak_relay(boost::asio::ssl::context& tls, bool server);

}  // namespace bc::gateway
