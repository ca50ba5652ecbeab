#include "actors/runtime.hpp"

#include "actors/api/api.hpp"
#include "actors/api/read_models.hpp"
#include "actors/api_service.hpp"
#include "actors/boot_lease/lease_flow.hpp"
#include "actors/certificate_watch.hpp"
#include "actors/gateway_watch.hpp"
#include "actors/hardware_watch.hpp"
#include "actors/join_service.hpp"
#include "actors/journal_reader.hpp"
#include "actors/journal_writer.hpp"
#include "actors/notices.hpp"
#include "actors/refusal_index.hpp"
#include "actors/refusals.hpp"
#include "actors/registry.hpp"
#include "actors/rejoining/challenge_flow.hpp"
#include "actors/renewing/renew_flow.hpp"
#include "actors/session_service.hpp"
#include "events/incarnations.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>

#include <atomic>
#include <mutex>

namespace bc::actors {
namespace {

using deadline = std::chrono::steady_clock::time_point;
using known_incarnations = std::shared_ptr<const events::incarnations>;

constexpr std::size_t most_calls = 10'000;   // inside at once, each port
constexpr std::size_t most_appends = 8'192;  // waiting for the writer
constexpr int reader_threads = 2;

/// Spawned in the order they need each other; ended the other way round.
struct cast {
  refusal_actor refusals;
  refusal_actor recent;  // the index of refusals
  registry_actor registry;
  writer_actor writer;
  std::vector<reader_actor> readers;
  std::vector<join_service_actor> joins;
  std::vector<session_service_actor> sessions;
  std::vector<api_service_actor> apis;
  // None without read models.
  std::optional<hardware_watch_actor> hardware;
  std::optional<certificate_watch_actor> certificates;
  std::optional<gateway_watch_actor> gateways;
};

caf::actor_system_config& configure(caf::actor_system_config& config,
                                    int threads) {
  config.set("scheduler.max-threads", static_cast<std::size_t>(threads));
  // Work stealing polls while there is nothing to do, and sleeps up to 10 ms
  // between two looks; one shared queue wakes a thread when there is work.
  config.set("scheduler.policy", caf::atom("sharing"));
  return config;
}

/// A flow with its environment.
template <class Environment, class Run>
join_flow bound(Run run, std::shared_ptr<Environment> env) {
  return [run, env = std::move(env)](
             std::shared_ptr<ledger> streams, daemon_call call,
             std::function<void(wire::join_answer)> done) {
    run(env, std::move(streams), std::move(call), std::move(done));
  };
}

class caf_runtime final : public runtime, daemon_port, api_port {
 public:
  caf_runtime(const runtime_options& options,
              const known_incarnations& incarnations)
      : time_(options.time),
        system_(configure(config_, std::max(options.worker_threads, 1))) {
    spawn(options, incarnations);
  }

  ~caf_runtime() override { stop(seconds{10}); }

  daemon_port& daemons() override { return *this; }
  api_port& api() override { return *this; }
  notice_port& notices() override { return *notices_; }
  void gateway_here(const std::string& gateway, bool here) override {
    here_->set(gateway, here);
  }

  const measures& measured() const override { return *measured_; }
  std::vector<queue_depth> queues() const override {
    return {{"joins", join_door_->inside(), most_calls},
            {"sessions", session_door_->inside(), most_calls},
            {"api", api_door_->inside(), most_calls},
            {"appends", appends_->inside(), most_appends}};
  }

  void call(daemon_call call, std::function<void(daemon_reply)> done) override {
    auto arrival = system_.clock().now();
    if (is_of_session(call.what) || is_of_commands(call.what)) {
      auto ticket = session_door_->admit(std::move(done), call.correlation);
      if (ticket)
        caf::anon_send(next(cast_.sessions),
                       session_work{std::move(call), std::move(ticket)});
      return;
    }
    auto ticket = join_door_->admit(std::move(done), call.correlation);
    if (ticket)
      caf::anon_send(next(cast_.joins),
                     join_work{std::move(call), arrival, std::move(ticket)});
  }

  void call(api_call call, std::function<void(api_reply)> done) override {
    auto ticket = api_door_->admit(std::move(done), call.request_id);
    if (ticket)
      caf::anon_send(next(cast_.apis),
                     api_work{std::move(call), std::move(ticket)});
  }

  void stop(seconds grace) override {
    std::lock_guard lock{stopping_};
    if (std::exchange(stopped_, true))
      return;
    const auto until = std::chrono::steady_clock::now() + grace;
    join_door_->close();
    session_door_->close();
    api_door_->close();
    if (!join_door_->wait_until_empty(until) ||
        !session_door_->wait_until_empty(until) ||
        !api_door_->wait_until_empty(until))
      spdlog::warn("stopping: calls are still in flight; they are refused");
    settle(until);
    end(until);
    join_door_->refuse_the_rest();
    session_door_->refuse_the_rest();
    api_door_->refuse_the_rest();
  }

 private:
  void spawn(const runtime_options& o, const known_incarnations& incarnations) {
    writer_options writing;
    writing.journal = o.journal;
    writing.measured = measured_;
    writing.on_event = [told = notices_, each = o.on_event](const auto& e) {
      told->hear_of(e);
      if (each)
        each(e);
    };
    if (o.journal->is_shared()) {
      // As old as can be, until the writer has read it.
      notices_->tailed({});
      writing.on_tailed = [told = notices_](instant as_of) {
        told->tailed(as_of);
      };
    }
    writing.poll_every = o.tail_every;
    cast_.writer = spawn_journal_writer(system_, std::move(writing));
    for (int i = 0; i < reader_threads; ++i)
      cast_.readers.push_back(
          spawn_journal_reader(system_, {o.journal, o.queries}));
    registry_options found;
    found.streams = {cast_.writer, cast_.readers.front(), o.time};
    found.streams.shared = o.journal->is_shared();
    found.shared = found.streams.shared;
    found.passivate_after = o.passivate_after;
    found.readers = cast_.readers;
    cast_.registry = spawn_registry(system_, std::move(found));
    caf::anon_send(cast_.writer, publish_to<registry_actor>{cast_.registry});
    caf::anon_send(cast_.registry, sweep_adopting{});
    cast_.refusals = spawn_refusals(system_, {cast_.writer, o.time});
    cast_.recent = spawn_refusal_index(system_, {cast_.readers.back(), o.time});
    spawn_services(o, incarnations);
  }

  void spawn_services(const runtime_options& o,
                      const known_incarnations& incarnations) {
    ledger_actors others{cast_.registry, cast_.writer, cast_.readers, appends_,
                         o.time};
    if (o.queries != nullptr) {
      cast_.hardware =
          spawn_hardware_watch(system_, {others, o.watch_hardware_every});
      cast_.certificates = spawn_certificate_watch(
          system_, {others, o.watch_certificates_every});
      if (o.presence != nullptr)
        cast_.gateways = spawn_gateway_watch(
            system_, {others, here_, o.presence, o.watch_gateways_every});
    }
    const auto models =
        o.journal->is_shared() ? std::make_shared<read_models>() : nullptr;
    auto keeping = std::make_shared<session_environment>();
    keeping->keys = o.keys;
    keeping->models = models;
    keeping->shared_uuids = o.shared_uuids;
    auto joining = std::make_shared<join_environment>();
    joining->keys = o.keys;
    joining->root_tenant = o.root_tenant;
    joining->certificate_lifetime = o.certificate_lifetime;
    joining->shared_uuids = o.shared_uuids;
    joining->x509pop = o.x509pop;
    joining->tpm = o.tpm;
    if (joining->tpm)
      joining->tpm->models = models;
    joining->discovery = o.discovery;
    if (joining->discovery)
      joining->discovery->models = models;
    joining->refused = [to = cast_.refusals, index = cast_.recent,
                        counts = measured_](refusal_report r) {
      counts->refusals.count(r.attestor, events::text_of(r.reason));
      caf::anon_send(index, r);
      caf::anon_send(to, std::move(r));
    };
    auto renewing = std::make_shared<renew_environment>();
    renewing->keys = o.keys;
    renewing->root_tenant = o.root_tenant;
    renewing->certificate_lifetime = o.certificate_lifetime;
    if (o.tpm)
      renewing->tpm_lifetime = o.tpm->max_lifetime;
    // The index explains joins alone.
    renewing->refused = [to = cast_.refusals,
                         counts = measured_](refusal_report r) {
      counts->refusals.count(r.attestor, events::text_of(r.reason));
      caf::anon_send(to, std::move(r));
    };
    auto serving = std::make_shared<api_environment>();
    serving->root_tenant = o.root_tenant;
    serving->shared_uuids = o.shared_uuids;
    serving->incarnations = incarnations;
    serving->source = o.source;
    serving->models = models;
    daemon_flows daemons;
    daemons[daemon_request::join] = answering(bound(run_join, joining));
    daemons[daemon_request::renew] = answering(bound(run_renew, renewing));
    daemons[daemon_request::join_challenge] =
        answering([joining, bucket = challenge_bucket()](
                      std::shared_ptr<ledger> streams, daemon_call call,
                      std::function<void(wire::join_answer)> done) {
          run_challenge(joining, bucket, std::move(streams), std::move(call),
                        std::move(done));
        });
    auto leasing = std::make_shared<boot_lease_environment>();
    if (o.discovery)
      leasing->ttl = o.discovery->boot_lease;
    daemons[daemon_request::boot_lease] =
        [leasing](std::shared_ptr<ledger> streams, daemon_call call,
                  std::function<void(daemon_outcome)> done) {
          run_boot_lease(leasing, std::move(streams), std::move(call),
                         std::move(done));
        };
    api_flow api = [serving](std::shared_ptr<ledger> streams, api_call call,
                             std::function<void(api_reply)> done) {
      run_api_call(serving, std::move(streams), std::move(call),
                   std::move(done));
    };
    const auto pace = std::make_shared<release_pace>();
    for (int i = 0; i < std::max(o.worker_threads, 1); ++i) {
      cast_.joins.push_back(spawn_join_service(system_, others, daemons, pace));
      cast_.sessions.push_back(spawn_session_service(system_, others, keeping));
      cast_.apis.push_back(spawn_api_service(system_, others, api));
    }
  }

  template <class Actor>
  const Actor& next(const std::vector<Actor>& actors) {
    return actors[turn_.fetch_add(1) % actors.size()];
  }

  /// Adoptions that follow from joins, then refusals that are no events yet.
  void settle(deadline until) {
    caf::scoped_actor self{system_};
    ask(self, until, cast_.registry, quiesce{}, "adoptions");
    ask(self, until, cast_.refusals, flush_refusals{}, "refusals");
    ask(self, until, cast_.recent, flush_refusals{}, "recent refusals");
  }

  template <class Actor, class Request>
  static void ask(caf::scoped_actor& self, deadline until, const Actor& whom,
                  Request request, const char* what) {
    self->request(whom, time_left(until), request)
        .receive(
            [&](const answer<void>& a) {
              if (!a.value)
                spdlog::warn("stopping: {}: {}", what, a.value.error().message);
            },
            [&](const caf::error&) {
              spdlog::warn("stopping: {}: no time left", what);
            });
  }

  static milliseconds time_left(deadline until) {
    auto left = std::chrono::duration_cast<milliseconds>(
        until - std::chrono::steady_clock::now());
    return std::max(left, milliseconds{1});
  }

  void end(deadline until) {
    caf::scoped_actor self{system_};
    std::size_t going = 0;
    auto finish = [&](const auto& actor) {
      self->monitor(actor);
      self->send_exit(actor, caf::exit_reason::user_shutdown);
      ++going;
    };
    for (const auto& a : cast_.joins)
      finish(a);
    for (const auto& a : cast_.sessions)
      finish(a);
    for (const auto& a : cast_.apis)
      finish(a);
    if (cast_.hardware)
      finish(*cast_.hardware);
    if (cast_.certificates)
      finish(*cast_.certificates);
    if (cast_.gateways)
      finish(*cast_.gateways);
    finish(cast_.refusals);
    finish(cast_.recent);
    finish(cast_.registry);
    for (const auto& a : cast_.readers)
      finish(a);
    finish(cast_.writer);
    bool late = false;
    while (going > 0 && !late)
      self->receive([&](const caf::down_msg&) { --going; },
                    caf::after(time_left(until)) >> [&] { late = true; });
    if (late)
      spdlog::warn("stopping: {} actors have not ended yet", going);
  }

  const clock* time_;
  std::shared_ptr<bc::actors::notices> notices_ =
      std::make_shared<bc::actors::notices>();
  std::shared_ptr<gateways_here> here_ = std::make_shared<gateways_here>();
  std::shared_ptr<measures> measured_ = std::make_shared<measures>();
  std::shared_ptr<gate> appends_ = std::make_shared<gate>(most_appends);
  caf::actor_system_config config_;
  caf::actor_system system_;
  std::shared_ptr<front_door<daemon_reply>> join_door_ =
      std::make_shared<front_door<daemon_reply>>(most_calls, no_answer);
  std::shared_ptr<front_door<daemon_reply>> session_door_ =
      std::make_shared<front_door<daemon_reply>>(most_calls, no_answer);
  std::shared_ptr<front_door<api_reply>> api_door_ =
      std::make_shared<front_door<api_reply>>(most_calls, no_api_answer);
  cast cast_;
  std::atomic<std::size_t> turn_{0};
  std::mutex stopping_;
  bool stopped_ = false;
};

}  // namespace

result<std::unique_ptr<runtime>> runtime::start(runtime_options options) {
  if (options.journal == nullptr || options.time == nullptr)
    return fail(errc::invalid_config, "A runtime needs a journal and a clock");
  try {
    BC_TRY(incarnations, events::incarnations::load(*options.journal));
    return std::unique_ptr<runtime>{std::make_unique<caf_runtime>(
        options,
        std::make_shared<const events::incarnations>(std::move(incarnations)))};
  } catch (const std::exception& e) {
    return fail(errc::internal, "The actors could not be started", {},
                e.what());
  }
}

}  // namespace bc::actors
