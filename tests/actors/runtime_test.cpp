// The join service, the doors and the runtime (spec: DESIGN 7).

#include "actors/runtime.hpp"

#include "actors/api_service.hpp"
#include "actors/join_service.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"
#include "tests/support/eventually.hpp"

#include <future>

namespace bc::test {
namespace {

using actors::daemon_reply;
using actors::front_door;

wire::join_answer failed(errc code) {
  wire::join_answer a;
  a.what = wire::join_answer::kind::failed;
  a.code = code;
  a.message = "text";
  return a;
}

class service_fixture : public actor_fixture {
 public:
  service_fixture() { start(); }

  actors::ledger_actors others(std::size_t most_appends = 100) {
    auto reader = own(actors::spawn_journal_reader(
        system, {&journal, nullptr, actors::threading::shared}));
    return {registry,
            writer,
            {reader},
            std::make_shared<actors::gate>(most_appends),
            &time};
  }

  /// The service answers every join by `answer`.
  void serve(std::function<wire::join_answer()> answer) {
    serve_flow([answer](auto, auto, auto done) { done(answer()); });
  }
  void serve_flow(actors::join_flow flow, std::size_t most_appends = 100) {
    actors::daemon_flows flows;
    flows[actors::daemon_request::join] = actors::answering(std::move(flow));
    service = own(actors::spawn_join_service(
        system, others(most_appends), std::move(flows),
        std::make_shared<actors::release_pace>()));
  }

  void join() {
    auto ticket = door->admit(
        [this](daemon_reply r) { replies.push_back(std::move(r)); });
    REQUIRE(ticket != nullptr);
    caf::anon_send(service, actors::join_work{
                                {"{}", "req"}, system.clock().now(), ticket});
  }

  /// A flow's work takes this long.
  void work(std::chrono::microseconds time_taken) {
    sched.clock().current_time += time_taken;
  }

  std::shared_ptr<front_door<daemon_reply>> door =
      std::make_shared<front_door<daemon_reply>>(3, actors::no_answer);
  actors::join_service_actor service;
  std::vector<daemon_reply> replies;
};

TEST_CASE_METHOD(service_fixture,
                 "runtime: a refusal is held to 100 ms after it came",
                 "[actors]") {
  serve([] { return failed(errc::access_denied); });
  advance(milliseconds{37});  // not at a multiple of the clock
  join();
  run();
  CHECK(replies.empty());
  advance(milliseconds{99});
  CHECK(replies.empty());
  advance(milliseconds{1});
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].status == 403);
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: a refusal that took longer waits for the next "
                 "multiple",
                 "[actors]") {
  serve([this] {
    work(milliseconds{130});
    return failed(errc::access_denied);
  });
  join();
  run();
  advance(milliseconds{69});
  CHECK(replies.empty());
  advance(milliseconds{1});
  CHECK(replies.size() == 1);
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: when a refusal is released does not tell how long "
                 "the work took",
                 "[actors]") {
  std::chrono::microseconds took{};
  serve([this, &took] {
    work(took);
    return failed(errc::access_denied);
  });
  for (int us : {0, 1, 250, 999, 1'000, 1'001, 37'500, 99'999, 100'000}) {
    CAPTURE(us);
    took = std::chrono::microseconds{us};
    replies.clear();
    const auto asked = system.clock().now();
    join();
    run();
    const auto slot = asked + milliseconds{100} - system.clock().now();
    if (slot > slot.zero()) {
      sched.advance_time(slot - std::chrono::nanoseconds{1});
      run();
      CHECK(replies.empty());
      sched.advance_time(std::chrono::nanoseconds{1});
    } else {
      sched.advance_time(slot.zero());
    }
    run();
    CHECK(replies.size() == 1);
  }
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: under load all refusals are held to one longer step",
                 "[actors]") {
  milliseconds took{};
  int code = 403;
  serve([&] {
    work(took);
    return failed(code == 403 ? errc::access_denied : errc::conflict);
  });
  // How long until the answer comes.
  auto ask = [&](milliseconds working) {
    took = working;
    replies.clear();
    const auto asked = system.clock().now();
    join();
    run();
    while (replies.empty())
      advance(milliseconds{1});
    return std::chrono::duration_cast<milliseconds>(system.clock().now() -
                                                    asked)
        .count();
  };
  CHECK(ask(milliseconds{1}) == 100);
  CHECK(ask(milliseconds{250}) == 400);
  // From here on a quick one tells nothing of how slow the others are.
  for (int ms : {1, 100, 101, 399})
    CHECK(ask(milliseconds{ms}) == 400);
  // An admitted join that takes long is load too, and is not held.
  code = 200;
  CHECK(ask(milliseconds{700}) == 700);
  code = 403;
  CHECK(ask(milliseconds{1}) == 800);
  // Longer than the longest: by its multiples.
  CHECK(ask(milliseconds{1'700}) == 3'200);
  CHECK(ask(milliseconds{1}) == 1'600);
  // It comes down as the load does, by a half each minute.
  for (int step : {800, 400, 200, 100, 100}) {
    advance(seconds{60});
    CHECK(ask(milliseconds{1}) == step);
    CHECK(ask(milliseconds{1}) == step);
  }
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: a clock set back does not hold a refusal for ever",
                 "[actors]") {
  serve([this] {
    time.advance(-seconds{7200});
    return failed(errc::access_denied);
  });
  join();
  run();
  advance(seconds{1});
  CHECK(replies.size() == 1);
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: only refusals are held, and they hold up nobody",
                 "[actors]") {
  bool refuse = true;
  serve([&refuse] {
    return failed(std::exchange(refuse, false) ? errc::access_denied
                                               : errc::conflict);
  });
  join();
  join();
  run();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].status == 409);
  advance(milliseconds{100});
  CHECK(replies.size() == 2);
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: an exception in a flow is answered UNAVAILABLE, "
                 "and the next call is served",
                 "[actors]") {
  int calls = 0;
  SECTION("at once") {
    serve_flow([&calls](auto, auto, auto done) {
      if (++calls == 1)
        throw std::runtime_error{"a bug"};
      done(failed(errc::conflict));
    });
  }
  SECTION("in a callback") {
    serve_flow([&calls](auto streams, auto, auto done) {
      streams->head([&calls, done](auto) {
        if (++calls == 1)
          throw std::runtime_error{"a bug"};
        done(failed(errc::conflict));
      });
    });
  }
  join();
  run();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].status == 503);
  join();
  run();
  REQUIRE(replies.size() == 2);
  CHECK(replies[1].status == 409);
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: the ledger answers from the journal", "[actors]") {
  auto tenant = some_id<tenant_id>();
  std::vector<std::string> seen;
  serve_flow([&](auto streams, auto, auto done) {
    streams->append(tenant_batch(tenant), [&, streams, done](auto outcome) {
      REQUIRE(outcome.has_value());
      streams->tenant(tenant, [&, streams, done](auto state) {
        seen.push_back("version " + std::to_string(state.value()->version));
        streams->event_at(1, [&, streams, done](auto event) {
          seen.push_back(event.value()->type);
          streams->event_at(9, [&, streams, done](auto none) {
            seen.push_back(none.value() ? "an event" : "no event");
            streams->holder("hw:1", [&, streams, done](auto holder) {
              seen.push_back(holder.value() ? "held" : "free");
              streams->query({}, [&, done](auto text) {
                seen.push_back(std::string{wire_text(text.error().code)});
                done(failed(errc::conflict));
              });
            });
          });
        });
      });
    });
  });
  join();
  run();
  CHECK(replies.size() == 1);
  CHECK(seen == std::vector<std::string>{"version 1", "tenant.created",
                                         "no event", "free", "UNAVAILABLE"});
}

TEST_CASE_METHOD(service_fixture,
                 "runtime: a full queue of appends is UNAVAILABLE, later",
                 "[actors]") {
  bool called_early = false;
  std::optional<errc> code;
  serve_flow(
      [&](auto streams, auto, auto done) {
        called_early = true;
        streams->append(tenant_batch(some_id<tenant_id>()),
                        [&, done](auto outcome) {
                          CHECK_FALSE(called_early);
                          code = outcome.error().code;
                          done(failed(errc::unavailable));
                        });
        called_early = false;
      },
      0);
  join();
  run();
  CHECK(code == errc::unavailable);
  CHECK(journal.groups().empty());
}

TEST_CASE("gate: lets in as many as it has room for", "[actors]") {
  auto door = std::make_shared<actors::gate>(2);
  auto a = door->enter();
  auto b = door->enter();
  CHECK(a != nullptr);
  CHECK(b != nullptr);
  CHECK(door->enter() == nullptr);
  a.reset();
  CHECK(door->enter() != nullptr);
  CHECK(door->inside() == 1);
}

TEST_CASE("front door: every callback runs exactly once", "[actors]") {
  using door_type = front_door<daemon_reply>;
  auto door = std::make_shared<door_type>(2, actors::no_answer);
  std::vector<int> statuses;
  auto done = [&](const daemon_reply& r) { statuses.push_back(r.status); };
  auto one = door->admit(done);
  auto two = door->admit(done);
  CHECK(door->admit(done) == nullptr);  // no room
  CHECK(statuses == std::vector<int>{503});
  one->answer({200, "{}"});
  one->answer({201, "{}"});
  one.reset();
  CHECK(statuses == std::vector<int>{503, 200});
  door->close();
  CHECK(door->admit(done) == nullptr);
  CHECK_FALSE(door->wait_until_empty({}));
  door->refuse_the_rest();
  CHECK(door->wait_until_empty({}));
  two->answer({200, "{}"});
  two.reset();
  CHECK(statuses == std::vector<int>{503, 200, 503, 503});
}

class running {
 public:
  running() {
    disarm_all();
    options.journal = &journal;
    options.time = &time;
    options.root_tenant = some_id<tenant_id>();
  }
  manual_clock time{sample_time};
  std::unique_ptr<events::journal> store = events::make_memory_journal(time);
  watched_journal journal{*store};
  actors::runtime_options options;
};

TEST_CASE_METHOD(running, "runtime: without a journal it does not start",
                 "[actors]") {
  options.journal = nullptr;
  auto refused = actors::runtime::start(options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == errc::invalid_config);
}

TEST_CASE_METHOD(running,
                 "runtime: its notices are as old as the journal's tail",
                 "[actors]") {
  constexpr seconds too_old{2};
  options.tail_every = milliseconds{1};
  SECTION("which is of this process alone") {
    auto server = actors::runtime::start(options).value();
    journal.lose_reads = true;
    CHECK(server->notices().age() == milliseconds{0});
  }
  SECTION("which others write to") {
    journal.shared = true;
    auto server = actors::runtime::start(options).value();
    auto& heard = server->notices();
    auto is_old = [&] { return heard.age() > too_old; };
    CHECK(eventually([&] { return !is_old(); }));
    journal.lose_reads = true;
    CHECK(eventually(is_old));
    journal.lose_reads = false;
    CHECK(eventually([&] { return !is_old(); }));
  }
}

TEST_CASE_METHOD(running,
                 "runtime: without join keys a join is INVALID_CONFIG; after "
                 "the stop every call is UNAVAILABLE",
                 "[actors]") {
  auto server = actors::runtime::start(options).value();
  std::promise<daemon_reply> before;
  server->daemons().call(
      {"{}", "r"}, [&](daemon_reply r) { before.set_value(std::move(r)); });
  auto reply = before.get_future().get();
  CHECK(reply.status == 500);
  CHECK(reply.body.find("INVALID_CONFIG") != std::string::npos);

  server->stop(seconds{10});
  server->stop(seconds{10});
  std::vector<std::pair<int, std::string>> late;
  server->daemons().call({"{}", "r"}, [&](const daemon_reply& r) {
    late.emplace_back(r.status, r.body);
  });
  actors::api_call call;
  call.request_id = "req_late";
  server->api().call(call, [&](const actors::api_reply& r) {
    late.emplace_back(r.status, r.body);
  });
  REQUIRE(late.size() == 2);
  CHECK(late[1].second.find("\"requestId\":\"req_late\"") != std::string::npos);
  for (const auto& [status, body] : late) {
    CHECK(status == 503);
    CHECK(body.find("\"code\":\"UNAVAILABLE\"") != std::string::npos);
    CHECK(body.find("the server is stopping") != std::string::npos);
  }
}

TEST_CASE_METHOD(running, "runtime: the API answers through its port",
                 "[actors]") {
  auto server = actors::runtime::start(options).value();
  std::promise<actors::api_reply> answered;
  actors::api_call call;
  call.group = "nodes";
  call.method = "list";
  call.body = "{}";
  call.request_id = "req";
  server->api().call(
      call, [&](actors::api_reply r) { answered.set_value(std::move(r)); });
  auto reply = answered.get_future().get();
  CHECK(reply.status == 401);
  CHECK(reply.body.find("UNAUTHENTICATED") != std::string::npos);
}

}  // namespace
}  // namespace bc::test
