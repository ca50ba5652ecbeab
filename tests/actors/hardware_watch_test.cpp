// The warning of shared hardware (CASES 54): as SQLite has it, as any store
// has it, and as a server sends it.
#include "actors/hardware_watch.hpp"

#include "actors/runtime.hpp"
#include "tests/actors/disturbed_ledgers.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/actors/sample_queries.hpp"
#include "tests/projections/store_fixture.hpp"
#include "tests/support/eventually.hpp"

namespace bc::testing {
using shared_hardware_store = store_fixture;
}

#include "tests/support/shared_hardware_cases.hpp"

namespace bc::test {
namespace {

using actors::reply_to;

constexpr auto usb = "0c:ea:14:00:00:01";

machine with_usb(int n) {
  auto m = make_machine(n);
  m.claims.macs = {usb};
  return m;
}

// The rows that the joins below leave in the read models.
projections::shared_hardware_row shared_by(const node_id& newer,
                                           const node_id& elder) {
  return {newer.str(),
          elder.str(),
          {to_hex(pki::sha256(as_bytes(std::string_view{usb})))}};
}

}  // namespace

TEST_CASE("join: a MAC that all machines have changes no key (case 54)") {
  join_world w;
  std::vector<node_id> nodes;
  for (int i = 0; i < 20; ++i) {
    auto t = w.join(with_usb(i), w.mint_token().text());
    REQUIRE(joined(t));
    nodes.push_back(node_of(t.answer));
  }
  CHECK(w.count("node.joined") == 20);
  CHECK(w.count("security.certificate-revoked") == 0);

  // One that has nothing but the MAC is no machine.
  machine bare;
  bare.claims.macs = {usb};
  const auto token = w.mint_token();
  const auto head = w.head();
  check_refused(w, w.join(bare, token.text()), head,
                events::refusal_reason::join_placeholder, w.owner);

  // The warning, and that it is one alone.
  sample_queries models;
  for (std::size_t i = 1; i < nodes.size(); ++i)
    models.shared.push_back(shared_by(nodes[i], nodes[0]));
  const auto streams =
      std::make_shared<sync_ledger>(*w.journal, w.time, &models);
  for (int look = 0; look < 2; ++look) {
    int done = 0;
    actors::tell_shared_hardware(streams, [&done] { ++done; });
    CHECK(done == 1);
    CHECK(w.count("node.hardware-shared") == 19);
  }
  auto again = with_usb(3);
  auto t = w.join(again, w.mint_reclaim_token().text());
  REQUIRE(joined(t));
  CHECK(node_of(t.answer) == nodes[3]);
}

TEST_CASE("join: a damaged node keeps no other's shared hardware untold") {
  join_world w;
  std::vector<node_id> nodes;
  for (int i = 0; i < 4; ++i)
    nodes.push_back(node_of(w.join(with_usb(i), w.mint_token().text()).answer));
  sample_queries models;
  models.shared = {shared_by(nodes[1], nodes[0]), shared_by(nodes[2], nodes[0]),
                   shared_by(nodes[3], nodes[0])};

  auto streams = std::make_shared<damaged_ledger>(*w.journal, w.time, &models);
  // The first that is looked at.
  streams->bad = nodes[3];
  int done = 0;
  actors::tell_shared_hardware(streams, [&done] { ++done; });
  CHECK(done == 1);
  CHECK(w.count("node.hardware-shared") == 2);
}

TEST_CASE(
    "join: shared hardware that cannot be told now is told later "
    "(case 54)") {
  join_world w;
  std::vector<node_id> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back(node_of(w.join(with_usb(i), w.mint_token().text()).answer));
  sample_queries models;
  models.shared = {shared_by(nodes[1], nodes[0]),
                   shared_by(nodes[2], nodes[0])};

  /// Another writer is quicker, or the store is away, at the first append.
  class disturbed : public sync_ledger {
   public:
    using sync_ledger::sync_ledger;
    void append(events::batch b,
                reply_to<events::append_outcome> done) override {
      if (auto first = std::exchange(disturb, nullptr))
        return first(std::move(done));
      sync_ledger::append(std::move(b), std::move(done));
    }
    std::function<void(reply_to<events::append_outcome>)> disturb;
  };
  auto streams = std::make_shared<disturbed>(*w.journal, w.time, &models);
  std::size_t at_first = 0;
  SECTION("a node moved on meanwhile") {
    streams->disturb = [&](auto done) {
      done(events::append_outcome{events::rejected{
          events::unmet::version, "", std::nullopt, 2, w.time.now()}});
    };
    at_first = 1;  // the other pair
  }
  SECTION("the store is away") {
    streams->disturb = [](auto done) {
      done(fail(errc::unavailable, "The journal cannot be written now"));
    };
  }
  int done = 0;
  actors::tell_shared_hardware(streams, [&done] { ++done; });
  CHECK(done == 1);
  CHECK(w.count("node.hardware-shared") == at_first);
  actors::tell_shared_hardware(streams, [&done] { ++done; });
  CHECK(done == 2);
  CHECK(w.count("node.hardware-shared") == 2);
}

TEST_CASE("runtime: a server tells of shared hardware by itself (case 54)") {
  testing::shared_hardware f;
  const auto tenant = f.add_tenant();
  const auto first = f.join(tenant, {usb});
  const auto second = f.join(tenant, {usb});
  auto models = f.queries();
  {
    actors::runtime_options o;
    o.journal = f.store.get();
    o.queries = models.get();
    o.time = &f.time;
    o.watch_hardware_every = milliseconds{10};
    auto server = actors::runtime::start(std::move(o));
    REQUIRE(server);
    CHECK(eventually([&] { return !f.told().empty(); }));
    server.value()->stop(seconds{10});
  }
  REQUIRE(f.told().size() == 1);
  CHECK(f.last().id == second.id);
  CHECK(f.last().other == first.id);
}

}  // namespace bc::test
