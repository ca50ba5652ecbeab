#pragma once

#include "actors/actors.hpp"
#include "actors/gate.hpp"
#include "events/streams.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

namespace bc::actors {

/// Whom a ledger asks.
struct ledger_actors {
  registry_actor registry;
  writer_actor writer;
  std::vector<reader_actor> readers;
  std::shared_ptr<gate> appends;  // bounds the batches that wait
  const clock* time = nullptr;    // outlives the actors
};

/// The ledger of one actor: asks, and runs the callbacks in its context. An
/// exception of a callback's is logged and ends that flow alone.
/// Self: the typed actor's pointer; it takes `continuation`.
template <class Self>
class actor_ledger final : public ledger {
 public:
  actor_ledger(Self self, ledger_actors others)
      : self_(self), others_(std::move(others)) {}

  void tenant(const tenant_id& id,
              reply_to<shared_state<events::tenant::state>> done) override {
    state_of<events::tenant::state>(events::stream_of(id), std::move(done));
  }
  void site(const site_id& id,
            reply_to<shared_state<events::site::state>> done) override {
    state_of<events::site::state>(events::stream_of(id), std::move(done));
  }
  void pool(const pool_id& id,
            reply_to<shared_state<events::pool::state>> done) override {
    state_of<events::pool::state>(events::stream_of(id), std::move(done));
  }
  void credential(
      const credential_id& id,
      reply_to<shared_state<events::credential::state>> done) override {
    state_of<events::credential::state>(events::stream_of(id), std::move(done));
  }
  void token(const join_token_id& id,
             reply_to<shared_state<events::join_token::state>> done) override {
    state_of<events::join_token::state>(events::stream_of(id), std::move(done));
  }
  void request(
      const join_request_id& id,
      reply_to<shared_state<events::join_request::state>> done) override {
    state_of<events::join_request::state>(events::stream_of(id),
                                          std::move(done));
  }
  void node(const node_id& id,
            reply_to<shared_state<events::node::state>> done) override {
    state_of<events::node::state>(events::stream_of(id), std::move(done));
  }
  void command(const command_id& id,
               reply_to<shared_state<events::command::state>> done) override {
    state_of<events::command::state>(events::stream_of(id), std::move(done));
  }
  void boot_lease(
      const site_id& of,
      reply_to<shared_state<events::boot_lease::state>> done) override {
    state_of<events::boot_lease::state>(events::boot_lease_stream(of),
                                        std::move(done));
  }

  void append(events::batch b, reply_to<events::append_outcome> done) override {
    auto admitted = others_.appends->enter();
    if (!admitted) {
      // Later, as every answer: a flow never finds itself called back early.
      self_->send(self_, continuation{[done = std::move(done)] {
                    run<events::append_outcome>(
                        done, fail(errc::unavailable,
                                   "The server is overloaded; retry"));
                  }});
      return;
    }
    ask<events::append_outcome>(
        others_.writer,
        append_batch{std::move(b), std::move(admitted), self_->clock().now()},
        std::move(done));
  }

  void holder(std::string claim,
              reply_to<std::optional<events::claim_holder>> done) override {
    ask<std::optional<events::claim_holder>>(
        reader(), find_holder{std::move(claim)}, std::move(done));
  }
  void refusals(std::string owner, std::string csr_sha256, std::size_t limit,
                reply_to<std::vector<events::refused_join>> done) override {
    ask<std::vector<events::refused_join>>(
        reader(), find_refusals{std::move(owner), std::move(csr_sha256), limit},
        std::move(done));
  }
  void event_at(std::uint64_t position,
                reply_to<std::optional<events::envelope>> done) override {
    ask<std::optional<events::envelope>>(reader(), find_event{position},
                                         std::move(done));
  }
  void events_after(std::uint64_t position, std::size_t limit,
                    reply_to<std::vector<events::envelope>> done) override {
    ask<std::vector<events::envelope>>(reader(), read_events{position, limit},
                                       std::move(done));
  }
  void head(reply_to<events::head_row> done) override {
    ask<events::head_row>(reader(), read_head{}, std::move(done));
  }
  void query(std::function<result<std::string>(projections::queries&)> read,
             reply_to<std::string> done) override {
    ask<std::string>(reader(), run_query{std::move(read)}, std::move(done));
  }

  void after(milliseconds pause, std::function<void()> run) override {
    self_->delayed_send(self_, pause, continuation{[run = std::move(run)] {
                          try {
                            run();
                          } catch (const std::exception& e) {
                            spdlog::error("a flow failed: {}", e.what());
                          }
                        }});
  }

  time_point now() const override { return others_.time->now(); }

 private:
  template <class T>
  static void run(const reply_to<T>& done, result<T> value) noexcept {
    try {
      done(std::move(value));
    } catch (const std::exception& e) {
      spdlog::error("a flow failed: {}", e.what());
    } catch (...) {
      spdlog::error("a flow failed");
    }
  }

  template <class T, class Actor, class Request>
  void ask(const Actor& whom, Request request, reply_to<T> done) {
    auto shared = std::make_shared<reply_to<T>>(std::move(done));
    self_->request(whom, caf::infinite, std::move(request))
        .then([shared](answer<T>& a) { run<T>(*shared, std::move(a.value)); },
              [shared](const caf::error&) {
                run<T>(*shared,
                       fail(errc::unavailable, "The server is stopping"));
              });
  }

  template <class State>
  void state_of(events::stream_id stream, reply_to<shared_state<State>> done) {
    ask<any_state>(
        others_.registry, get_state{std::move(stream)},
        [done = std::move(done)](result<any_state> any) {
          if (!any)
            done(std::move(any.error()));
          else
            done(std::get<shared_state<State>>(std::move(any.value())));
        });
  }

  const reader_actor& reader() {
    return others_.readers[turn_++ % others_.readers.size()];
  }

  Self self_;
  ledger_actors others_;
  std::size_t turn_ = 0;
};

}  // namespace bc::actors
