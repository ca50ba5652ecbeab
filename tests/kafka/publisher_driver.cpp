// Appends events and runs publishers, as told on standard input, a command a
// line; answers each with one line of JSON. For publisher_test.py, which kills
// and freezes it.
#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "events/catalog.hpp"
#include "events/incarnations.hpp"
#include "events/journal_stream.hpp"
#include "events/kafka/cluster.hpp"
#include "events/kafka/producer.hpp"
#include "events/kafka/publisher.hpp"
#include "events/kafka/repair.hpp"
#include "events/kafka/resume.hpp"
#include "events/kafka/verify.hpp"
#include "events/lease_keeper.hpp"
#include "tests/kafka/broker_admin.hpp"
#include "tests/kafka/driver_answers.hpp"
#include "tests/kafka/driver_store.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

using namespace bc;
using namespace bc::events;
using bc::testing::give_up;
using bc::testing::must;

namespace {

using steady = std::chrono::steady_clock;
constexpr seconds patience{120};

struct one_publisher {
  std::unique_ptr<lease_keeper> lease;
  std::atomic<bool> told_own{true};  // without a lease
  std::unique_ptr<kafka::publisher> running;
};

class driver {
 public:
  void option(const std::string& name, const std::string& value) {
    if (name == "--store")
      store_ = testing::open_store(value, clock_);
    else if (name == "--mock")
      mock_brokers_ = std::stoi(value);
    else if (name == "--property")
      options_.client[value.substr(0, value.find('='))] =
          value.substr(value.find('=') + 1);
    else if (name == "--brokers")
      options_.client["bootstrap.servers"] = value;
    else if (name == "--layout")
      options_.topics.events_by =
          value == "type" ? kafka::layout::type : kafka::layout::single;
    else if (name == "--prefix")
      options_.topics.prefix = options_.transactional_id = value;
    else if (name == "--partitions")
      options_.topics.partitions = std::stoi(value);
    else if (name == "--max-events")
      options_.max_events = std::stoul(value);
    else
      give_up(fail(errc::invalid_input, name));
  }

  void run() {
    if (mock_brokers_ > 0)
      mock();
    options_.source = "urn:test";
    options_.halted_retry = milliseconds{500};
    options_.log = [](const std::string& line) {
      std::cerr << line << std::endl;
    };
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream in{line};
      std::string command;
      in >> command;
      answer_.emplace();
      answer_->begin_object();
      obey(command, in);
      std::cout << answer_->end_object().str() << std::endl;
    }
    publishers_.clear();
  }

 private:
  // A handle of its own, which lives as long as the program.
  void mock() {
    char why[256];
    auto* rk =
        rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
    auto* cluster = rd_kafka_mock_cluster_new(rk, mock_brokers_);
    options_.client["bootstrap.servers"] =
        rd_kafka_mock_cluster_bootstraps(cluster);
    // It makes no topics when asked to.
    for (const auto& plan : options_.topics.plans())
      rd_kafka_mock_topic_create(cluster, plan.name.c_str(), plan.partitions,
                                 1);
  }

  void obey(const std::string& command, std::istringstream& in) {
    if (command == "brokers")
      answer_->field("brokers", options_.client.at("bootstrap.servers"));
    else if (command == "append")
      append(in);
    else if (command == "big")
      big(in);
    else if (command == "incarnation")
      start_incarnation();
    else if (command == "list")
      list();
    else if (command == "start")
      start(in);
    else if (command == "own" || command == "disown")
      publisher(in).told_own = command == "own";
    else if (command == "stop")
      stop(in);
    else if (command == "stats")
      testing::write(*answer_, publisher(in).running->stats());
    else if (command == "wait")
      wait(in);
    else if (command == "wait-state")
      wait_state(in);
    else if (command == "verify")
      verify();
    else if (command == "backfill")
      backfill(in);
    else if (command == "resume")
      resume(in);
    else if (command == "checkpoint")
      add_checkpoint();
    else if (command == "hash")
      hash(in);
    else if (command == "topic")
      make_topic(in);
    else if (command == "delete-topic" || command == "deny" ||
             command == "allow" || command == "trim" || command == "partitions")
      administer(command, in);
    else if (command == "bare")
      bare(in);
    else
      give_up(fail(errc::invalid_input, "command " + command));
  }

  one_publisher& publisher(std::istringstream& in) {
    int number = 0;
    in >> number;
    return publishers_[number];
  }

  void commit(const std::vector<batch>& group) {
    for (const auto& outcome : must(store_->append(group)))
      if (!std::holds_alternative<appended>(outcome))
        give_up(fail(errc::conflict, "an append was rejected"));
    for (auto& [number, p] : publishers_)
      if (p.running)
        p.running->wake();
  }

  // append COUNT TENANTS [PAUSE_MS between groups]
  void append(std::istringstream& in) {
    int count = 0, tenants = 5, pause = 0;
    in >> count >> tenants >> pause;
    while (count > 0) {
      std::vector<batch> group;
      for (int i = 0; i < 50 && count > 0; ++i, --count)
        group.push_back(make_.batch_of(make_.write(tenants)));
      commit(group);
      std::this_thread::sleep_for(milliseconds{pause});
    }
    answer_->field("head", must(store_->head()).position);
  }

  // big BYTES
  void big(std::istringstream& in) {
    std::size_t size = 0;
    in >> size;
    auto w = make_.write(1);
    w.events = {{std::string{name::node_adopted},
                 1,
                 "{\"nodeId\":\"" + std::string(size, 'b') + "\"}",
                 "{}",
                 {}}};
    commit({make_.batch_of(std::move(w))});
    answer_->field("head", must(store_->head()).position);
  }

  void start_incarnation() {
    auto head = must(store_->head());
    journal_log::event e = journal_log::incarnation_started{
        pki::mint<incarnation_id>(clock_.now()), head.incarnation,
        clock_.now()};
    auto w = journal_log::encode(e);
    commit({make_.batch_of(
        {std::string{journal_stream}, make_.tenant(0), std::nullopt, {w}})});
    answer_->field("incarnation", must(store_->head()).incarnation.str());
  }

  // Every public event as a JSON CloudEvent, from the journal.
  void list() {
    auto known = must(incarnations::load(*store_));
    answer_->key("events").begin_array();
    for (std::uint64_t done = 0;;) {
      auto rows = must(store_->read_all(done, 1000));
      if (rows.empty())
        break;
      for (const auto& e : rows)
        if (auto text = to_public(e, known.at(e.position), options_.source))
          answer_->raw(*text);
      done = rows.back().position;
    }
    answer_->end_array();
  }

  // start N lease|forced
  void start(std::istringstream& in) {
    auto& p = publisher(in);
    std::string by;
    in >> by;
    if (by == "lease")
      p.lease = lease_keeper::start(*store_, "publisher", seconds{3});
    p.running = must(kafka::publisher::start(
        options_, *store_, [&p]() -> std::optional<std::uint64_t> {
          if (p.lease)
            return p.lease->epoch();
          return p.told_own ? std::optional<std::uint64_t>{1} : std::nullopt;
        }));
  }

  void stop(std::istringstream& in) {
    auto& p = publisher(in);
    p.running->stop();
    testing::write(*answer_, p.running->stats());
    if (p.lease)
      p.lease->stop();
  }

  template <class Done>
  void poll(Done done) {
    const auto end = steady::now() + patience;
    while (steady::now() < end && !done())
      std::this_thread::sleep_for(milliseconds{5});
  }

  // wait N POSITION
  void wait(std::istringstream& in) {
    auto& p = publisher(in);
    std::uint64_t position = 0;
    in >> position;
    const auto began = steady::now();
    poll([&] { return p.running->stats().position >= position; });
    std::chrono::duration<double> took = steady::now() - began;
    answer_->field("took", std::to_string(took.count()));
    testing::write(*answer_, p.running->stats());
  }

  // wait-state N STATE
  void wait_state(std::istringstream& in) {
    auto& p = publisher(in);
    std::string state;
    in >> state;
    poll([&] { return kafka::text_of(p.running->stats().state) == state; });
    testing::write(*answer_, p.running->stats());
  }

  void show_fault(const fault& f) {
    answer_->field("code", wire_text(f.code)).field("fault", f.message);
  }

  void verify() {
    kafka::verify_options o;
    o.client = options_.client;
    o.topics = options_.topics;
    o.transactional_id = options_.transactional_id;
    auto done = kafka::verify_published(o, *store_, [] { return true; });
    if (!done)
      return show_fault(done.error());
    testing::write(*answer_, done.value());
  }

  // backfill TOPIC FROM TO
  void backfill(std::istringstream& in) {
    kafka::backfill_options o;
    o.client = options_.client;
    o.topics = options_.topics;
    o.source = options_.source;
    in >> o.topic >> o.from >> o.to;
    auto sent = kafka::backfill(o, *store_, [] { return true; });
    if (!sent)
      return show_fault(sent.error());
    answer_->field("sent", sent.value());
  }

  // resume [POSITION] [skip] [resend]
  void resume(std::istringstream& in) {
    std::optional<std::uint64_t> after;
    kafka::resume_consent consent;
    for (std::string word; in >> word;) {
      consent.skip_undelivered |= word == "skip";
      consent.resend_delivered |= word == "resend";
      if (word.find_first_not_of("0123456789") == word.npos)
        after = std::stoull(word);
    }
    auto done = kafka::resume_after(options_, *store_, after, consent,
                                    [] { return true; });
    if (!done)
      return show_fault(done.error());
    answer_->field("position", done.value().position);
  }

  void add_checkpoint() {
    auto head = must(store_->head());
    auto lease = must(store_->acquire_lease("driver", seconds{60}));
    must(store_->add_checkpoint({head.position, head.commit, head.link,
                                 head.incarnation, clock_.now(), "00"},
                                lease->epoch));
    answer_->field("position", head.position);
  }

  // hash POSITION
  void hash(std::istringstream& in) {
    std::uint64_t position = 0;
    in >> position;
    answer_->field("hash", must(store_->read_all(position - 1, 1)).at(0).hash)
        .field("incarnation", must(incarnations::load(*store_)).at(position));
  }

  // topic NAME PARTITIONS
  void make_topic(std::istringstream& in) {
    kafka::topic_plan plan;
    in >> plan.name >> plan.partitions;
    must(must(kafka::cluster::connect(options_.client))->ensure({plan}, [] {
      return true;
    }));
  }

  // delete-topic|deny|allow TOPIC, trim TOPIC PARTITION OFFSET,
  // partitions TOPIC COUNT
  void administer(const std::string& command, std::istringstream& in) {
    testing::broker_admin admin{options_.client.at("bootstrap.servers")};
    std::string topic;
    std::int32_t partition = 0;
    std::int64_t before = 0;
    in >> topic >> partition >> before;
    answer_->field("problem", command == "trim"
                                  ? admin.trim(topic, partition, before)
                              : command == "partitions"
                                  ? admin.add_partitions(topic, partition)
                              : command == "deny"  ? admin.deny(topic)
                              : command == "allow" ? admin.allow(topic)
                                                   : admin.delete_topic(topic));
  }

  // bare TOPIC: the same records by a plain producer, as fast as it can.
  void bare(std::istringstream& in) {
    std::string topic;
    in >> topic;
    auto known = must(incarnations::load(*store_));
    std::vector<kafka::record> records;
    for (std::uint64_t done = 0;;) {
      auto rows = must(store_->read_all(done, 1000));
      if (rows.empty())
        break;
      for (const auto& e : rows)
        if (auto event = public_parts(e, known.at(e.position), options_.source))
          records.push_back(kafka::record_of(*event, topic, e.tenant,
                                             options_.topics.partitions));
      done = rows.back().position;
    }
    auto out = must(kafka::producer::make(options_.client, ""));
    const auto began = steady::now();
    for (const auto& r : records)
      static_cast<void>(must(out->send(r, 1, [] { return true; })));
    if (auto done = out->flush([] { return true; }); !done)
      give_up(done.error());
    std::chrono::duration<double> took = steady::now() - began;
    answer_->field("took", std::to_string(took.count()))
        .field("events", records.size());
  }

  system_clock clock_;
  std::unique_ptr<journal> store_;
  kafka::publisher_options options_;
  std::map<int, one_publisher> publishers_;
  testing::event_maker make_{clock_};
  int mock_brokers_ = 0;
  std::optional<json::writer> answer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (!arm_from_environment())
    return 2;
  driver d;
  for (int i = 1; i + 1 < argc; i += 2)
    d.option(argv[i], argv[i + 1]);
  d.run();
}
