#include "gateway/relay_client.hpp"

#include "gateway/relay_api.hpp"
#include "gateway/relay_trial.hpp"
#include "gateway/routes.hpp"
#include "gateway/watch_keeper.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;

using callback = std::function<void(actors::daemon_reply)>;

constexpr auto kind_check_session =
    static_cast<std::uint8_t>(actors::daemon_request::check_session);

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
      watch_.start(options_.watch, std::move(frame), std::move(who));
    });
  }

  result<void> renew_tls(const tls_identity& identity,
                         const std::string& internal_ca_pem) override {
    BC_TRY(tls, make_relay_tls(identity, internal_ca_pem));
    // The one in use is one, or no API process would have taken it.
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
      watch_.stop();
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
    auto* api = f.at_watch ? watch_.usable() : nullptr;
    if (api == nullptr || api == except)
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

  void on_heard(relay_api& from) override { watch_.on_heard(from); }
  void on_watching(relay_api& from) override { watch_.on_watching(from); }
  void on_notice(relay_api&, relay::notice n) override {
    watch_.on_notice(std::move(n));
  }

  void on_lost(relay_api& api, const std::vector<std::uint64_t>& ids) override {
    watch_.on_gone(api);
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
      watch_.look();
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
  watch_keeper watch_{io_, apis_};

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

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
