#pragma once

#include "base/clock.hpp"
#include "gateway/byte_stream.hpp"

#include <boost/asio/compose.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/role.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace bc::gateway {

/// A TLS connection that mostly waits: it has no buffers of its own (Asio's has
/// 68 KiB), since OpenSSL reads and writes the socket itself once that is
/// ready. Included by gateway/*.cpp alone.
class quiet_stream {
 public:
  using socket_type = boost::asio::ip::tcp::socket;
  using executor_type = boost::beast::tcp_stream::executor_type;
  using error_code = boost::system::error_code;

  /// Whether nothing of what came is still inside `from`: take() would lose it.
  [[nodiscard]] static bool can_take(byte_stream& from) {
    auto* ssl = from.tls() ? from.tls()->native_handle() : nullptr;
    return ssl != nullptr && SSL_has_pending(ssl) == 0 &&
           BIO_pending(SSL_get_rbio(ssl)) == 0;
  }
  /// Takes a connection over whose handshake is done and on which nothing is
  /// being read or written.
  explicit quiet_stream(byte_stream& from)
      : ssl_(from.tls()->native_handle(), SSL_free),
        socket_(from.tcp_layer().release_socket()),
        goodbye_(socket_.get_executor()) {
    SSL_up_ref(ssl_.get());  // Asio's stream lets go of its own
    error_code ignored;
    socket_.non_blocking(true, ignored);
    auto* bio =
        BIO_new_socket(static_cast<int>(socket_.native_handle()), BIO_NOCLOSE);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
  }

  executor_type get_executor() { return socket_.get_executor(); }

  /// Every operation ends.
  void close() {
    error_code ignored;
    goodbye_.cancel();
    socket_.close(ignored);
  }

  template <class Buffers, class Handler>
  auto async_read_some(const Buffers& to, Handler&& handler) {
    boost::asio::mutable_buffer into =
        first_of<boost::asio::mutable_buffer>(to);
    return run(
        [this, into](std::size_t& moved) {
          return SSL_read_ex(ssl_.get(), into.data(), into.size(), &moved);
        },
        std::forward<Handler>(handler));
  }

  // A frame's head goes in one record with what follows it.
  template <class Buffers, class Handler>
  auto async_write_some(const Buffers& from, Handler&& handler) {
    boost::asio::const_buffer out = first_of<boost::asio::const_buffer>(from);
    auto together = std::make_shared<std::string>();
    if (out.size() < boost::asio::buffer_size(from)) {
      together->resize(std::min(boost::asio::buffer_size(from), max_record));
      boost::asio::buffer_copy(boost::asio::buffer(*together), from);
      out = boost::asio::buffer(*together);
    }
    return run(
        [this, out, together](std::size_t& moved) {
          return SSL_write_ex(ssl_.get(), out.data(), out.size(), &moved);
        },
        std::forward<Handler>(handler));
  }

  /// Says TLS's goodbye and ends this side; done when the peer has ended its
  /// own, or after a second. Never fails.
  template <class Handler>
  void async_goodbye(Handler&& handler) {
    constexpr milliseconds limit{1'000};
    ERR_clear_error();
    if (socket_.is_open())
      SSL_shutdown(ssl_.get());
    error_code ec;
    socket_.shutdown(boost::asio::socket_base::shutdown_send, ec);
    auto done =
        std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    goodbye_.expires_after(limit);
    // The handler owns this: without it there may be nothing to close.
    goodbye_.async_wait(
        [this, alive = std::weak_ptr<const void>{done}](error_code ec) {
          if (!ec && !alive.expired())
            close();
        });
    drain(std::move(done));
  }

 private:
  static constexpr std::size_t max_record = 16 * 1024;

  template <class Buffer, class Buffers>
  static Buffer first_of(const Buffers& all) {
    for (auto at = boost::asio::buffer_sequence_begin(all);
         at != boost::asio::buffer_sequence_end(all); ++at)
      if (Buffer one{*at}; one.size() > 0)
        return one;
    return {};
  }

  template <class Handler>
  void drain(std::shared_ptr<Handler> done) {
    socket_.async_wait(boost::asio::socket_base::wait_read,
                       [this, done](error_code ec) {
                         char ignored[2048];
                         while (!ec) {
                           socket_.read_some(boost::asio::buffer(ignored), ec);
                           if (ec == boost::asio::error::would_block)
                             return drain(done);
                         }
                         goodbye_.cancel();
                         (*done)(error_code{});
                       });
  }

  /// Tries, waits for the socket, tries again.
  template <class Try, class Handler>
  auto run(Try attempt, Handler&& handler) {
    return boost::asio::async_compose<Handler, void(error_code, std::size_t)>(
        step<Try>{this, std::move(attempt), false, {}, 0}, handler, socket_);
  }

  template <class Try>
  struct step {
    quiet_stream* stream;
    Try attempt;
    bool finished;
    error_code result;
    std::size_t moved;

    template <class Self>
    void operator()(Self& self, error_code ec = {}) {
      if (finished)
        return self.complete(result, moved);
      bool waited = !first_;
      first_ = false;
      // Its number may be another connection's by now.
      if (!ec && !stream->socket_.is_open())
        ec = boost::asio::error::bad_descriptor;
      if (!ec) {
        ERR_clear_error();
        if (attempt(moved) == 1) {
          if (waited)
            return self.complete({}, moved);
        } else {
          moved = 0;
          auto why = SSL_get_error(stream->ssl_.get(), 0);
          if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
            return stream->socket_.async_wait(
                why == SSL_ERROR_WANT_READ
                    ? boost::asio::socket_base::wait_read
                    : boost::asio::socket_base::wait_write,
                std::move(self));
          result = why == SSL_ERROR_ZERO_RETURN
                       ? error_code{boost::asio::error::eof}
                       : error_code{boost::asio::error::connection_reset};
        }
      } else {
        result = ec;
      }
      if (waited)
        return self.complete(result, moved);
      // Never from inside the call that began it.
      finished = true;
      boost::asio::post(stream->get_executor(), std::move(self));
    }

   private:
    friend class quiet_stream;
    bool first_ = true;
    step(quiet_stream* s, Try t, bool f, error_code r, std::size_t m)
        : stream(s), attempt(std::move(t)), finished(f), result(r), moved(m) {}
  };

  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  socket_type socket_;
  boost::asio::steady_timer goodbye_;
};

/// How Beast's WebSocket cuts it off, and ends it once a close frame is sent:
/// what becomes of TLS's goodbye, which a peer need not answer, is no matter.
inline void beast_close_socket(quiet_stream& stream) {
  stream.close();
}
template <class Handler>
void async_teardown(boost::beast::role_type, quiet_stream& stream,
                    Handler&& done) {
  stream.async_goodbye(std::forward<Handler>(done));
}

}  // namespace bc::gateway
