// The whole path under load: exactly N of many parallel joins (DESIGN 3,
// "Exactly once"), on both stores.

#include "actors/runtime.hpp"
#include "events/catalog.hpp"
#include "events/refusal.hpp"
#include "events/sqlite_journal.hpp"
#include "projections/projector.hpp"
#include "projections/queries.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/watched_journal.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>

namespace bc::test {
namespace {

using actors::daemon_reply;

/// Collects replies from any thread.
class collector {
 public:
  std::function<void(daemon_reply)> take() {
    return [this](daemon_reply r) {
      std::lock_guard lock{mutex_};
      replies_.push_back(std::move(r));
      more_.notify_all();
    };
  }
  std::vector<daemon_reply> wait_for(std::size_t n) {
    std::unique_lock lock{mutex_};
    more_.wait(lock, [&] { return replies_.size() >= n; });
    return replies_;
  }
  std::size_t size() {
    std::lock_guard lock{mutex_};
    return replies_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<daemon_reply> replies_;
};

/// Appends what `from` holds, event by event, as it stands.
void copy_events(events::journal& from, events::journal& to) {
  const auto all = from.read_all(0, 1000).value();
  for (const auto& e : all) {
    events::batch b;
    b.id = batch_id::parse(e.batch).value();
    b.actor = e.actor;
    b.writes.push_back({e.stream,
                        e.tenant,
                        e.version - 1,
                        {{e.type, e.type_version, e.data, e.internal,
                          events::moves_of(e).value()}}});
    auto done = to.append(std::span<const events::batch>{&b, 1});
    REQUIRE(done.has_value());
    REQUIRE(std::holds_alternative<events::appended>(done.value().front()));
  }
}

actors::runtime_options options_of(const join_world& w, events::journal& j) {
  actors::runtime_options o;
  o.journal = &j;
  o.time = &w.time;
  o.keys = w.keys;
  o.root_tenant = w.root;
  return o;
}

std::size_t count_of(const std::vector<events::envelope>& all,
                     std::string_view type) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const auto& e) { return e.type == type; }));
}

/// 200 machines at once on a token of 50 uses.
void admits_exactly_fifty(join_world& w, const minted& token,
                          events::journal& store,
                          projections::queries* queries) {
  constexpr std::size_t machines = 200, uses = 50;
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < machines; ++i)
    bodies.push_back(wire::encode(
        w.request(make_machine(static_cast<int>(i)), token.text())));

  std::mutex mutex;
  std::vector<std::uint64_t> positions;
  auto o = options_of(w, store);
  o.queries = queries;
  o.on_event = [&](const events::envelope& e) {
    std::lock_guard lock{mutex};
    positions.push_back(e.position);
  };
  const auto before = store.head().value().position;
  auto server = actors::runtime::start(std::move(o)).value();
  collector replies;
  for (const auto& body : bodies)
    server->daemons().call({body, "req"}, replies.take());
  std::map<int, std::size_t> by_status;
  for (const auto& r : replies.wait_for(machines))
    ++by_status[r.status];
  server->stop(seconds{30});
  CHECK(replies.size() == machines);
  CHECK(by_status ==
        std::map<int, std::size_t>{{200, uses}, {403, machines - uses}});

  auto all = store.read_all(before, 10'000).value();
  CHECK(count_of(all, "node.joined") == uses);
  CHECK(count_of(all, "node.adopted") == uses);
  CHECK(count_of(all, "security.join-token.redeemed") == uses);

  // Emitted and suppressed make up every refusal: the token's tenant's.
  auto refusals =
      events::refusal_stream(w.owner, "join-token", "join-token:exhausted");
  auto counted = store.read_limiter(refusals).value().dropped;
  auto emitted = store.read_stream(refusals, 0, 1000).value();
  for (const auto& e : emitted)
    counted += 1 + std::get<events::refusal::refused>(
                       events::refusal::decode(e).value())
                       .suppressed;
  CHECK(counted == machines - uses);
  CHECK(emitted.size() == 60);
  CHECK(count_of(all, "security.join.refused") == emitted.size());

  sync_ledger ledger{store, w.time};
  ledger.token(token.token.id,
               [](auto state) { CHECK(state.value()->uses_left == 0); });

  // The hook saw each event once, in order.
  REQUIRE(positions.size() == all.size());
  for (std::size_t i = 0; i < positions.size(); ++i)
    CHECK(positions[i] == before + i + 1);
  CHECK(store.verify({events::moves_of}).has_value());
}

minted token_of_fifty(join_world& w) {
  return w.mint_token([](events::join_token::created& t) { t.max_uses = 50; });
}

TEST_CASE("parallel: 200 joins on a token of 50 uses, in memory", "[actors]") {
  join_world w;
  auto token = token_of_fifty(w);
  admits_exactly_fifty(w, token, *w.journal, nullptr);
}

TEST_CASE("parallel: 200 joins on a token of 50 uses, on SQLite", "[actors]") {
  join_world w;
  auto token = token_of_fifty(w);
  auto folder = std::filesystem::temp_directory_path() /
                ("bc-parallel-" + to_hex(pki::random_bytes(8)));
  std::filesystem::create_directory(folder);
  auto path = (folder / "journal.db").string();
  {
    auto projector = projections::make_projector();
    auto store = events::open_sqlite_journal(path, w.time, projector.get());
    REQUIRE(store.has_value());
    copy_events(*w.journal, *store.value());
    auto queries = projections::open_queries(path);
    REQUIRE(queries.has_value());
    admits_exactly_fifty(w, token, *store.value(), queries.value().get());
    auto nodes =
        queries.value()->list_nodes({w.owner.str(), w.pool.str()}, "", 200);
    REQUIRE(nodes.has_value());
    CHECK(nodes.value().items.size() == 50);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("parallel: one machine, its join sent 20 times at once, is one node",
          "[actors]") {
  join_world w;
  auto token = token_of_fifty(w);
  auto body = wire::encode(w.request(make_machine(1), token.text()));
  auto server = actors::runtime::start(options_of(w, *w.journal)).value();
  collector replies;
  for (int i = 0; i < 20; ++i)
    server->daemons().call({body, "req"}, replies.take());
  std::optional<std::string> first;
  for (const auto& r : replies.wait_for(20)) {
    REQUIRE(r.status == 200);
    auto answer = wire::decode_join_answer(r.status, r.body).value();
    CHECK(answer.body == first.value_or(answer.body));
    first = answer.body;
  }
  server->stop(seconds{30});
  const auto all = w.journal->read_all(0, 1000).value();
  CHECK(count_of(all, "node.joined") == 1);
  CHECK(count_of(all, "security.join-token.redeemed") == 1);
}

TEST_CASE(
    "parallel: a join that cannot end in time is refused at the stop, "
    "once",
    "[actors]") {
  join_world w;
  auto token = token_of_fifty(w);
  watched_journal slow{*w.journal};
  std::promise<void> entered, release;
  auto gone = release.get_future().share();
  slow.before_append = [&entered, gone, first = true]() mutable {
    if (std::exchange(first, false))
      entered.set_value();
    gone.wait();
  };
  auto server = actors::runtime::start(options_of(w, slow)).value();
  collector replies;
  server->daemons().call(
      {wire::encode(w.request(make_machine(1), token.text())), "req"},
      replies.take());
  entered.get_future().wait();
  server->stop(seconds{0});
  CHECK(replies.wait_for(1).front().status == 503);
  release.set_value();
  server.reset();
  CHECK(replies.size() == 1);
}

}  // namespace
}  // namespace bc::test
