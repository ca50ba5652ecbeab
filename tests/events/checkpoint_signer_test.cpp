// DESIGN section 4: a checkpoint each minute in which events came and each
// 10,000 events, by the holder of the lease; never over a rewritten journal.
#include "events/checkpoint_signer.hpp"

#include "tests/actors/watched_journal.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/sample_journal.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace bc;
using namespace bc::events;
using namespace bc::events::testing;

namespace {

std::uint64_t epoch_of(journal& j, const char* holder = "test") {
  auto lease = j.acquire_lease(holder, 3600s);
  REQUIRE(lease);
  REQUIRE(lease.value());
  return lease.value()->epoch;
}

std::uint64_t signed_at(checkpoint_duty& duty, std::uint64_t epoch) {
  auto done = duty.look(epoch);
  if (!done)
    FAIL(done.error().message);
  return done.value() ? done.value()->position : 0;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "checkpoint signer: at the first event, then each minute in "
    "which events came",
    "[journal]", JOURNAL_STORES) {
  TestType s;
  checkpoint_options options;
  checkpoint_duty duty{
      *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
  auto epoch = epoch_of(*s.store);
  CHECK(signed_at(duty, epoch) == 0);
  fill_sample(*s.store, s.time);
  CHECK(signed_at(duty, epoch) == 13);
  CHECK(signed_at(duty, epoch) == 0);
  won(append(*s.store, sample_adoption(2, s.store->now())));
  CHECK(signed_at(duty, epoch) == 0);
  s.time.advance(59s);
  CHECK(signed_at(duty, epoch) == 0);
  s.time.advance(1s);
  CHECK(signed_at(duty, epoch) == 14);
  s.time.advance(3000s);
  CHECK(signed_at(duty, epoch) == 0);  // no event came
  CHECK(s->read_checkpoints(0, 10).value().size() == 2);
  check_whole(*s.store, s->read_checkpoints(0, 10).value());
}

TEST_CASE("checkpoint signer: each so many events, whatever the time") {
  memory_store s;
  checkpoint_options options;
  options.events = 3;
  checkpoint_duty duty{
      *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
  auto epoch = epoch_of(*s.store);
  fill_sample(*s.store, s.time);
  CHECK(signed_at(duty, epoch) == 13);
  for (int i = 0; i < 2; ++i) {
    won(append(*s.store, sample_adoption(2, s.store->now())));
    CHECK(signed_at(duty, epoch) == 0);
  }
  won(append(*s.store, sample_adoption(2, s.store->now())));
  CHECK(signed_at(duty, epoch) == 16);
}

TEST_CASE("checkpoint signer: goes on from the last of whoever had the lease") {
  memory_store s;
  fill_sample(*s.store, s.time);
  checkpoint_options options;
  checkpoint_duty first{
      *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
  checkpoint_duty second{
      *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
  auto epoch = epoch_of(*s.store);
  CHECK(signed_at(first, epoch) == 13);
  REQUIRE(s->acquire_lease("test", 0s));
  auto later = epoch_of(*s.store, "other");
  CHECK(later != epoch);
  CHECK(signed_at(second, later) == 0);
  won(append(*s.store, sample_adoption(2, s.store->now())));
  s.time.advance(60s);
  auto refused = first.look(epoch);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::invalid_state);
  CHECK(signed_at(second, later) == 14);
}

TEST_CASE("checkpoint signer: does not sign what was rewritten meanwhile",
          "[sqlite]") {
  struct row {
    const char* script;
    const char* found;
  };
  auto r = GENERATE(
      row{"update events set actor = 'x' where position = 14",
          "row 14 is altered"},
      row{"update head set link = replace(link, substr(link, 1, 1), 'z')",
          "row 14 or one after it, up to row 14"},
      row{"update checkpoints set link = replace(link, substr(link,1,1), 'z')",
          "the checkpoint at row 13 is not signed"},
      row{"update head set incarnation = "
          "'inc_00000000000000000000000001'",
          "the head is of incarnation inc_00000000000000000000000001, but"},
      row{"update head set position = 12", "row 13 is missing"});
  sqlite_store s;
  fill_sample(*s.store, s.time);
  checkpoint_options options;
  auto epoch = epoch_of(*s.store);
  {
    checkpoint_duty duty{
        *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
    CHECK(signed_at(duty, epoch) == 13);
  }
  won(append(*s.store, sample_adoption(2, s.store->now())));
  s.time.advance(60s);
  {
    auto raw = sqlite::connection::open(s.path, sqlite::mode::read_write);
    REQUIRE(raw);
    REQUIRE(raw.value()->execute(r.script));
  }
  INFO(r.script);
  checkpoint_duty duty{
      *s.store, sample_journal_key(), {sample_journal_key().pub()}, options};
  auto done = duty.look(epoch);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::internal);
  CHECK_THAT(done.error().message, Catch::Contains(r.found));
}

TEST_CASE(
    "checkpoint signer: its thread signs and logs while the "
    "lease is held") {
  memory_store s;
  fill_sample(*s.store, s.time);
  auto keys = pki::make_bundle("a.example", start);
  REQUIRE(keys);
  auto bundle =
      std::make_shared<const pki::key_bundle>(std::move(keys).value());
  std::mutex mutex;
  std::vector<std::string> lines;
  std::atomic<std::uint64_t> epoch{0};
  checkpoint_options options;
  options.look = milliseconds{1};
  options.epoch = [&]() -> std::optional<std::uint64_t> {
    auto e = epoch.load();
    return e == 0 ? std::nullopt : std::optional{e};
  };
  options.log = [&](std::string_view line) {
    std::lock_guard lock{mutex};
    lines.emplace_back(line);
  };
  auto signer = checkpoint_signer::start(*s.store, bundle, options);
  epoch = epoch_of(*s.store);
  for (int i = 0; i < 20'000; ++i) {
    std::this_thread::sleep_for(1ms);
    std::lock_guard lock{mutex};
    if (!lines.empty())
      break;
  }
  signer->stop();
  REQUIRE(lines.size() == 1);
  auto found = find_checkpoint(lines.front());
  REQUIRE(found);
  REQUIRE(found.value());
  CHECK(is_signed_by(*found.value(), bundle->journal_checkpoint.pub()));
  CHECK(s->read_checkpoints(0, 10).value() == std::vector{*found.value()});
}

TEST_CASE(
    "checkpoint signer: its thread outlives a journal that throws, and raises "
    "the alarm once") {
  memory_store s;
  fill_sample(*s.store, s.time);
  test::watched_journal store{*s.store};
  store.before_tail = [] { throw std::runtime_error{"out of something"}; };
  auto bundle = std::make_shared<const pki::key_bundle>(
      pki::make_bundle("a.example", start).value());
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<std::string> alarms;
  checkpoint_options options;
  options.look = milliseconds{1};
  options.epoch = [] { return std::optional<std::uint64_t>{1}; };
  options.log = [&](std::string_view line) {
    std::lock_guard lock{mutex};
    lines.emplace_back(line);
  };
  options.alarm = [&](std::string_view line) {
    std::lock_guard lock{mutex};
    alarms.emplace_back(line);
  };
  auto signer = checkpoint_signer::start(store, bundle, options);
  REQUIRE(test::eventually([&] { return store.tails_read >= 3; }));
  signer->stop();
  CHECK(lines.empty());
  REQUIRE(alarms.size() == 1);
  CHECK(alarms.front() ==
        "no checkpoint: INTERNAL: the journal failed (out of something)");
}
