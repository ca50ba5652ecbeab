#include "gateway/http_server.hpp"

#include "gateway/connection.hpp"
#include "gateway/listener.hpp"
#include "gateway/tls_context.hpp"

#include <csignal>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

using tcp = boost::asio::ip::tcp;
using ssl_context = boost::asio::ssl::context;

class server final : public http_server {
 public:
  explicit server(std::shared_ptr<shared_state> shared)
      : shared_(std::move(shared)),
        listener_(shared_->io, [this](tcp::socket socket) {
          serve_connection(shared_, std::move(socket));
        }) {}

  ~server() override { stop(seconds{0}); }

  [[nodiscard]] result<void> start() {
    const auto& o = shared_->options;
    BC_TRYV(listener_.listen(o.address, o.port));
    listener_.run(o.io_threads);
    return ok();
  }

  [[nodiscard]] std::uint16_t port() const override { return listener_.port(); }

  [[nodiscard]] result<void> renew_tls(
      const tls_identity& identity,
      const client_verification& clients) override {
    BC_TRY(tls, make_server_tls(identity, clients));
    auto next = std::make_shared<ssl_context>(std::move(tls));
    std::lock_guard lock{shared_->mutex};
    if (!shared_->tls)
      return fail(errc::invalid_state, "this listener speaks plain HTTP");
    shared_->tls = std::move(next);
    return ok();
  }

  void stop(seconds grace) override {
    std::lock_guard stopping{stop_mutex_};
    if (shared_->stopping.exchange(true))
      return;
    listener_.close();
    stop_connections(true);
    {
      std::unique_lock lock{shared_->mutex};
      shared_->changed.wait_for(
          lock, grace, [this] { return shared_->connections.empty(); });
    }
    stop_connections(false);
    listener_.join();
  }

 private:
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
  listener listener_;
  std::mutex stop_mutex_;
};

}  // namespace

result<std::unique_ptr<http_server>> http_server::start(server_options options,
                                                        http_handler handler) {
  // A peer that went away is an error code of the write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  auto shared = std::make_shared<shared_state>();
  shared->options = std::move(options);
  shared->handler = std::move(handler);
  if (shared->options.tls) {
    BC_TRY(tls, make_server_tls(*shared->options.tls, shared->options.clients));
    shared->tls = std::make_shared<ssl_context>(std::move(tls));
  }
  auto out = std::make_unique<server>(shared);
  BC_TRYV(out->start());
  return out;
}

}  // namespace bc::gateway
