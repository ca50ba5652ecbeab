#include "gateway/relay_server.hpp"

#include "base/ids.hpp"
#include "base/token_bucket.hpp"
#include "gateway/listener.hpp"
#include "gateway/rate_limit.hpp"
#include "gateway/relay_link.hpp"
#include "gateway/routes.hpp"
#include "gateway/tls_context.hpp"
#include "pki/digest.hpp"
#include "pki/internal.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::hours certificate_age{24};
// For sessions to end once their sockets are closed.
constexpr seconds last_grace{5};
// Of one gateway: another one's machines must get some of what this process can
// make.
constexpr double challenges_per_second = 100;
constexpr double challenges_at_once = 1'000;
// What is told later than that is none that a gateway may rely on.
constexpr seconds oldest_notice{2};

class session;

/// What the sessions share; they keep it alive, since an answer may come from
/// an actor after the listener is gone.
struct shared {
  relay_listener_options options;
  actors::daemon_port* daemons = nullptr;
  actors::notice_port* notices = nullptr;
  std::vector<bytes> internal_cas;  // the current one first
  asio::io_context io;

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<session*, std::weak_ptr<session>> sessions;
  peer_counts peers;
  bool stopping = false;

  [[nodiscard]] bool is_stopping() {
    std::lock_guard lock{mutex};
    return stopping;
  }
  /// False when some are left after so long.
  bool wait_for_none(seconds grace) {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, grace, [this] { return sessions.empty(); });
  }
};

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

// It goes into the journal, and a gateway may send what it likes.
bool is_request_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// One gateway; everything but the answers' arrival runs on its strand.
class session final : public relay_link::user,
                      public std::enable_shared_from_this<session> {
 public:
  session(std::shared_ptr<shared> all, asio::any_io_executor strand,
          std::string address, std::string peer)
      : all_(std::move(all)),
        strand_(std::move(strand)),
        address_(std::move(address)),
        peer_(std::move(peer)) {}

  ~session() override {
    std::lock_guard lock{all_->mutex};
    all_->sessions.erase(this);
    all_->peers.leave(peer_);
    all_->changed.notify_all();
  }

  void start(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls) {
    asio::post(strand_, [self = shared_from_this(), socket = std::move(socket),
                         tls = std::move(tls)]() mutable {
      // One that stop() did not see yet is dropped.
      if (self->all_->is_stopping())
        return;
      const auto& o = self->all_->options;
      self->link_ = accept_relay_link(std::move(socket), std::move(tls),
                                      {relay::max_request, o.max_queued_bytes,
                                       o.handshake_timeout, o.idle_timeout},
                                      self);
    });
  }

  /// Says that no more should come, or ends it.
  void stop(bool gently) {
    asio::post(strand_, [self = shared_from_this(), gently] {
      if (!self->link_)
        return;
      if (gently && self->open_)
        (void)self->link_->send(relay::encode(relay::draining{}));
      else
        self->link_->close("the server is stopping");
    });
  }

  bool on_open(const std::string& certificate) override {
    open_ = pki::internal_role_of(as_bytes(certificate), all_->internal_cas) ==
            pki::internal_role::gateway;
    if (!open_)
      spdlog::warn("relay: {} has no gateway's certificate", address_);
    else
      spdlog::info("relay: a gateway connected from {}", address_);
    return open_;
  }

  void on_message(relay::message m) override {
    if (auto* asked = std::get_if<relay::request>(&m))
      take(std::move(*asked));
    else if (auto* live = std::get_if<relay::ping>(&m))
      take(*live);
    else if (auto* wanted = std::get_if<relay::watch>(&m))
      watch(std::move(wanted->gateway));
    else
      link_->close("a gateway must not send this");
  }

  void on_closed(const std::string& why) override {
    if (open_)
      spdlog::info("relay: the gateway at {} is gone: {}", address_, why);
    else
      spdlog::debug("relay: {} did not become a gateway: {}", address_, why);
    link_ = nullptr;
    watch_ = nullptr;
    say_watched(false);
  }

 private:
  // A gateway pings its watch more often than that may be old.
  void take(const relay::ping& live) {
    if (!gateway_.empty() && !hears_journal())
      return link_->close("the journal's news do not come");
    send(relay::encode(relay::pong{live.number}));
  }

  [[nodiscard]] bool hears_journal() const {
    return all_->notices->age() <= oldest_notice;
  }

  void watch(std::string gateway) {
    // It goes into what all processes keep.
    if (!bc::gateway_id::parse(gateway))
      return link_->close("a gateway must name itself");
    // Without an answer it asks another process.
    if (all_->notices == nullptr || !hears_journal())
      return;
    say_watched(false);
    gateway_ = std::move(gateway);
    // Weak: the watch is this session's.
    watch_ = all_->notices->watch(
        [to = weak_from_this()](const actors::gateway_notice& n) {
          tell(to, [n](session& target) { target.pass_on(n); });
        });
    say_watched(true);
    send(relay::encode(relay::watching{}));
  }

  void say_watched(bool here) {
    if (!gateway_.empty() && all_->options.gateways)
      all_->options.gateways(gateway_, here);
    if (!here)
      gateway_.clear();
  }

  void pass_on(const actors::gateway_notice& n) {
    relay::notice out{static_cast<std::uint8_t>(n.what), n.superseded,
                      n.node_id, n.keep};
    if (!relay::fits(out))
      return spdlog::error("relay: a notice of {} bytes was not sent",
                           n.node_id.size() + n.keep.size());
    // A gateway that does not take it is cut off, and so knows that it missed
    // something.
    send(relay::encode(out));
  }

  /// Runs `f` on the session's strand, if there is still a session; any thread.
  template <class F>
  static void tell(const std::weak_ptr<session>& to, F f) {
    auto self = to.lock();
    if (!self)
      return;
    // The io_context must outlive this call when `self` is the last owner; what
    // is posted must not own it.
    auto all = self->all_;
    asio::post(self->strand_, [to, f = std::move(f)]() mutable {
      if (auto target = to.lock())
        f(*target);
    });
    self.reset();
  }

  void take(relay::request asked) {
    const auto what = actors::daemon_request_of(asked.kind);
    if (!what)
      return refuse(asked, "this server does not know such requests");
    if (in_flight_ >= all_->options.max_in_flight)
      return refuse(asked, "the server is overloaded; retry");
    if (*what == actors::daemon_request::join_challenge &&
        !challenges_.take(token_bucket::steady::now()))
      return refuse(asked, "this gateway's machines ask too often; retry",
                    errc::rate_limited);
    ++in_flight_;
    if (!is_request_id(asked.correlation))
      asked.correlation = pki::mint<request_id>(system_clock{}.now()).str();
    // Weak: an answer that never comes must not keep the connection.
    all_->daemons->call(
        {std::move(asked.body), std::move(asked.correlation),
         std::move(asked.client_certificate), *what},
        [to = weak_from_this(), id = asked.id](actors::daemon_reply reply) {
          tell(to, [id, reply = std::move(reply)](session& target) mutable {
            target.answer(id, std::move(reply));
          });
        });
  }

  void answer(std::uint64_t id, actors::daemon_reply reply) {
    --in_flight_;
    relay::answer out{id, static_cast<std::uint16_t>(reply.status),
                      std::move(reply.body)};
    if (!relay::fits(out)) {
      spdlog::error("relay: an answer of {} bytes with status {} was not sent",
                    out.body.size(), reply.status);
      out = {id, 500,
             error_body(wire_text(errc::internal),
                        "the answer could not be relayed", "")};
    }
    send(relay::encode(out));
  }

  void refuse(const relay::request& asked, std::string_view why,
              errc code = errc::unavailable) {
    send(relay::encode(
        relay::answer{asked.id, static_cast<std::uint16_t>(http_status(code)),
                      error_body(wire_text(code), why, asked.correlation)}));
  }

  void send(std::string frame) {
    if (link_ && !link_->send(std::move(frame)))
      link_->close("the gateway does not take its answers");
  }

  std::shared_ptr<shared> all_;  // first: destroyed last
  asio::any_io_executor strand_;
  const std::string address_;  // of the peer
  const std::string peer_;     // who it counts as
  std::shared_ptr<relay_link> link_;
  bool open_ = false;
  std::size_t in_flight_ = 0;
  token_bucket challenges_{challenges_per_second, challenges_at_once};
  std::string gateway_;  // while it watches
  std::shared_ptr<void> watch_;
};

class relay_server final : public relay_listener {
 public:
  relay_server(std::shared_ptr<shared> all,
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
    auto one = std::make_shared<session>(all_, socket.get_executor(),
                                         std::move(address), std::move(peer));
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
    std::vector<std::shared_ptr<session>> all;
    {
      std::lock_guard lock{all_->mutex};
      for (const auto& [key, weak] : all_->sessions)
        if (auto one = weak.lock())
          all.push_back(std::move(one));
    }
    for (const auto& one : all)
      one->stop(gently);
  }

  std::shared_ptr<shared> all_;
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
  auto all = std::make_shared<shared>();
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
