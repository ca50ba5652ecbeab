#include "gateway/listener.hpp"

#include "base/clock.hpp"
#include "gateway/reason.hpp"
#include "gateway/url.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <utility>

namespace bc::gateway {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr milliseconds accept_backoff{100};

error_code open(tcp::acceptor& acceptor, const tcp::endpoint& at) {
  error_code ec;
  acceptor.open(at.protocol(), ec);
  if (!ec)
    acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec)
    acceptor.bind(at, ec);
  if (!ec)
    acceptor.listen(asio::socket_base::max_listen_connections, ec);
  return ec;
}

// Memory may run out inside a handler; the others go on.
void serve(asio::io_context& io) {
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace

listener::listener(asio::io_context& io, taker take)
    : io_(io),
      take_(std::move(take)),
      acceptor_(asio::make_strand(io)),
      backoff_(acceptor_.get_executor()),
      work_(asio::make_work_guard(io)) {}

result<void> listener::listen(const std::string& address, std::uint16_t port) {
  error_code ec;
  auto ip = asio::ip::make_address(address, ec);
  if (ec)
    return fail(errc::invalid_config,
                "not an IP address to listen on: " + address);
  ec = open(acceptor_, {ip, port});
  if (!ec)
    port_ = acceptor_.local_endpoint(ec).port();
  if (ec)
    return fail(errc::unavailable, "cannot listen on " +
                                       authority_of(address, port) + ": " +
                                       reason_of(ec));
  return ok();
}

void listener::run(int threads) {
  asio::post(acceptor_.get_executor(), [this] { accept(); });
  for (int i = 0; i < std::max(1, threads); ++i)
    threads_.emplace_back([this] { serve(io_); });
}

void listener::close() {
  asio::post(acceptor_.get_executor(), [this] {
    error_code ignored;
    acceptor_.close(ignored);
    backoff_.cancel();
  });
}

void listener::join() {
  work_.reset();
  for (auto& thread : threads_)
    thread.join();
  threads_.clear();
}

void listener::accept() {
  if (!acceptor_.is_open())
    return;
  acceptor_.async_accept(asio::make_strand(io_),
                         [this](error_code ec, tcp::socket socket) {
                           on_accept(ec, std::move(socket));
                         });
}

void listener::on_accept(error_code ec, tcp::socket socket) {
  if (ec == asio::error::operation_aborted)
    return;
  if (ec) {
    // Out of descriptors, most likely: the connection stays in the queue.
    backoff_.expires_after(accept_backoff);
    backoff_.async_wait([this](error_code) { accept(); });
    return;
  }
  try {
    take_(std::move(socket));
  } catch (const std::exception&) {
    // No memory for one more; the socket is closed.
  }
  accept();
}

}  // namespace bc::gateway
