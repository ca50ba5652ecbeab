// Streams load from the newest snapshot, and idle ones leave the memory
// (DESIGN 3: "a million known tokens and nodes cost no memory until used").

#include "events/sqlite_journal.hpp"
#include "events/state_codec.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/sample_events.hpp"

#include <filesystem>

namespace bc::test {
namespace {

using actors::any_state;
using actors::shared_state;

class snapshot_fixture : public actor_fixture {
 public:
  /// A node that joined and was adopted many times over.
  void write_node(int events) {
    for (int i = 0; i < events; ++i) {
      auto b = batch_of(node_stream,
                        i % 2 == 0 ? node_joined(node)
                                   : events::node::encode(events::node::adopted{
                                         node, sample_time}));
      REQUIRE(store->append(std::span<const events::batch>{&b, 1}).has_value());
    }
  }

  events::node::state load() {
    auto got = ask<any_state>(registry, actors::get_state{node_stream});
    REQUIRE(got.has_value());
    return *std::get<shared_state<events::node::state>>(got.value());
  }

  /// The stream's actor leaves; the next one loads anew.
  void forget_all() {
    for (int i = 0; i < 14; ++i)
      advance(seconds{5});
    REQUIRE(live() == 0);
    journal.pages_read = 0;
    journal.snapshots_read = 0;
  }

  std::size_t live() {
    return ask<std::size_t>(registry, actors::count_live{}).value();
  }

  std::string folded_whole() {
    auto all = store->read_stream(node_stream, 0, 100'000).value();
    return events::snapshot_of(node_stream, all).value()->state;
  }

  node_id node = some_id<node_id>();
  events::stream_id node_stream = events::stream_of(node);
};

TEST_CASE_METHOD(snapshot_fixture,
                 "snapshot: a node of 1,100 events loads in a few reads",
                 "[actors]") {
  write_node(1'100);
  start();
  CHECK(events::node::encode_state(load()) == folded_whole());
  CHECK(journal.snapshots_saved == 1);
  forget_all();
  CHECK(events::node::encode_state(load()) == folded_whole());
  CHECK(journal.pages_read == 2);
  CHECK(journal.snapshots_read == 1);
  CHECK(journal.snapshots_saved == 1);
}

TEST_CASE_METHOD(snapshot_fixture,
                 "snapshot: one is kept about each 128 events that come",
                 "[actors]") {
  start();
  write_node(1);
  CHECK(load().version == 1);
  for (int i = 0; i < 300; ++i)
    REQUIRE(append(batch_of(node_stream, node_joined(node))).has_value());
  CHECK(load().version >= 301);
  CHECK(journal.snapshots_saved >= 2);
  CHECK(journal.snapshots_saved <= 6);  // adoptions are events too
  auto kept = store->load_snapshot(node_stream).value();
  REQUIRE(kept.has_value());
  auto all = store->read_stream(node_stream, 0, kept->version).value();
  CHECK(kept->state == events::snapshot_of(node_stream, all).value()->state);
}

TEST_CASE_METHOD(snapshot_fixture, "snapshot: a small stream needs none",
                 "[actors]") {
  write_node(2);
  start();
  CHECK(load().version == 2);
  CHECK(journal.pages_read == 1);
  CHECK(journal.snapshots_read == 0);
  CHECK(journal.snapshots_saved == 0);
}

TEST_CASE_METHOD(snapshot_fixture,
                 "snapshot: one that is of no use is thrown away, the stream "
                 "read whole",
                 "[actors]") {
  write_node(300);
  auto all = store->read_stream(node_stream, 0, 1'000).value();
  auto good = *events::snapshot_of(node_stream, {all.data(), 256}).value();
  SECTION("of another fold version") {
    ++good.fold_version;
  }
  SECTION("damaged") {
    good.state.resize(good.state.size() / 2);
  }
  SECTION("of another version than it says") {
    good.version = 128;
  }
  SECTION("ahead of the journal") {
    auto state = events::node::decode_state(good.state).value();
    good.version = state.version = 5'000;
    good.state = events::node::encode_state(state);
  }
  SECTION("of another kind") {
    good.state = "{\"version\":256,\"usesLeft\":1}";
  }
  REQUIRE(store->save_snapshot(node_stream, good).has_value());
  start();
  CHECK(events::node::encode_state(load()) == folded_whole());
  CHECK(journal.snapshots_read == 1);
}

TEST_CASE_METHOD(snapshot_fixture,
                 "snapshot: one that cannot be kept or read costs nothing but "
                 "reads",
                 "[actors]") {
  write_node(300);
  journal.lose_snapshots = true;
  start();
  CHECK(events::node::encode_state(load()) == folded_whole());
  CHECK(journal.snapshots_saved == 1);
  forget_all();
  CHECK(events::node::encode_state(load()) == folded_whole());
}

/// Uses every token once, in pages of what one process may hold.
void use_tokens(actor_fixture& f, const std::vector<join_token_id>& tokens) {
  for (const auto& t : tokens)
    caf::anon_send(f.registry, actors::get_state{events::stream_of(t)});
  f.run();
}

std::vector<join_token_id> write_tokens(events::journal& into,
                                        std::size_t count) {
  std::vector<join_token_id> out;
  std::vector<events::batch> group;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(some_id<join_token_id>());
    group.push_back(
        batch_of(events::stream_of(out.back()), token_created(out.back(), 1)));
    if (group.size() == 512 || i + 1 == count) {
      REQUIRE(into.append(group).has_value());
      group.clear();
    }
  }
  return out;
}

TEST_CASE_METHOD(snapshot_fixture,
                 "passivation: of the tokens that were used none stays in "
                 "memory",
                 "[actors]") {
  start(10'000);
  auto tokens = write_tokens(*store, 2'000);
  const auto before = system.registry().running();
  use_tokens(*this, tokens);
  CHECK(live() == 2'000);
  CHECK(system.registry().running() == before + 2'000);
  for (int i = 0; i < 11; ++i) {
    advance(seconds{5});
    use_tokens(*this, {tokens.front()});  // still in use
  }
  CHECK(live() == 2'000);
  advance(seconds{5});
  advance(seconds{5});
  CHECK(live() == 1);
  for (int i = 0; i < 13; ++i)
    advance(seconds{5});
  CHECK(live() == 0);
  CHECK(system.registry().running() == before);
  CHECK_FALSE(sched.has_pending_timeout());  // nothing to look after
  use_tokens(*this, {tokens.front()});
  CHECK(live() == 1);
}

TEST_CASE_METHOD(actor_fixture,
                 "passivation: a million tokens known, none in memory",
                 "[.long]") {
  constexpr std::size_t million = 1'000'000, at_once = 50'000;
  auto folder = std::filesystem::temp_directory_path() /
                ("bc-million-" + to_hex(pki::random_bytes(8)));
  std::filesystem::create_directory(folder);
  {
    auto disk = events::open_sqlite_journal((folder / "journal.db").string(),
                                            time, nullptr)
                    .value();
    auto tokens = write_tokens(*disk, million);
    auto reader = own(actors::spawn_journal_reader(
        system, {disk.get(), nullptr, actors::threading::shared}));
    actors::writer_options w;
    w.journal = disk.get();
    w.thread = actors::threading::shared;
    writer = own(actors::spawn_journal_writer(system, std::move(w)));
    actors::registry_options o;
    o.readers = {reader};
    o.streams = {writer, reader, &time};
    o.max_live = at_once;
    registry = own(actors::spawn_registry(system, std::move(o)));
    run();
    const auto before = system.registry().running();
    std::size_t most = 0;
    for (std::size_t i = 0; i < million; i += 10'000) {
      use_tokens(*this, {tokens.begin() + static_cast<long>(i),
                         tokens.begin() + static_cast<long>(i + 10'000)});
      most = std::max(most, system.registry().running() - before);
    }
    CHECK(most == at_once);
    for (int i = 0; i < 14; ++i)
      advance(seconds{5});
    CHECK(ask<std::size_t>(registry, actors::count_live{}).value() == 0);
    CHECK(system.registry().running() == before);
    caf::anon_send_exit(registry, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(reader, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(writer, caf::exit_reason::user_shutdown);
    run();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace bc::test
