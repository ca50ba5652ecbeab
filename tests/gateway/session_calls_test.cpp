// What sessions ask is bounded, ordered, and never lost: gateway/session_calls.
#include "session_support.hpp"

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using actors::daemon_request;
using rank = session_calls::rank;

namespace {

struct calls_world {
  held_joins port;  // it keeps what it is asked
  std::shared_ptr<session_calls> calls = std::make_shared<session_calls>(port);
  std::shared_ptr<int> someone = std::make_shared<int>(0);
  std::atomic<int> answered{0};

  void ask(rank r, const std::string& body) {
    calls->ask(r, daemon_request::hello, body, "cert", someone,
               [this](const actors::daemon_reply&) { ++answered; });
  }
};

}  // namespace

TEST_CASE("session_calls: 500 nodes that come back at once starve nobody") {
  calls_world w;
  for (int i = 0; i < 500; ++i)
    w.ask(rank::hello, "hello");
  CHECK(w.port.size() == session_calls::width);
  // What else goes the same way finds it free; a revocation does not queue
  // behind hellos.
  w.ask(rank::check, "check");
  w.ask(rank::traffic, "traffic");
  w.calls->end("end", "cert");
  CHECK(w.port.size() == session_calls::width);
  for (std::size_t i = 0; i < session_calls::width; ++i) {
    auto one = w.port.take();
    CHECK(one.call.body == "hello");
    CHECK(one.call.client_certificate == "cert");
    CHECK(one.call.correlation.starts_with("req_"));
    one.done({200, ""});
  }
  CHECK(w.port.take().call.body == "check");
  CHECK(w.port.take().call.body == "traffic");
  CHECK(w.port.take().call.body == "end");
  CHECK(w.port.take().call.body == "hello");
}

TEST_CASE("session_calls: every one is answered, at once or later") {
  const bool at_once = GENERATE(true, false);
  calls_world w;
  if (at_once) {
    // So long a queue would overflow the stack if each answer called on.
    echo_joins port;
    auto calls = std::make_shared<session_calls>(port);
    std::atomic<int> answered{0};
    for (int i = 0; i < 100'000; ++i)
      calls->ask(rank::hello, daemon_request::hello, "x", "", w.someone,
                 [&](const actors::daemon_reply&) { ++answered; });
    CHECK(answered == 100'000);
    CHECK(calls->drain(milliseconds{0}));
    return;
  }
  for (int i = 0; i < 200; ++i)
    w.ask(rank::traffic, "x");
  CHECK_FALSE(w.calls->drain(milliseconds{0}));
  for (int i = 0; i < 200; ++i)
    w.port.take().done({200, ""});
  CHECK(w.answered == 200);
  CHECK(w.calls->drain(milliseconds{0}));
}

TEST_CASE("session_calls: who is gone when its turn comes asks nothing") {
  calls_world w;
  for (std::size_t i = 0; i < session_calls::width; ++i)
    w.ask(rank::hello, "first");
  auto gone = std::make_shared<int>(0);
  for (int i = 0; i < 10; ++i)
    w.calls->ask(rank::hello, daemon_request::hello, "gone", "", gone,
                 [](const actors::daemon_reply&) { FAIL("asked"); });
  gone.reset();
  w.ask(rank::hello, "last");
  for (std::size_t i = 0; i < session_calls::width; ++i)
    w.port.take().done({200, ""});
  auto last = w.port.take();
  CHECK(last.call.body == "last");
  last.done({200, ""});
  CHECK(w.port.size() == 0);
}

TEST_CASE("session_calls: an end that nobody took is told again") {
  calls_world w;
  w.calls->end("one", "");
  w.port.take().done({503, ""});
  // Not in a tight loop.
  CHECK(w.port.size() == 0);
  CHECK(w.calls->drain(milliseconds{0}));
  SECTION("when something else went well") {
    w.ask(rank::check, "check");
    w.port.take().done({200, ""});
  }
  SECTION("when a server is there again") {
    w.calls->retry_ends();
  }
  SECTION("when another session ends") {
    w.calls->end("two", "");
    CHECK(w.port.size() == 0);
    w.calls->retry_ends();
  }
  auto again = w.port.take();
  CHECK(again.call.body == "one");
  CHECK(again.call.what == daemon_request::session_end);
  again.done({200, ""});
}

TEST_CASE("session_calls: an end that was refused is not told again") {
  calls_world w;
  w.calls->end("one", "");
  w.port.take().done({403, ""});
  w.calls->retry_ends();
  CHECK(w.port.size() == 0);
}
