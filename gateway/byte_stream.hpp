#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <optional>
#include <utility>  // for Asio 1.74

namespace bc::gateway {

/// A connection with or without TLS behind one type, so that Beast's parsing
/// is instantiated once; included by gateway/*.cpp alone.
class byte_stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using tls_stream = boost::beast::ssl_stream<boost::beast::tcp_stream>;
  using error_code = boost::system::error_code;

  byte_stream(boost::asio::ip::tcp::socket socket,
              boost::asio::ssl::context* tls) {
    if (tls != nullptr)
      tls_.emplace(std::move(socket), *tls);
    else
      plain_.emplace(std::move(socket));
  }

  executor_type get_executor() { return tcp_layer().get_executor(); }
  boost::beast::tcp_stream& tcp_layer() {
    return tls_ ? tls_->next_layer() : *plain_;
  }
  tls_stream* tls() { return tls_ ? &*tls_ : nullptr; }

  template <class Buffers, class Handler>
  auto async_read_some(const Buffers& to, Handler&& handler) {
    return boost::asio::async_initiate<Handler, void(error_code, std::size_t)>(
        [this](auto done, const Buffers& into) {
          if (tls_)
            tls_->async_read_some(into, std::move(done));
          else
            plain_->async_read_some(into, std::move(done));
        },
        handler, to);
  }

  template <class Buffers, class Handler>
  auto async_write_some(const Buffers& from, Handler&& handler) {
    return boost::asio::async_initiate<Handler, void(error_code, std::size_t)>(
        [this](auto done, const Buffers& out) {
          if (tls_)
            tls_->async_write_some(out, std::move(done));
          else
            plain_->async_write_some(out, std::move(done));
        },
        handler, from);
  }

 private:
  std::optional<boost::beast::tcp_stream> plain_;
  std::optional<tls_stream> tls_;
};

}  // namespace bc::gateway
