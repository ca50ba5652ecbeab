#include "gateway/http_server.hpp"

#include "gateway/connection.hpp"
#include "gateway/reason.hpp"
#include "gateway/tls_context.hpp"
#include "gateway/url.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr milliseconds accept_backoff{100};

class server final : public http_server {
 public:
  explicit server(std::shared_ptr<shared_state> shared)
      : shared_(std::move(shared)),
        acceptor_(asio::make_strand(shared_->io)),
        backoff_(acceptor_.get_executor()),
        work_(asio::make_work_guard(shared_->io)) {}

  ~server() override { stop(seconds{0}); }

  error_code listen(const asio::ip::address& address) {
    tcp::endpoint at{address, shared_->options.port};
    error_code ec;
    acceptor_.open(at.protocol(), ec);
    if (!ec)
      acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
    if (!ec)
      acceptor_.bind(at, ec);
    if (!ec)
      acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec)
      port_ = acceptor_.local_endpoint(ec).port();
    return ec;
  }

  void run() {
    asio::post(acceptor_.get_executor(), [this] { accept(); });
    for (int i = 0; i < std::max(1, shared_->options.io_threads); ++i)
      threads_.emplace_back([io = &shared_->io] { serve(*io); });
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void stop(seconds grace) override {
    std::lock_guard stopping{stop_mutex_};
    if (shared_->stopping.exchange(true))
      return;
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      backoff_.cancel();
    });
    stop_connections(true);
    {
      std::unique_lock lock{shared_->mutex};
      shared_->changed.wait_for(
          lock, grace, [this] { return shared_->connections.empty(); });
    }
    stop_connections(false);
    work_.reset();
    for (auto& thread : threads_)
      thread.join();
  }

 private:
  // Memory may run out inside a handler; the others go on.
  static void serve(asio::io_context& io) {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  void accept() {
    if (!acceptor_.is_open())
      return;
    acceptor_.async_accept(asio::make_strand(shared_->io),
                           [this](error_code ec, tcp::socket socket) {
                             on_accept(ec, std::move(socket));
                           });
  }

  void on_accept(error_code ec, tcp::socket socket) {
    if (ec == asio::error::operation_aborted)
      return;
    if (ec) {
      // Out of descriptors, most likely: the connection stays in the queue.
      backoff_.expires_after(accept_backoff);
      backoff_.async_wait([this](error_code) { accept(); });
      return;
    }
    try {
      serve_connection(shared_, std::move(socket));
    } catch (const std::exception&) {
      // No memory for one more; the socket is closed.
    }
    accept();
  }

  void stop_connections(bool gently) {
    std::vector<std::shared_ptr<connection>> all;
    {
      std::lock_guard lock{shared_->mutex};
      for (const auto& [key, weak] : shared_->connections)
        if (auto one = weak.lock())
          all.push_back(std::move(one));
    }
    for (const auto& one : all)
      one->stop(gently);
  }

  std::shared_ptr<shared_state> shared_;
  tcp::acceptor acceptor_;
  asio::steady_timer backoff_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
  std::mutex stop_mutex_;
  std::uint16_t port_ = 0;
};

}  // namespace

result<std::unique_ptr<http_server>> http_server::start(server_options options,
                                                        http_handler handler) {
  // A peer that went away is an error code of the write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  error_code ec;
  auto address = asio::ip::make_address(options.address, ec);
  if (ec)
    return fail(errc::invalid_config,
                "not an IP address to listen on: " + options.address);
  auto shared = std::make_shared<shared_state>();
  shared->options = std::move(options);
  shared->handler = std::move(handler);
  if (shared->options.tls) {
    BC_TRY(tls, make_server_tls(*shared->options.tls, shared->options.clients));
    shared->tls.emplace(std::move(tls));
  }
  auto out = std::make_unique<server>(shared);
  if (auto failed = out->listen(address))
    return fail(errc::unavailable, "cannot listen on " +
                                       authority_of(shared->options.address,
                                                    shared->options.port) +
                                       ": " + reason_of(failed));
  out->run();
  return out;
}

}  // namespace bc::gateway
