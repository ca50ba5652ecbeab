// The warning before a certificate's end (joining#renewal).
#include "actors/certificate_watch.hpp"

#include "actors/runtime.hpp"
#include "events/event_names.hpp"
#include "events/node_sessions.hpp"
#include "tests/actors/disturbed_ledgers.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/support/eventually.hpp"

namespace bc::test {
namespace {

namespace node = events::node;
constexpr auto told = events::name::certificate_expiring;

class watched_world : public join_world {
 public:
  node_id new_node(int n) {
    auto tried = join(make_machine(n), mint_token().text());
    REQUIRE(joined(tried));
    auto id = node_of(tried.answer);
    models.to_warn.push_back(id.str());
    return id;
  }
  void look() { look(std::make_shared<sync_ledger>(*journal, time, &models)); }
  static void look(std::shared_ptr<actors::ledger> streams) {
    int done = 0;
    actors::warn_of_certificates(std::move(streams), [&done] { ++done; });
    CHECK(done == 1);
  }
  time_point due(const node_id& id) {
    return node::warn_from(node(id).certificates.back().cert);
  }

  // What the read models say, which may be behind.
  sample_queries models;
};

}  // namespace

TEST_CASE_METHOD(watched_world,
                 "certificate watch: each node's stream decides, and once",
                 "[actors]") {
  auto early = new_node(1);
  time.advance(seconds{600});
  auto late = new_node(2);
  models.to_warn.emplace_back("no id");
  models.to_warn.push_back(pki::mint<node_id>(time.now()).str());
  look();
  CHECK(count(told) == 0);
  time.set(due(early));
  look();
  look();
  CHECK(count(told) == 1);
  auto event = after(head() - 1).at(0);
  CHECK(event.actor == "system");
  CHECK(event.tenant == owner.str());
  CHECK(event.stream == events::stream_of(early));
  time.set(due(late));
  look();
  CHECK(count(told) == 2);
  command(late, node::revoke_identity{time.now(), ""});
  time.advance(seconds{86'400});
  look();
  CHECK(count(told) == 2);
}

TEST_CASE_METHOD(watched_world,
                 "certificate watch: a stream that cannot be read holds up "
                 "nobody",
                 "[actors]") {
  auto streams = std::make_shared<damaged_ledger>(*journal, time, &models);
  streams->bad = new_node(1);
  new_node(2);
  new_node(3);
  time.advance(seconds{86'000});
  look(streams);
  CHECK(count(told) == 2);
}

TEST_CASE_METHOD(watched_world,
                 "certificate watch: what cannot be told now is told later",
                 "[actors]") {
  auto one = new_node(1);
  new_node(2);
  time.set(due(one));

  /// Another process is quicker, or the store is away, at the first append.
  class disturbed : public sync_ledger {
   public:
    using sync_ledger::sync_ledger;
    void append(events::batch b,
                actors::reply_to<events::append_outcome> done) override {
      if (auto first = std::exchange(disturb, nullptr))
        return first(std::move(b), std::move(done));
      sync_ledger::append(std::move(b), std::move(done));
    }
    std::function<void(events::batch, actors::reply_to<events::append_outcome>)>
        disturb;
  };
  auto streams = std::make_shared<disturbed>(*journal, time, &models);
  std::size_t at_first = 0;
  SECTION("another process told") {
    streams->disturb = [&](events::batch b, auto done) {
      sync_ledger other{*journal, time};
      auto same = b;
      same.id = pki::mint<batch_id>(time.now());
      other.append(std::move(same), [](const auto&) {});
      other.append(std::move(b), std::move(done));
    };
    at_first = 2;
  }
  SECTION("the store is away") {
    streams->disturb = [](const auto&, auto done) {
      done(fail(errc::unavailable, "The journal cannot be written now"));
    };
  }
  look(streams);
  CHECK(count(told) == at_first);
  look(streams);
  CHECK(count(told) == 2);
}

TEST_CASE_METHOD(watched_world, "certificate watch: a server does it",
                 "[actors]") {
  auto one = new_node(1);
  time.set(due(one));
  actors::runtime_options o;
  o.journal = journal.get();
  o.queries = &models;
  o.time = &time;
  o.keys = keys;
  o.root_tenant = root;
  o.watch_certificates_every = milliseconds{1};
  auto server = actors::runtime::start(std::move(o)).value();
  CHECK(eventually([&] { return count(told) == 1; }));
  server->stop(seconds{30});
  CHECK(count(told) == 1);
}

}  // namespace bc::test
