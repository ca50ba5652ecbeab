#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/catalog.hpp"
#include "events/kafka/publisher.hpp"
#include "events/postgres.hpp"
#include "events/postgres_journal.hpp"
#include "projections/tailer.hpp"

#include <cstdio>
#include <librdkafka/rdkafka.h>
#include <thread>

// The duties that run behind the joins: read models, and Kafka.
namespace bc::bench {

namespace {

using namespace std::chrono_literals;

// Holds the store's lease for as long as it lives.
struct held_lease {
  explicit held_lease(events::journal& j) : store(j) {
    auto got = store.acquire_lease("bench", seconds{3600});
    if (got && got.value())
      epoch = got.value()->epoch;
  }
  ~held_lease() { (void)store.acquire_lease("bench", seconds{0}); }
  events::journal& store;
  std::optional<std::uint64_t> epoch;
};

// Joins as they stand in the journal, appended in full groups.
std::uint64_t fill(const world& w, events::journal& store, std::size_t joins) {
  auto tokens = mint_tokens(w, store, 100, 10'000);
  auto batches = join_batches(w, tokens, joins);
  for (std::size_t at = 0; at < batches.size(); at += 512) {
    auto end = std::min(at + 512, batches.size());
    append_all(
        store,
        {std::make_move_iterator(batches.begin() + static_cast<long>(at)),
         std::make_move_iterator(batches.begin() + static_cast<long>(end))});
  }
  return store.head().value().position;
}

template <class Done>
double wait_until(Done done) {
  auto began = steady::now();
  while (!done())
    std::this_thread::sleep_for(1ms);
  return std::chrono::duration<double>(steady::now() - began).count();
}

std::uint64_t checkpoint_of(const std::string& url) {
  auto db = std::move(postgres::connection::open(url)).value();
  auto s = std::move(db->prepare("select position from projection_checkpoint"))
               .value();
  must(s.step());
  return static_cast<std::uint64_t>(s.number(0));
}

// The rows a join leaves in the read models, inserted without reading events.
double bare_rows(const std::string& url, std::size_t joins) {
  auto db = std::move(postgres::connection::open(url)).value();
  must(
      db->execute("create table bare_nodes (like nodes including all);"
                  "create table bare_certs (like node_certs including all)"));
  auto began = steady::now();
  for (std::size_t at = 0; at < joins; at += 500) {
    std::string n = std::to_string(at), m = std::to_string(at + 499);
    must(db->execute(
        "insert into bare_nodes select 'node_' || n, 'ten', 'site', 'pool',"
        " 'adopting', 'join-token', repeat('h', 64), 1, 'host', 'unattested',"
        " 'node', 1, n, null, 's' || n from generate_series(" +
        n + "," + m +
        ") n; insert into bare_certs select 's' || n, 'node_' || n, 'node', 1,"
        " repeat('k', 64), n, n, null, repeat('d', 800)"
        " from generate_series(" +
        n + "," + m + ") n"));
  }
  auto spent = std::chrono::duration<double>(steady::now() - began).count();
  must(db->execute("drop table bare_nodes; drop table bare_certs"));
  return static_cast<double>(2 * joins) / spent;
}

void measure_tailer(const settings& s, const world& w, events::journal& store,
                    report& out) {
  out.section("Read models on Postgres");
  held_lease lease{store};
  auto joins = s.scaled(10'000);
  auto before = checkpoint_of(s.postgres);
  auto head = fill(w, store, joins);
  auto tailer = projections::tailer::start(
      {s.postgres, store, [&] { return lease.epoch; }, 200ms});
  tailer->wake();
  auto spent = wait_until([&] { return tailer->stats().position >= head; });
  auto rate = static_cast<double>(head - before) / spent;
  auto bare = bare_rows(s.postgres, joins);
  out.add("bare inserts of a join's rows", bare, "rows/s");
  out.add_ratio("catching up", rate, "events/s", bare, "bare inserts");
  // Steady: one batch each 5 ms; how long until its event is in the tables.
  auto tokens = mint_tokens(w, store, 1, 10'000);
  auto batches = join_batches(w, tokens, s.scaled(400));
  histogram lag;
  for (auto& b : batches) {
    append_all(store, {std::move(b)});
    auto at = store.head().value().position;
    auto began = steady::now();
    tailer->wake();
    wait_until([&] { return tailer->stats().position >= at; });
    lag.add(steady::now() - began);
    std::this_thread::sleep_for(5ms);
  }
  tailer->stop();
  out.add("lag behind one append, p50", lag.percentile(50) / 1000, "ms");
  out.add("lag behind one append, p99", lag.percentile(99) / 1000, "ms");
}

// The same bodies to one topic, idempotent, as fast as the library takes them.
double bare_produce(const std::string& brokers,
                    const std::vector<std::string>& bodies) {
  auto* conf = rd_kafka_conf_new();
  char why[256];
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), why,
                    sizeof why);
  rd_kafka_conf_set(conf, "enable.idempotence", "true", why, sizeof why);
  rd_kafka_conf_set(conf, "linger.ms", "5", why, sizeof why);
  auto* producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
  auto send = [&](const std::string& body) {
    while (rd_kafka_producev(
               producer, RD_KAFKA_V_TOPIC("bench.bare"),
               RD_KAFKA_V_KEY("ten_bench", 9),
               RD_KAFKA_V_VALUE(const_cast<char*>(body.data()), body.size()),
               RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
               RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
      rd_kafka_poll(producer, 10);
  };
  // A broker that just started takes seconds to give a producer its id.
  send("warm");
  rd_kafka_flush(producer, 60'000);
  auto began = steady::now();
  for (const auto& body : bodies)
    send(body);
  rd_kafka_flush(producer, 60'000);
  auto spent = std::chrono::duration<double>(steady::now() - began).count();
  rd_kafka_destroy(producer);
  return static_cast<double>(bodies.size()) / spent;
}

std::vector<std::string> public_bodies(events::journal& store) {
  std::vector<std::string> out;
  for (std::uint64_t at = 0;;) {
    auto page = store.read_all(at, 4096);
    if (!page || page.value().empty())
      return out;
    at = page.value().back().position;
    for (const auto& e : page.value())
      if (auto* t = events::find_event_type(e.type); t && t->is_public)
        out.push_back(e.data);
  }
}

}  // namespace

void measure_projections(const settings& s, report& out) {
  if (s.postgres.empty())
    return;
  auto w = make_world();
  auto store = std::move(events::open_postgres_journal(s.postgres)).value();
  found(w, *store);
  measure_tailer(s, w, *store, out);
}

void measure_publisher(const settings& s, report& out) {
  if (s.postgres.empty() || s.kafka.empty())
    return;
  out.section("Publisher to Kafka");
  auto w = make_world();
  auto store = std::move(events::open_postgres_journal(s.postgres)).value();
  found(w, *store);
  held_lease lease{*store};
  auto head = fill(w, *store, s.scaled(10'000));
  auto bodies = public_bodies(*store);
  auto bare = bare_produce(s.kafka, bodies);
  events::kafka::publisher_options o;
  o.client = {{"bootstrap.servers", s.kafka}};
  o.source = "bench";
  auto publisher =
      std::move(events::kafka::publisher::start(std::move(o), *store, [&] {
        return lease.epoch;
      })).value();
  wait_until([&] {
    return publisher->stats().state == events::kafka::publishing::running;
  });
  auto from = publisher->stats();
  auto spent = wait_until([&] { return publisher->stats().position >= head; });
  auto sent = publisher->stats().published - from.published;
  publisher->stop();
  out.add("bare idempotent produce, same bodies", bare, "events/s");
  out.add_ratio("publisher, exactly once", static_cast<double>(sent) / spent,
                "events/s", bare, "bare produce");
}

}  // namespace bc::bench
