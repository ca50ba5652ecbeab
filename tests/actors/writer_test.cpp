// Group commit and unknown outcomes (spec: DESIGN 3).

#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"

#include <future>
#include <set>

namespace bc::test {
namespace {

using events::append_outcome;
using events::appended;
using events::rejected;

/// Sends batches without running anything.
class waiting_batches {
 public:
  waiting_batches(actor_fixture& f, std::vector<events::batch> batches)
      : f_(f) {
    for (auto& b : batches)
      waiting_.push_back(
          f.self->request(f.writer, caf::infinite,
                          actors::append_batch{std::move(b), nullptr}));
  }
  std::vector<result<append_outcome>> receive() {
    std::vector<result<append_outcome>> out;
    for (auto& w : waiting_)
      w.receive(
          [&](actors::answer<append_outcome>& a) {
            out.push_back(std::move(a.value));
          },
          [&](const caf::error&) {
            out.emplace_back(fail(errc::internal, "no answer"));
          });
    return out;
  }

 private:
  using handle = decltype(std::declval<caf::scoped_actor&>()->request(
      std::declval<actors::writer_actor&>(), caf::infinite,
      std::declval<actors::append_batch>()));
  actor_fixture& f_;
  std::vector<handle> waiting_;
};

std::vector<events::batch> some_batches(std::size_t n) {
  std::vector<events::batch> out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(tenant_batch(some_id<tenant_id>()));
  return out;
}

bool is_appended(const result<append_outcome>& o) {
  return o.has_value() && std::holds_alternative<appended>(o.value());
}

TEST_CASE_METHOD(actor_fixture, "writer: what waits is one group", "[actors]") {
  start();
  waiting_batches all{*this, some_batches(5)};
  run();
  for (const auto& o : all.receive())
    CHECK(is_appended(o));
  CHECK(journal.groups() == std::vector<std::size_t>{5});
  CHECK(published.size() == 5);
}

TEST_CASE_METHOD(actor_fixture, "writer: a group holds 512 batches at most",
                 "[actors]") {
  start();
  waiting_batches all{*this, some_batches(600)};
  run();
  for (const auto& o : all.receive())
    CHECK(is_appended(o));
  CHECK(journal.groups() == std::vector<std::size_t>{512, 88});
  for (std::size_t i = 0; i < published.size(); ++i)
    CHECK(published[i].position == i + 1);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: a batch that fails, fails alone in its group",
                 "[actors]") {
  start();
  auto batches = some_batches(3);
  batches[1].writes[0].expected_version = 7;
  waiting_batches all{*this, std::move(batches)};
  run();
  auto outcomes = all.receive();
  REQUIRE(outcomes.size() == 3);
  CHECK(is_appended(outcomes[0]));
  REQUIRE(outcomes[1].has_value());
  REQUIRE(std::holds_alternative<rejected>(outcomes[1].value()));
  CHECK(std::get<rejected>(outcomes[1].value()).why == events::unmet::version);
  CHECK(is_appended(outcomes[2]));
  CHECK(journal.groups() == std::vector<std::size_t>{3});
  CHECK(published.size() == 2);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: a batch that the store cannot hold fails alone",
                 "[actors]") {
  start();
  auto batches = some_batches(300);
  std::set<batch_id> odd{batches[0].id, batches[128].id, batches[299].id};
  journal.cannot_hold = [&](const auto& b) { return odd.contains(b.id); };
  waiting_batches all{*this, batches};
  run();
  auto outcomes = all.receive();
  REQUIRE(outcomes.size() == batches.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CAPTURE(i);
    CHECK(is_appended(outcomes[i]) == !odd.contains(batches[i].id));
    if (!outcomes[i])
      CHECK(outcomes[i].error().code == errc::internal);
  }
  REQUIRE(published.size() == 297);
  for (std::size_t i = 0; i < published.size(); ++i)
    CHECK(published[i].position == i + 1);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: a store that takes nothing is not asked for each",
                 "[actors]") {
  start();
  journal.cannot_hold = [](const auto&) { return true; };
  waiting_batches all{*this, some_batches(512)};
  run();
  for (const auto& o : all.receive())
    CHECK((!o && o.error().code == errc::internal));
  CHECK(journal.groups().size() <= 64);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: while a slow commit runs, the rest gathers",
                 "[actors]") {
  std::promise<void> entered, release;
  std::atomic<bool> first = true;
  journal.before_append = [&] {
    if (first.exchange(false)) {
      entered.set_value();
      release.get_future().wait();
    }
  };
  actors::writer_options o;
  o.journal = &journal;
  writer = own(actors::spawn_journal_writer(system, std::move(o)));
  waiting_batches one{*this, some_batches(1)};
  entered.get_future().wait();
  waiting_batches nine{*this, some_batches(9)};
  release.set_value();
  for (const auto& answer : one.receive())
    CHECK(is_appended(answer));
  for (const auto& answer : nine.receive())
    CHECK(is_appended(answer));
  CHECK(journal.groups() == std::vector<std::size_t>{1, 9});
}

TEST_CASE_METHOD(actor_fixture, "writer: an outcome that got lost is looked up",
                 "[actors]") {
  start();
  journal.lose_answers = true;
  auto batches = some_batches(3);
  batches[1].writes[0].expected_version = 7;
  waiting_batches all{*this, std::move(batches)};
  run();
  auto outcomes = all.receive();
  CHECK(is_appended(outcomes[0]));
  // Not in the journal, and why is not known any more.
  REQUIRE_FALSE(outcomes[1].has_value());
  CHECK(outcomes[1].error().code == errc::unavailable);
  CHECK(is_appended(outcomes[2]));
  CHECK(published.size() == 2);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: a store that takes its time to be away is looked "
                 "into once",
                 "[actors]") {
  journal.lose_answers = true;
  journal.lose_outcomes = true;
  actors::commit_options options;
  options.lookup_pause = milliseconds{0};
  options.lookup_longest = GENERATE(milliseconds{0}, milliseconds{3'600'000});
  auto done = actors::commit_group(journal, some_batches(2), options);
  CHECK(done.is_unsure);
  CHECK(done.outcomes.size() == 2);
  CHECK(journal.lookups == (options.lookup_longest.count() == 0 ? 1 : 3));
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: an append that never happened is UNAVAILABLE",
                 "[actors]") {
  start();
  arm(fault_point::store_before_commit, fault_action::error);
  auto outcome = append(tenant_batch(some_id<tenant_id>()));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == errc::unavailable);
  CHECK(published.empty());
  CHECK(is_appended(append(tenant_batch(some_id<tenant_id>()))));
  REQUIRE(published.size() == 1);
  CHECK(published[0].position == 1);
}

TEST_CASE_METHOD(actor_fixture, "writer: preconditions alone are not looked up",
                 "[actors]") {
  start();
  journal.lose_appends = true;
  events::batch b;
  b.id = some_id<batch_id>();
  b.claims.push_back({"hw:1", ""});
  auto outcome = append(std::move(b));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == errc::unavailable);
  CHECK(journal.lookups == 0);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: events of an outcome that stays unknown are "
                 "published later, once, in order",
                 "[actors]") {
  start();
  journal.lose_answers = true;
  journal.lose_outcomes = true;
  auto outcome = append(tenant_batch(some_id<tenant_id>()));
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == errc::unavailable);
  CHECK(journal.lookups == 3);
  CHECK(published.empty());

  journal.lose_answers = false;
  journal.lose_outcomes = false;
  SECTION("by the next commit") {
    CHECK(is_appended(append(tenant_batch(some_id<tenant_id>()))));
    CHECK(published.size() == 2);
  }
  SECTION("by itself, a second later") {
    advance(seconds{1});
    CHECK(published.size() == 1);
  }
  advance(seconds{5});
  for (std::size_t i = 0; i < published.size(); ++i)
    CHECK(published[i].position == i + 1);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: what cannot be read back yet is published when it "
                 "can be, once, in order",
                 "[actors]") {
  start();
  journal.lose_answers = true;
  journal.lose_outcomes = true;
  REQUIRE_FALSE(append(tenant_batch(some_id<tenant_id>())).has_value());
  journal.lose_answers = false;
  journal.lose_outcomes = false;
  journal.lose_reads = true;
  CHECK(is_appended(append(tenant_batch(some_id<tenant_id>()))));
  advance(seconds{2});
  journal.lose_reads = false;
  advance(seconds{2});
  REQUIRE(published.size() == 2);
  CHECK(published[0].position == 1);
  CHECK(published[1].position == 2);
}

TEST_CASE_METHOD(actor_fixture,
                 "writer: a batch that comes again is not published again",
                 "[actors]") {
  start();
  auto first = tenant_batch(some_id<tenant_id>());
  CHECK(is_appended(append(first)));
  CHECK(is_appended(append(tenant_batch(some_id<tenant_id>()))));
  CHECK(is_appended(append(first)));
  CHECK(is_appended(append(tenant_batch(some_id<tenant_id>()))));
  REQUIRE(published.size() == 3);
  for (std::size_t i = 0; i < published.size(); ++i)
    CHECK(published[i].position == i + 1);
}

}  // namespace
}  // namespace bc::test
