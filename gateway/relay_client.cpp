#include "gateway/relay_client.hpp"

#include "gateway/relay_api.hpp"
#include "gateway/relay_trial.hpp"
#include "gateway/routes.hpp"
#include "gateway/tls_context.hpp"
#include "gateway/url.hpp"
#include "pki/certificate.hpp"
#include "pki/internal.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

using callback = std::function<void(actors::daemon_reply)>;

constexpr auto kind_check_session =
    static_cast<std::uint8_t>(actors::daemon_request::check_session);
constexpr auto kind_cut =
    static_cast<std::uint8_t>(actors::gateway_notice::kind::cut);
constexpr auto kind_commands =
    static_cast<std::uint8_t>(actors::gateway_notice::kind::commands);

/// A request on its way; one thread owns them all.
struct flight {
  std::string frame;  // kept until answered: it may be sent once more
  std::string correlation;
  callback done;
  std::unique_ptr<asio::steady_timer> limit;
  relay_api* on = nullptr;
  bool again = false;     // sent a second time
  bool at_watch = false;  // best asked where notices come from
};

actors::daemon_reply unavailable(std::string_view why,
                                 const std::string& correlation) {
  return {http_status(errc::unavailable),
          error_body(wire_text(errc::unavailable), why, correlation)};
}

// The callback is another's code: what it throws is its loss.
void give(const callback& done, actors::daemon_reply reply) noexcept {
  try {
    done(std::move(reply));
  } catch (const std::exception& e) {
    spdlog::error("an answer could not be delivered: {}", e.what());
  }
}

result<relay_tls> make_relay_tls(const tls_identity& identity,
                                 const std::string& internal_ca_pem) {
  auto cas = pki::certificates_from_pem(internal_ca_pem);
  if (!cas)
    return fail(errc::invalid_config,
                "the internal CA is not a certificate in PEM, or several");
  BC_TRY(tls, make_client_tls(identity, internal_ca_pem));
  speak_relay(tls, false);
  return relay_tls{std::make_shared<asio::ssl::context>(std::move(tls)),
                   std::move(cas).value()};
}

// The one in use is one, or no API process would have taken it.
result<void> must_be_gateways(const tls_identity& identity,
                              const std::vector<bytes>& internal_cas) {
  auto chain = pki::certificates_from_pem(identity.chain_pem);
  if (!chain || pki::internal_role_of(chain.value().front(), internal_cas) !=
                    pki::internal_role::gateway)
    return fail(errc::invalid_config,
                "the certificate is no gateway's of the internal CA");
  return ok();
}

class client final : public relay_client, private relay_api::owner {
 public:
  client(relay_client_options options, relay_tls tls)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        work_(asio::make_work_guard(io_)) {}

  ~client() override { stop(seconds{0}); }

  void run() {
    relay_api::owner& self = *this;
    for (const auto& address : options_.addresses)
      apis_.push_back(
          std::make_shared<relay_api>(io_, address, options_, tls_, self));
    asio::post(io_, [this] {
      for (const auto& api : apis_)
        api->start();
    });
    thread_ = std::thread{[this] { serve(); }};
  }

  void call(actors::daemon_call asked, callback done) override {
    relay::request r;
    r.kind = static_cast<std::uint8_t>(asked.what);
    r.correlation = std::move(asked.correlation);
    r.client_certificate = std::move(asked.client_certificate);
    r.body = std::move(asked.body);
    if (!relay::fits(r))
      return give(done, too_large(r));
    std::string why;
    {
      std::lock_guard lock{mutex_};
      why = refusal();
      if (why.empty()) {
        ++inside_;
        // Under the mutex: after `stopping_` nothing more is posted.
        asio::post(io_,
                   [this, r = std::move(r), done = std::move(done)]() mutable {
                     take(std::move(r), std::move(done));
                   });
        return;
      }
    }
    give(done, unavailable(why, r.correlation));
  }

  [[nodiscard]] bool has_healthy_api() const override { return healthy_ != 0; }
  [[nodiscard]] std::size_t healthy_apis() const override { return healthy_; }
  [[nodiscard]] std::size_t in_flight() const override {
    std::lock_guard lock{mutex_};
    return inside_;
  }

  void watch(const std::string& gateway_id,
             std::shared_ptr<relay_watcher> who) override {
    std::lock_guard lock{mutex_};
    if (stopping_)
      return;
    asio::post(io_, [this, frame = relay::encode(relay::watch{gateway_id}),
                     who = std::move(who)]() mutable {
      watch_frame_ = std::move(frame);
      watcher_ = std::move(who);
      watch_.emplace(options_.watch, steady::now());
      look_again();
    });
  }

  result<void> renew_tls(const tls_identity& identity,
                         const std::string& internal_ca_pem) override {
    BC_TRY(tls, make_relay_tls(identity, internal_ca_pem));
    BC_TRYV(must_be_gateways(identity, tls.internal_cas));
    std::lock_guard lock{mutex_};
    if (stopping_)
      return fail(errc::unavailable, "the gateway is stopping");
    asio::post(io_, [this, tls = std::move(tls)] {
      for (const auto& api : apis_)
        api->renew_tls(tls);
      try_all(tls);
    });
    return ok();
  }

  void stop(seconds grace) override {
    {
      std::unique_lock lock{mutex_};
      if (std::exchange(stopping_, true))
        return;
      left_.wait_for(lock, grace, [this] { return inside_ == 0; });
    }
    asio::post(io_, [this] {
      watch_.reset();
      watch_timer_.cancel();
      for (const auto& api : apis_)
        api->stop();
      end_trials();
      fail_all();
    });
    work_.reset();
    if (thread_.joinable())
      thread_.join();
  }

 private:
  // The connections that stand prove nothing of what was renewed, and may
  // stand for weeks.
  void try_all(const relay_tls& tls) {
    end_trials();
    for (const auto& address : options_.addresses) {
      trials_.push_back(
          std::make_shared<relay_trial>(io_, address, options_, tls));
      trials_.back()->start();
    }
  }

  void end_trials() {
    for (const auto& one : std::exchange(trials_, {}))
      one->stop();
  }

  void serve() {
    // Memory may run out inside a handler; the others go on.
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception& e) {
        spdlog::error("relay: {}", e.what());
      }
    }
  }

  static actors::daemon_reply too_large(const relay::request& r) {
    return {413, error_body(wire_text(errc::invalid_input),
                            "the request is too large", r.correlation)};
  }

  /// Why nothing is taken now; the mutex held.
  [[nodiscard]] std::string refusal() const {
    if (stopping_)
      return "the gateway is stopping";
    if (inside_ >= options_.max_in_flight * options_.addresses.size())
      return "the gateway is overloaded; retry";
    return {};
  }

  void take(relay::request r, callback done) {
    auto id = ++last_;
    r.id = id;
    flight f;
    f.correlation = r.correlation;
    f.done = std::move(done);
    f.frame = relay::encode(r);
    f.at_watch = r.kind == kind_check_session;
    f.limit =
        std::make_unique<asio::steady_timer>(io_, options_.request_timeout);
    f.limit->async_wait([this, id](boost::system::error_code ec) {
      if (!ec)
        finish(id, "the server did not answer in time; retry");
    });
    flights_.emplace(id, std::move(f));
    send(id);
  }

  /// The usable one with the least to do, the next in turn among equals.
  relay_api* choose(const relay_api* except) {
    relay_api* best = nullptr;
    ++turn_;
    for (std::size_t i = 0; i < apis_.size(); ++i) {
      auto* api = apis_[(turn_ + i) % apis_.size()].get();
      if (api != except && api->is_usable() &&
          (best == nullptr || api->in_flight() < best->in_flight()))
        best = api;
    }
    return best;
  }

  void send(std::uint64_t id, const relay_api* except = nullptr) {
    auto& f = flights_.at(id);
    auto* api = f.at_watch ? watched_api(except) : nullptr;
    if (api == nullptr)
      api = choose(except);
    if (api == nullptr)
      return finish(id, "no server can be reached; retry");
    if (!api->send(id, f.frame)) {
      // Its queue is full; another's may have room.
      api = choose(api);
      if (api == nullptr || !api->send(id, f.frame))
        return finish(id, "the gateway is overloaded; retry");
    }
    f.on = api;
  }

  relay_api* watched_api(const relay_api* except) {
    if (!watch_ || !watch_->held())
      return nullptr;
    auto* api = apis_[*watch_->held()].get();
    return api != except && api->is_usable() ? api : nullptr;
  }

  void look_again() {
    look_at_watch();
    watch_timer_.expires_after(options_.watch.silence / 8);
    watch_timer_.async_wait([this](boost::system::error_code ec) {
      if (!ec && watch_)
        look_again();
    });
  }

  void look_at_watch() {
    if (!watch_)
      return;
    const auto now = steady::now();
    if (watch_->is_lost(now)) {
      spdlog::warn("relay: no server tells what sessions must hear of");
      watcher_->on_watch(false);
    }
    std::vector<bool> usable;
    for (const auto& api : apis_)
      usable.push_back(api->is_usable());
    if (auto whom = watch_->ask(usable, now))
      (void)apis_[*whom]->say(watch_frame_);
  }

  [[nodiscard]] std::size_t index_of(const relay_api& api) const {
    std::size_t at = 0;
    while (apis_[at].get() != &api)
      ++at;
    return at;
  }

  void finish(std::uint64_t id, std::string_view why) {
    auto found = flights_.find(id);
    if (found == flights_.end())
      return;
    spdlog::debug("relay: {} ({})", why, found->second.correlation);
    finish(id, unavailable(why, found->second.correlation));
  }

  void finish(std::uint64_t id, actors::daemon_reply reply) {
    auto found = flights_.find(id);
    if (found == flights_.end())
      return;  // answered already, or never asked
    auto f = std::move(found->second);
    flights_.erase(found);
    if (f.on != nullptr)
      f.on->forget(id);
    give(f.done, std::move(reply));
    std::lock_guard lock{mutex_};
    if (--inside_ == 0)
      left_.notify_all();
  }

  void fail_all() {
    while (!flights_.empty())
      finish(flights_.begin()->first, "the gateway is stopping");
  }

  void on_answer(relay_api& from, relay::answer a) override {
    auto found = flights_.find(a.id);
    // An id of another connection is no better than an unknown one.
    if (found != flights_.end() && found->second.on == &from)
      finish(a.id, {a.status, std::move(a.body)});
  }

  void on_heard(relay_api& from) override {
    if (watch_)
      watch_->on_heard(index_of(from), steady::now());
  }

  void on_watching(relay_api& from) override {
    if (watch_ && watch_->on_watching(index_of(from), steady::now()))
      watcher_->on_watch(true);
  }

  // Also from one that was watched before: what it says is true.
  void on_notice(relay_api&, relay::notice n) override {
    if (!watch_ || (n.what != kind_cut && n.what != kind_commands))
      return;
    watcher_->on_notice({static_cast<actors::gateway_notice::kind>(n.what),
                         std::move(n.node), std::move(n.keep), n.superseded});
  }

  void on_lost(relay_api& api, const std::vector<std::uint64_t>& ids) override {
    if (watch_) {
      watch_->on_gone(index_of(api));
      look_at_watch();
    }
    for (auto id : ids) {
      auto found = flights_.find(id);
      if (found == flights_.end())
        continue;
      found->second.on = nullptr;
      if (std::exchange(found->second.again, true))
        finish(id, "the connection to the server was lost twice; retry");
      else
        send(id, &api);
    }
  }

  void on_health(int change) override {
    healthy_ += static_cast<std::size_t>(change);
    if (change > 0)
      look_at_watch();
  }

  const relay_client_options options_;
  relay_tls tls_;  // for the first connections
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::shared_ptr<relay_api>> apis_;
  std::vector<std::shared_ptr<relay_trial>> trials_;  // of the last renewal
  std::unordered_map<std::uint64_t, flight> flights_;
  std::uint64_t last_ = 0;
  std::size_t turn_ = 0;
  std::atomic<std::size_t> healthy_{0};
  std::optional<relay_watch> watch_;
  std::shared_ptr<relay_watcher> watcher_;  // once there is a watch
  std::string watch_frame_;
  asio::steady_timer watch_timer_{io_};

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

result<api_address> parse_api_address(std::string_view text) {
  // A URL's host and port, without a scheme.
  auto url = parse_url("https://" + std::string{text});
  if (!url || text.find('/') != text.npos || text.ends_with(':') ||
      text.rfind(':') == text.npos || text.ends_with(']'))
    return fail(errc::invalid_input,
                "\"" + std::string{text} + "\" is not host:port");
  return api_address{url.value().host, url.value().port};
}

result<std::unique_ptr<relay_client>> relay_client::start(
    relay_client_options options) {
  if (options.addresses.empty())
    return fail(errc::invalid_config, "the relay needs an API address");
  if (!options.identity)
    return fail(errc::invalid_config, "the relay needs a certificate");
  BC_TRY(tls, make_relay_tls(*options.identity, options.internal_ca_pem));
  auto out = std::make_unique<client>(std::move(options), std::move(tls));
  out->run();
  return out;
}

}  // namespace bc::gateway
