#include "gateway/relay_server.hpp"

#include "gateway/listener.hpp"
#include "gateway/relay_session.hpp"
#include "gateway/tls_context.hpp"
#include "pki/internal.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::hours certificate_age{24};
// For sessions to end once their sockets are closed.
constexpr seconds last_grace{5};

/// The relay listener's own certificate with its TLS settings.
result<std::shared_ptr<asio::ssl::context>> make_tls(
    const relay_listener_options& o) {
  const auto& ca = o.keys->internal_ca;
  const auto trusted =
      pki::certificates_of(*o.keys, pki::key_name::internal_ca);
  BC_TRY(own, pki::issue_internal_certificate(ca, pki::internal_role::api,
                                              o.names, system_clock{}.now()));
  tls_identity identity;
  identity.chain_pem = pki::certificate_pem(own.certificate);
  identity.key_pem = own.key.pkcs8_pem();
  BC_TRY(tls,
         make_server_tls(identity, {.ca_pem = pki::certificates_pem(trusted),
                                    .required = true}));
  speak_relay(tls, true);
  return std::make_shared<asio::ssl::context>(std::move(tls));
}

class relay_server final : public relay_listener {
 public:
  relay_server(std::shared_ptr<relay_sessions> all,
               std::shared_ptr<asio::ssl::context> tls)
      : all_(std::move(all)),
        tls_(std::move(tls)),
        listener_(all_->io, [this](tcp::socket socket) {
          serve_one(std::move(socket));
        }) {}

  ~relay_server() override { stop(seconds{0}); }

  [[nodiscard]] result<void> start() {
    const auto& o = all_->options;
    BC_TRYV(listener_.listen(o.address, o.port));
    listener_.run(o.io_threads);
    return ok();
  }

  [[nodiscard]] std::uint16_t port() const override { return listener_.port(); }

  void stop(seconds grace) override {
    {
      std::lock_guard lock{all_->mutex};
      if (std::exchange(all_->stopping, true))
        return;
    }
    listener_.close();
    stop_sessions(true);
    // A gateway leaves once it has what it waits for.
    (void)all_->wait_for_none(grace);
    stop_sessions(false);
    if (!all_->wait_for_none(last_grace)) {
      spdlog::error("relay: connections that do not end are left behind");
      all_->io.stop();
    }
    listener_.join();
  }

 private:
  void serve_one(tcp::socket socket) {
    renew_certificate();
    error_code ec;
    auto address = socket.remote_endpoint(ec).address().to_string();
    if (ec)
      return;
    auto peer = peer_key(address);
    {
      std::lock_guard lock{all_->mutex};
      const auto& o = all_->options;
      if (all_->stopping || all_->sessions.size() >= o.max_connections ||
          !all_->peers.enter(peer, o.max_connections_per_peer))
        return;
    }
    // From here on the session's end is the peer's leaving.
    auto one = std::make_shared<relay_session>(
        all_, socket.get_executor(), std::move(address), std::move(peer));
    {
      std::lock_guard lock{all_->mutex};
      all_->sessions.emplace(one.get(), one);
    }
    one->start(std::move(socket), tls_);
  }

  // A process may run for longer than its certificate is valid, and may have
  // started before its clock was set.
  void renew_certificate() {
    auto now = system_clock{}.now();
    if (now >= made_ && now - made_ < certificate_age)
      return;
    auto fresh = make_tls(all_->options);
    if (!fresh)
      return spdlog::error(
          "relay: the listener's certificate is not renewed: {}",
          fresh.error().message);
    tls_ = fresh.value();
    made_ = now;
  }

  void stop_sessions(bool gently) {
    std::vector<std::shared_ptr<relay_session>> all;
    {
      std::lock_guard lock{all_->mutex};
      for (const auto& [key, weak] : all_->sessions)
        if (auto one = weak.lock())
          all.push_back(std::move(one));
    }
    for (const auto& one : all)
      one->stop(gently);
  }

  std::shared_ptr<relay_sessions> all_;
  std::shared_ptr<asio::ssl::context> tls_;
  time_point made_ = system_clock{}.now();
  listener listener_;
};

}  // namespace

result<std::unique_ptr<relay_listener>> start_relay_listener(
    relay_listener_options options, actors::daemon_port& daemons,
    actors::notice_port* notices) {
  if (!options.keys)
    return fail(errc::invalid_config,
                "a relay listener needs the deployment's keys");
  auto tls = make_tls(options);
  if (!tls)
    return fail(errc::invalid_config, tls.error().message);
  auto all = std::make_shared<relay_sessions>();
  all->internal_cas =
      pki::certificates_of(*options.keys, pki::key_name::internal_ca);
  all->options = std::move(options);
  all->daemons = &daemons;
  all->notices = notices;
  auto out = std::make_unique<relay_server>(all, tls.value());
  BC_TRYV(out->start());
  return out;
}

}  // namespace bc::gateway
