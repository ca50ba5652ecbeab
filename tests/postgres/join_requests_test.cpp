// Join requests with two processes on one store, which have nothing in common
// but Postgres; the read models follow as they can.
#include "actors/sync_ledger.hpp"
#include "base/encoding.hpp"
#include "events/catalog.hpp"
#include "pki/digest.hpp"
#include "tests/actors/waiting_machines.hpp"
#include "tests/postgres/read_models.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace bc;
using bc::test::csr_of;
using bc::test::order_of;

namespace {

namespace jr = events::join_request;

/// One server: a connection of its own to the journal and the read models.
struct server {
  explicit server(const testing::postgres_models& models, const bc::clock& time)
      : queries(open(models.schema.url())) {
    auto opened = events::open_postgres_journal(models.schema.url());
    REQUIRE(opened);
    journal = std::move(opened).value();
    ledger =
        std::make_shared<actors::sync_ledger>(*journal, time, queries.get());
  }
  static std::unique_ptr<projections::queries> open(const std::string& url) {
    auto q = projections::open_postgres_queries(url);
    REQUIRE(q);
    return std::move(q).value();
  }

  std::unique_ptr<projections::queries> queries;
  std::unique_ptr<events::journal> journal;
  std::shared_ptr<actors::ledger> ledger;
};

/// Without Catch, for threads.
std::optional<actors::deferral_outcome> defer_on(
    const server& s, const actors::deferral_order& order,
    const actors::deferral_limits& limits) {
  std::optional<actors::deferral_outcome> got;
  actors::defer_join(s.ledger, order, limits,
                     [&](result<actors::deferral_outcome> outcome) {
                       if (outcome)
                         got = std::move(outcome).value();
                     });
  return got;
}

template <class Run>
void in_threads(int n, Run run) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&run, i] { run(i); });
  for (auto& t : threads)
    t.join();
}

}  // namespace

TEST_CASE(
    "join requests on Postgres: of attempts at once, one is recorded; "
    "no more than there are places",
    "[postgres][actors]") {
  testing::postgres_store f;
  f.models.follow(*f.store);
  system_clock now;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  server a{f.models, now}, b{f.models, now};
  const actors::deferral_limits limits{seconds{600}, 10, seconds{30}};
  std::mutex mutex;
  std::set<std::string> ids;
  std::atomic<int> deferred = 0, full = 0, busy = 0;
  auto attempt = [&](const server& s, const std::string& machine, char csr) {
    auto got =
        defer_on(s, order_of(tenant, site, machine, csr_of(csr)), limits);
    if (!got) {
      ++busy;
    } else if (const auto* d = std::get_if<actors::deferral>(&*got)) {
      ++deferred;
      std::lock_guard lock{mutex};
      ids.insert(d->request.str());
    } else {
      ++full;
    }
  };
  // One machine, by both.
  in_threads(6, [&](int i) {
    for (int n = 0; n < 3; ++n)
      attempt(i % 2 == 0 ? a : b, "one", 'a');
  });
  CHECK(ids.size() == 1);
  CHECK(deferred == 18);
  // Many machines, each coming until it knows.
  in_threads(6, [&](int i) {
    for (int n = 0; n < 5; ++n)
      attempt(i % 2 == 0 ? a : b, "m" + std::to_string(i * 5 + n),
              static_cast<char>('a' + i));
  });
  CHECK(ids.size() <= 10);
  CHECK(deferred + full + busy == 48);
  f.models.settle(*f.store);
  for (int i = 0; i < 30; ++i)
    attempt(a, "m" + std::to_string(i), static_cast<char>('a' + i / 5));
  CHECK(ids.size() == 10);
  REQUIRE(f.store->verify({events::moves_of}));
}

TEST_CASE(
    "join requests on Postgres: an approval admits exactly one, whoever "
    "consumes it",
    "[postgres][actors]") {
  testing::postgres_store f;
  f.models.follow(*f.store);
  system_clock now;
  auto tenant = f.add_tenant();
  auto site = f.add_site(tenant);
  auto pool = f.add_pool(tenant, site);
  server a{f.models, now}, b{f.models, now};
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    auto order =
        order_of(tenant, site, "m", csr_of(static_cast<char>('a' + round)));
    auto waiting = defer_on(a, order, {});
    REQUIRE(waiting);
    REQUIRE(std::holds_alternative<actors::deferral>(*waiting));
    auto id = std::get<actors::deferral>(*waiting).request;
    jr::state s;
    auto written = f.store->read_stream(events::stream_of(id), 0, 100);
    REQUIRE(written);
    for (const auto& e : written.value())
      s = evolve(std::move(s), jr::decode(e).value());
    auto approved = decide(s, jr::approve{{pool, site, true},
                                          "alice",
                                          "",
                                          std::nullopt,
                                          seconds{600},
                                          now.now()});
    REQUIRE(approved);
    f.append({f.on(events::stream_of(id), tenant,
                   {jr::encode(approved.value().front())})});
    std::atomic<int> admitted = 0, turned_away = 0;
    in_threads(4, [&](int i) {
      const auto& by = i % 2 == 0 ? a : b;
      auto got = defer_on(by, order, {});
      const auto* ready =
          got ? std::get_if<actors::approved_request>(&*got) : nullptr;
      if (ready == nullptr)
        return;
      auto part = actors::consume_request(*ready->request, tenant,
                                          pki::mint<node_id>(now.now()),
                                          order.seen.csr_sha256, now.now());
      if (!part)
        return;
      events::batch batch;
      batch.id = pki::mint<batch_id>(now.now());
      batch.actor = "machine";
      batch.valid_until = part.value().until;
      batch.writes.push_back(std::move(part.value().write));
      auto outcome = by.journal->append({&batch, 1});
      if (!outcome)
        return;
      const bool in =
          std::holds_alternative<events::appended>(outcome.value().front());
      ++(in ? admitted : turned_away);
    });
    CHECK(admitted == 1);
  }
  REQUIRE(f.store->verify({events::moves_of}));
}
