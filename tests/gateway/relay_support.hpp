#pragma once

#include "gateway/relay_client.hpp"
#include "gateway/relay_server.hpp"
#include "pki/bundle.hpp"
#include "pki/internal.hpp"
#include "tests/gateway/tls_peer.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace bc::gateway::testing {

inline bool comes_true(const std::function<bool()>& f) {
  auto end = std::chrono::steady_clock::now() + seconds{20};
  while (!f()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

/// A join service that keeps what it is asked until the test answers.
class held_joins final : public actors::daemon_port {
 public:
  struct held {
    actors::daemon_call call;
    std::function<void(actors::daemon_reply)> done;
  };

  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    std::lock_guard lock{mutex_};
    held_.push_back({std::move(call), std::move(done)});
    changed_.notify_all();
  }

  held take() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, seconds{20},
                              [this] { return !held_.empty(); }));
    auto out = std::move(held_.front());
    held_.pop_front();
    return out;
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock{mutex_};
    return held_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<held> held_;
};

/// One that answers at once with what came.
class echo_joins final : public actors::daemon_port {
 public:
  std::atomic<int> asked{0};
  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    ++asked;
    done({200, "echo " + call.body});
  }
};

using pending_reply = std::future<actors::daemon_reply>;

inline pending_reply send(actors::daemon_port& to, actors::daemon_call call) {
  auto promise = std::make_shared<std::promise<actors::daemon_reply>>();
  auto out = promise->get_future();
  to.call(std::move(call), [promise](actors::daemon_reply reply) {
    promise->set_value(std::move(reply));
  });
  return out;
}

inline actors::daemon_reply get(pending_reply& from) {
  REQUIRE(from.wait_for(seconds{20}) == std::future_status::ready);
  return from.get();
}

inline actors::daemon_reply ask(actors::daemon_port& to,
                                actors::daemon_call call) {
  auto reply = send(to, std::move(call));
  return get(reply);
}

/// The internal PKI of one deployment.
struct relay_world {
  time_point now = system_clock{}.now();
  std::shared_ptr<const pki::key_bundle> keys =
      std::make_shared<const pki::key_bundle>(
          pki::make_bundle("compute.example.com", now).value());
  std::shared_ptr<const tls_identity> gateway =
      internal(pki::internal_role::gateway, now);

  [[nodiscard]] std::shared_ptr<const tls_identity> internal(
      pki::internal_role role, time_point at) const {
    return identity_of(
        pki::issue_internal_certificate(keys->internal_ca, role, {}, at)
            .value());
  }

  std::unique_ptr<relay_listener> listen(actors::daemon_port& daemons,
                                         relay_listener_options o = {}) const {
    o.keys = keys;
    auto out = start_relay_listener(std::move(o), daemons);
    if (!out)
      FAIL(out.error().message);
    return std::move(out).value();
  }

  [[nodiscard]] relay_client_options options(
      const std::vector<std::uint16_t>& ports) const {
    relay_client_options o;
    for (auto port : ports)
      o.addresses.push_back({"127.0.0.1", port});
    o.identity = gateway;
    o.internal_ca_pem = pki::certificate_pem(keys->internal_ca.certificate);
    o.first_backoff = milliseconds{10};
    o.longest_backoff = milliseconds{100};
    return o;
  }

  /// Started, and connected to all of them.
  static std::unique_ptr<relay_client> connect(relay_client_options o) {
    auto wanted = o.addresses.size();
    auto out = relay_client::start(std::move(o));
    if (!out)
      FAIL(out.error().message);
    REQUIRE(comes_true([&] { return out.value()->healthy_apis() == wanted; }));
    return std::move(out).value();
  }
};

inline bool is_unavailable(const actors::daemon_reply& reply) {
  return reply.status == 503 &&
         reply.body.find("\"code\":\"UNAVAILABLE\"") != std::string::npos;
}

}  // namespace bc::gateway::testing
