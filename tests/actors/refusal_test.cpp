// The refusal limiter (spec: joining#refusals; CASES 22 and 137).

#include "events/refusal.hpp"

#include "actors/refusals.hpp"
#include "events/refusal_reason.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"

namespace bc::test {
namespace {

using actors::refusal_actor;
using events::refusal_reason;

class refusal_fixture : public actor_fixture {
 public:
  refusal_fixture() { start(); }

  refusal_actor new_process() {
    return own(actors::spawn_refusals(system, {new_writer(), &time}));
  }

  void refuse(const refusal_actor& to, const tenant_id& owner, int count = 1,
              refusal_reason why = refusal_reason::token_secret_mismatch) {
    for (int i = 0; i < count; ++i)
      caf::anon_send(
          to, actors::refusal_report{
                  owner, why, std::string{events::attestor_of(why)}, "node",
                  std::string(64, 'c'), "", "req-" + std::to_string(i)});
    run();
  }

  std::string stream(
      const tenant_id& owner,
      refusal_reason why = refusal_reason::token_secret_mismatch) {
    return events::refusal_stream(owner, events::attestor_of(why),
                                  events::text_of(why));
  }

  std::vector<events::envelope> written(const std::string& of) {
    return store->read_stream(of, 0, 100'000).value();
  }

  std::uint64_t suppressed(const events::envelope& e) {
    return std::get<events::refusal::refused>(
               events::refusal::decode(e).value())
        .suppressed;
  }

  /// Every refusal that is accounted for in the journal.
  std::uint64_t accounted(const std::string& of) {
    std::uint64_t sum = store->read_limiter(of).value().dropped;
    for (const auto& e : written(of))
      sum += 1 + suppressed(e);
    return sum;
  }

  void check_no_window_holds_more(const std::string& of) {
    auto all = written(of);
    for (std::size_t i = 60; i < all.size(); ++i)
      CHECK(all[i].time - all[i - 60].time >= seconds{60});
  }

  tenant_id root = some_id<tenant_id>();
};

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: a refusal is an event of its tenant, at once",
                 "[actors]") {
  auto one = new_process();
  refuse(one, root);
  auto all = written(stream(root));
  REQUIRE(all.size() == 1);
  CHECK(all[0].type == "security.join.refused");
  CHECK(all[0].tenant == root.str());
  CHECK(all[0].correlation == "req-0");
  CHECK(suppressed(all[0]) == 0);
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: 60 in any 60 s, the next event carries the rest "
                 "(case 137)",
                 "[actors]") {
  // 200 in 10 s over three processes of one journal, then one after 61 s.
  std::vector<refusal_actor> processes{new_process(), new_process(),
                                       new_process()};
  for (int i = 0; i < 200; ++i) {
    refuse(processes[static_cast<std::size_t>(i % 3)], root);
    advance(milliseconds{50});
  }
  CHECK(written(stream(root)).size() == 60);
  for (int i = 0; i < 61; ++i)
    advance(seconds{1});
  CHECK(accounted(stream(root)) == 200);
  refuse(processes[1], root);
  auto all = written(stream(root));
  REQUIRE(all.size() == 61);
  CHECK(suppressed(all.back()) == 140);
  CHECK(accounted(stream(root)) == 201);
  check_no_window_holds_more(stream(root));
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: 10,000 wrong secrets are counted to the last "
                 "(case 22)",
                 "[actors]") {
  auto one = new_process();
  for (int i = 0; i < 200; ++i) {
    refuse(one, root, 50);
    advance(milliseconds{700});
  }
  for (int i = 0; i < 61; ++i)
    advance(seconds{1});
  CHECK(accounted(stream(root)) == 10'000);
  check_no_window_holds_more(stream(root));
  // 140 s of refusals: three windows' worth were free to be written.
  CHECK(written(stream(root)).size() == 180);
  // One write a second at most for what is only counted.
  CHECK(journal.drops_added <= 201);
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: tenants and reasons do not share a limit",
                 "[actors]") {
  auto one = new_process();
  auto other = some_id<tenant_id>();
  refuse(one, root, 100);
  refuse(one, other, 3);
  refuse(one, root, 2, refusal_reason::token_expired);
  CHECK(written(stream(root)).size() == 60);
  CHECK(written(stream(other)).size() == 3);
  CHECK(written(stream(root, refusal_reason::token_expired)).size() == 2);
}

TEST_CASE_METHOD(refusal_fixture, "refusals: a flush leaves nothing uncounted",
                 "[actors]") {
  auto one = new_process();
  refuse(one, root, 75);
  CHECK(accounted(stream(root)) == 60);
  CHECK(ask<void>(one, actors::flush_refusals{}).has_value());
  CHECK(accounted(stream(root)) == 75);
}

TEST_CASE_METHOD(refusal_fixture, "refusals: a journal that is away loses none",
                 "[actors]") {
  auto one = new_process();
  journal.lose_appends = true;
  refuse(one, root, 100);
  advance(seconds{1});
  CHECK(accounted(stream(root)) == 0);
  journal.lose_appends = false;
  for (int i = 0; i < 3; ++i)
    advance(seconds{1});
  CHECK(accounted(stream(root)) == 100);
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: an unknown outcome is not counted twice",
                 "[actors]") {
  auto one = new_process();
  journal.lose_answers = true;
  journal.lose_outcomes = true;
  refuse(one, root, 70);
  advance(seconds{1});
  advance(seconds{1});
  journal.lose_answers = false;
  journal.lose_outcomes = false;
  for (int i = 0; i < 3; ++i)
    advance(seconds{1});
  CHECK(accounted(stream(root)) == 70);
  CHECK(written(stream(root)).size() == 60);

  journal.lose_answers = true;  // now for a drop that was added
  refuse(one, root, 5);
  advance(seconds{1});
  journal.lose_answers = false;
  advance(seconds{1});
  CHECK(accounted(stream(root)) == 75);
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: one that the store cannot hold holds up no other",
                 "[actors]") {
  auto one = new_process();
  journal.cannot_hold = [](const auto& b) { return b.correlation == "req-0"; };
  refuse(one, root, 5);
  for (int i = 0; i < 3; ++i)
    advance(seconds{1});
  CHECK(written(stream(root)).size() == 4);
  CHECK(accounted(stream(root)) == 5);
}

TEST_CASE_METHOD(refusal_fixture,
                 "refusals: a store whose clock is behind ends in drops, not "
                 "in a loop",
                 "[actors]") {
  manual_clock ahead{time.now() + seconds{3600}};
  auto one = own(actors::spawn_refusals(system, {new_writer(), &ahead}));
  refuse(one, root, 61);
  refuse(one, root, 1);
  ask<void>(one, actors::flush_refusals{}).value();
  CHECK(written(stream(root)).size() == 60);
  CHECK(accounted(stream(root)) == 62);
}

}  // namespace
}  // namespace bc::test
