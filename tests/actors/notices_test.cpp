// What gateways hear of, and when no more (DESIGN 7; CASES 66, 67).
#include "actors/notices.hpp"

#include "events/command.hpp"
#include "tests/events/stream_samples.hpp"

#include <catch2/catch.hpp>

namespace bc::test {
namespace {

namespace node = events::node;
using actors::gateway_notice;
using testing::at;
using testing::fixed_id;

const auto now = at("2026-11-29T12:00:00Z");
const auto id = fixed_id<node_id>(1);

events::envelope of(const node::event& e) {
  return testing::stored(node::encode(e), "node:" + id.str());
}

node::connected connected(const std::string& supersedes) {
  return {id, "sess_2", "gw_1", "192.0.2.1", "0.1.0", "aa", supersedes, now};
}

node::certificate_revoked revoked() {
  return {
      id, fixed_id<tenant_id>(2), "aa", 1, node::revocation::revoked, "", now,
      ""};
}

}  // namespace

TEST_CASE("notices: what an event tells gateways", "[actors]") {
  auto cut = actors::notice_of(of(revoked()));
  REQUIRE(cut);
  CHECK(cut->what == gateway_notice::kind::cut);
  CHECK(cut->node_id == id.str());
  CHECK(cut->keep.empty());
  CHECK_FALSE(cut->superseded);

  auto over = actors::notice_of(of(node::retired{id, "", now, ""}));
  REQUIRE(over);
  CHECK(over->node_id == id.str());
  CHECK(over->keep.empty());

  auto newer = actors::notice_of(of(connected("sess_1")));
  REQUIRE(newer);
  CHECK(newer->what == gateway_notice::kind::cut);
  CHECK(newer->keep == "sess_2");
  CHECK(newer->superseded);

  // One after none too: a gateway that was given up may have another still.
  auto first = actors::notice_of(of(connected("")));
  REQUIRE(first);
  CHECK(first->what == gateway_notice::kind::cut);
  CHECK(first->keep == "sess_2");
  CHECK(first->superseded);

  const auto completed = [&](bool succeeded, const char* output) {
    const auto command = fixed_id<command_id>(3);
    return actors::notice_of(
        testing::stored(events::command::encode(events::command::completed{
                            command, id, succeeded, output, now}),
                        "command:" + command.str()));
  };
  // One that was not run may be due anew; nobody waits for another's end.
  auto due = completed(false, R"({"error":"interrupted"})");
  REQUIRE(due);
  CHECK(due->what == gateway_notice::kind::commands);
  CHECK(due->node_id == id.str());
  CHECK_FALSE(completed(true, "{}"));
  CHECK_FALSE(completed(false, R"({"error":"unknown-kind"})"));

  CHECK_FALSE(actors::notice_of(of(node::adopted{id, now})));
  CHECK_FALSE(actors::notice_of(
      of(node::disconnected{id, "sess_1", node::session_end::lost, now})));
  testing::sampler random{1};
  CHECK_FALSE(actors::notice_of(of(random.node_joined())));
  auto damaged = of(revoked());
  damaged.data = "{}";
  CHECK_FALSE(actors::notice_of(damaged));
}

TEST_CASE("notices: each watcher hears, until its watch is gone", "[actors]") {
  actors::notices n;
  int first = 0, second = 0;
  auto one = n.watch([&](const gateway_notice&) { ++first; });
  auto two = n.watch([&](const gateway_notice&) { ++second; });
  n.hear_of(of(revoked()));
  CHECK(first == 1);
  CHECK(second == 1);
  one.reset();
  n.hear_of(of(revoked()));
  n.hear_of(of(node::adopted{id, now}));
  CHECK(first == 1);
  CHECK(second == 2);
}

TEST_CASE("notices: a watcher may throw, or end its own watch", "[actors]") {
  actors::notices n;
  std::shared_ptr<void> own;
  int ended = 0, heard = 0;
  own = n.watch([&](const gateway_notice&) {
    own.reset();
    ++ended;
  });
  auto bad = n.watch(
      [](const gateway_notice&) { throw std::runtime_error{"a bad watcher"}; });
  auto good = n.watch([&](const gateway_notice&) { ++heard; });
  n.hear_of(of(revoked()));
  n.hear_of(of(revoked()));
  CHECK(ended == 1);
  CHECK(heard == 2);
}

TEST_CASE("notices: how old they may be", "[actors]") {
  actors::notices n;
  CHECK(n.age() == milliseconds{0});
  n.tailed(std::chrono::steady_clock::now() - seconds{100});
  CHECK(n.age() >= seconds{100});
  n.tailed(std::chrono::steady_clock::now());
  CHECK(n.age() < seconds{100});
}

}  // namespace bc::test
