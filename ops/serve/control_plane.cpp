#include "ops/serve/control_plane.hpp"

#include "actors/runtime.hpp"
#include "events/gateway_presence.hpp"
#include "gateway/url.hpp"
#include "ops/serve/counted_calls.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/serve/metrics.hpp"
#include "ops/serve/monitor.hpp"
#include "ops/serve/revocation.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <mutex>

namespace bc::serve {

namespace {

// How long the actors have to answer a call that any one of them refuses.
constexpr seconds probe_limit{2};
// Counting all of a deployment's nodes costs more than a look.
constexpr seconds census_every{15};

/// The store's clock, which decisions are judged by.
class store_clock final : public clock {
 public:
  explicit store_clock(const events::journal& store) : store_(store) {}
  [[nodiscard]] time_point now() const override { return store_.now(); }

 private:
  const events::journal& store_;
};

class plane final : public control_plane {
 public:
  explicit plane(control_plane_options o)
      : options_(std::move(o)), time_(*options_.store.journal) {}

  ~plane() override { stop(seconds{10}); }

  result<void> begin() {
    const auto& where = options_.store.where;
    presence_ = where.what == store::kind::postgres
                    ? events::make_postgres_presence(where.target)
                    : events::make_memory_presence(time_);
    feed_ = gateway::event_feed::start();
    actors::runtime_options r;
    r.journal = options_.store.journal.get();
    r.queries = options_.store.queries.get();
    r.presence = presence_.get();
    r.time = &time_;
    r.keys = options_.keys;
    r.root_tenant = options_.root_tenant;
    r.source = options_.source;
    r.certificate_lifetime = options_.certificate_lifetime;
    r.shared_uuids = options_.shared_uuids;
    r.x509pop = options_.x509pop;
    r.tpm = options_.tpm;
    r.discovery = options_.discovery;
    r.worker_threads = options_.workers;
    r.on_event = [this](const events::envelope& e) { on_event(e); };
    BC_TRY(duties, duties::start({&options_.store, options_.keys,
                                  options_.publisher, options_.checkpoints}));
    duties_ = std::move(duties);
    BC_TRY(runtime, actors::runtime::start(std::move(r)));
    runtime_ = std::move(runtime);
    counted_ = std::make_unique<counted_calls>(runtime_->daemons(), joins_,
                                               renewals_, failures_);
    api_ = std::make_unique<told_api>(runtime_->api(), failures_);
    if (options_.keys)
      revoked_ = std::make_unique<revocation_keeper>(*options_.store.queries,
                                                     time_, options_.keys);
    monitor_ = std::make_unique<monitor>([this] { return look(); });
    BC_TRYV(watch_expiry());
    return ok();
  }

  actors::daemon_port& daemons() override { return *counted_; }
  actors::notice_port& notices() override { return runtime_->notices(); }
  void gateway_here(const std::string& gateway, bool here) override {
    runtime_->gateway_here(gateway, here);
  }
  actors::api_port& api() override { return *api_; }
  std::shared_ptr<gateway::event_feed> feed() override { return feed_; }

  gateway::readiness ready() const override {
    return readiness_of(not_ready_because(monitor_->last()));
  }
  std::string metrics() const override {
    return metrics_text({monitor_->last(), joins_, renewals_,
                         runtime_->measured(), runtime_->queues()}) +
           expiry_->metrics();
  }
  void renewed(std::string_view certificate, const std::string& pem) override {
    expiry_->renewed(certificate, pem);
  }
  result<std::shared_ptr<const gateway::revocation_list>> revoked(
      std::string_view authority) const override {
    if (!revoked_)
      return fail(errc::not_found, "this server has no keys");
    return revoked_->find(authority);
  }

  void stop(seconds grace) override {
    std::lock_guard lock{stopping_};
    if (std::exchange(stopped_, true))
      return;
    if (feed_)
      feed_->stop();
    if (monitor_)
      monitor_->stop();
    if (revoked_)
      revoked_->stop();
    if (runtime_)
      runtime_->stop(grace);
    if (duties_)
      duties_->stop();
  }

 private:
  result<void> watch_expiry() {
    auto all = std::move(options_.certificates);
    if (options_.keys) {
      BC_TRY(own, dated(*options_.keys));
      all.insert(all.end(), own.begin(), own.end());
    }
    expiry_ = std::make_unique<expiry_watch>(std::move(all));
    return ok();
  }

  void on_event(const events::envelope& e) {
    duties_->wake();
    feed_->wake();
    if (options_.on_event)
      options_.on_event(e);
  }

  health look() {
    health h;
    auto head = options_.store.journal->head();
    if (!head) {
      h.store_problem = head.error().message;
      h.store_detail = head.error().detail;
    } else {
      h.head = head.value().position;
    }
    // Polled, not heard of: what another process appended while this one
    // started counts too.
    if (options_.keys_version > 0)
      if (auto current =
              keys_are_current(*options_.store.journal, options_.keys_version))
        h.keys_current = current.value();
    duties_->look(h);
    h.actors_answer = actors_answer();
    h.counted = counted(h);
    return h;
  }

  // By the monitor's thread alone. An old one stays while the store is away.
  std::optional<census> counted(const health& h) {
    const auto now = std::chrono::steady_clock::now();
    if (h.store_problem.empty() && (!census_ || now >= next_census_)) {
      if (auto taken = take_census(*options_.store.queries, time_.now()))
        census_ = std::move(taken).value();
      next_census_ = now + census_every;
    }
    return census_;
  }

  // A call without a credential is refused by the first actor it comes to.
  bool actors_answer() {
    auto answered = std::make_shared<std::promise<void>>();
    auto done = answered->get_future();
    actors::api_call probe;
    probe.group = "health";
    probe.method = "probe";
    probe.request_id = "health";
    runtime_->api().call(
        std::move(probe),
        [answered](const actors::api_reply&) { answered->set_value(); });
    return done.wait_for(probe_limit) == std::future_status::ready;
  }

  control_plane_options options_;
  store_clock time_;
  call_counts joins_{"admitted"};
  call_counts renewals_{"renewed"};
  failure_log failures_{[](const auto& line) { spdlog::error("{}", line); }};
  std::unique_ptr<events::gateway_presence> presence_;
  std::shared_ptr<gateway::event_feed> feed_;
  std::unique_ptr<duties> duties_;
  std::unique_ptr<actors::runtime> runtime_;
  std::unique_ptr<counted_calls> counted_;
  std::unique_ptr<told_api> api_;
  std::optional<census> census_;
  std::chrono::steady_clock::time_point next_census_;
  std::unique_ptr<revocation_keeper> revoked_;
  std::unique_ptr<monitor> monitor_;
  std::unique_ptr<expiry_watch> expiry_;
  std::mutex stopping_;
  bool stopped_ = false;
};

}  // namespace

result<std::unique_ptr<control_plane>> control_plane::start(
    control_plane_options options) {
  auto made = std::make_unique<plane>(std::move(options));
  BC_TRYV(made->begin());
  return std::unique_ptr<control_plane>{std::move(made)};
}

result<std::unique_ptr<gateway::http_server>> start_api_listener(
    listener_options where, control_plane& plane,
    gateway::well_known document) {
  gateway::server_options s;
  s.address = where.address;
  s.port = where.port;
  s.tls = std::move(where.tls);
  s.max_body = gateway::max_api_body;
  s.allow = gateway::api_methods;
  s.max_connections = where.connections;
  // No host takes every place; a proxy on this one is all callers.
  if (!gateway::is_loopback(where.address))
    s.max_connections_per_peer =
        std::max<std::size_t>(1, where.connections / 2);
  gateway::api_extras extras;
  extras.readyz = [&plane] { return plane.ready(); };
  // Numbers about the deployment are for who is on this host.
  if (gateway::is_loopback(where.address))
    extras.metrics = [&plane] { return plane.metrics(); };
  extras.events = plane.feed();
  extras.programs = std::move(where.programs);
  extras.revoked = [&plane](std::string_view authority) {
    return plane.revoked(authority);
  };
  return gateway::http_server::start(
      std::move(s), gateway::make_api_handler(plane.api(), std::move(document),
                                              std::move(extras)));
}

result<std::unique_ptr<gateway::http_server>> start_probe_listener(
    const std::string& address, std::int64_t port,
    std::function<gateway::readiness()> readyz,
    std::function<std::string()> metrics) {
  gateway::server_options s;
  s.address = address;
  s.port = static_cast<std::uint16_t>(port);
  s.max_connections = 64;
  return gateway::http_server::start(
      std::move(s), make_probe_handler(std::move(readyz), std::move(metrics)));
}

}  // namespace bc::serve
