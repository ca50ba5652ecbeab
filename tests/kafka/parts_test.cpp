// The publisher's parts that need no Kafka.
#include "base/clock.hpp"
#include "events/event_names.hpp"
#include "events/journal_stream.hpp"
#include "events/kafka/control.hpp"
#include "events/kafka/properties.hpp"
#include "events/kafka/publisher.hpp"
#include "events/kafka/record.hpp"
#include "events/kafka/topics.hpp"
#include "events/memory_journal.hpp"
#include "pki/digest.hpp"
#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace bc;
using namespace bc::events;

namespace {

const system_clock time_now;

void append(journal& store, const stream_id& stream, event_write write) {
  batch b;
  b.id = pki::mint<batch_id>(time_now.now());
  b.writes = {{stream, "ten_a", std::nullopt, {std::move(write)}}};
  REQUIRE(std::holds_alternative<appended>(
      store.append(std::span{&b, 1}).value().at(0)));
}

void append_adopted(journal& store, int number) {
  append(store, "node:n" + std::to_string(number),
         {std::string{name::node_adopted}, 1, R"({"nodeId":"n"})", "{}", {}});
}

std::string start_incarnation(journal& store) {
  auto current = store.head().value().incarnation;
  auto next = pki::mint<incarnation_id>(time_now.now());
  append(store, std::string{journal_stream},
         journal_log::encode(
             journal_log::incarnation_started{next, current, time_now.now()}));
  return next.str();
}

kafka::control_record control_at(journal& store, std::uint64_t position) {
  auto known = incarnations::load(store);
  REQUIRE(known);
  return {known.value().at(position), position,
          store.read_all(position - 1, 1).value().at(0).hash};
}

result<void> match(journal& store, const kafka::control_record& c) {
  return kafka::match_control(store, incarnations::load(store).value(), c);
}

class secret_file {
 public:
  explicit secret_file(const std::string& text, mode_t mode = 0600) {
    std::ofstream{path} << text;
    ::chmod(path.c_str(), mode);
  }
  temporary_folder folder;
  std::string path = folder / "kafka.properties";
};

}  // namespace

TEST_CASE("kafka: a key's partition is the one Kafka's own clients choose") {
  // What org.apache.kafka.common.utils.Utils.murmur2 gives for these keys.
  auto hash = [](std::string_view key) {
    return kafka::partition_of(key, 0x7fffffff);
  };
  CHECK(hash("21") == (-973932308 & 0x7fffffff));
  CHECK(hash("foobar") == (-790332482 & 0x7fffffff));
  CHECK(hash("a-little-bit-long-string") == (-985981536 & 0x7fffffff));
  CHECK(hash("a-little-bit-longer-string") == (-1486304829 & 0x7fffffff));
  CHECK(hash("abc") == (479470107 & 0x7fffffff));
}

TEST_CASE("kafka: a position belongs to the incarnation it was written in") {
  auto store = make_memory_journal(time_now);
  auto first = store->head().value().incarnation.str();
  append_adopted(*store, 1);
  auto second = start_incarnation(*store);
  append_adopted(*store, 2);
  auto third = start_incarnation(*store);
  auto known = incarnations::load(*store);
  REQUIRE(known);
  CHECK(known.value().at(1) == first);
  CHECK(known.value().at(2) == second);
  CHECK(known.value().at(3) == second);
  CHECK(known.value().at(4) == third);
  CHECK(known.value().at(99) == third);
  CHECK(known.value().has(first));
  CHECK(!known.value().has("inc_other"));
}

TEST_CASE("kafka: an incarnation that starts while events are read is seen") {
  auto store = make_memory_journal(time_now);
  append_adopted(*store, 1);
  auto known = incarnations::load(*store).value();
  auto first = known.at(1);
  auto second = start_incarnation(*store);
  auto rows = store->read_all(0, 10).value();
  for (const auto& e : rows)
    REQUIRE(known.follow(e));
  CHECK(known.at(1) == first);
  CHECK(known.at(2) == second);
}

TEST_CASE("kafka: a control record must fit the journal, or all stops") {
  auto store = make_memory_journal(time_now);
  append_adopted(*store, 1);
  append_adopted(*store, 2);
  auto good = control_at(*store, 2);
  REQUIRE(match(*store, good));

  auto ahead = good;
  ahead.position = 3;
  auto refused = match(*store, ahead);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
  // It names both.
  CHECK(refused.error().message.find("up to position 3") != std::string::npos);
  CHECK(refused.error().message.find("ends at position 2") !=
        std::string::npos);

  auto other_hash = good;
  other_hash.hash = std::string(64, '0');
  refused = match(*store, other_hash);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
  CHECK(refused.error().message.find(good.hash) != std::string::npos);

  auto other_incarnation = good;
  other_incarnation.incarnation = "inc_other";
  refused = match(*store, other_incarnation);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
}

TEST_CASE(
    "kafka: a new incarnation is followed where the events are the same") {
  auto store = make_memory_journal(time_now);
  append_adopted(*store, 1);
  auto before = control_at(*store, 1);
  start_incarnation(*store);
  append_adopted(*store, 2);
  CHECK(match(*store, before));
}

TEST_CASE(
    "kafka: a restored journal that went on is not taken for the old one") {
  auto lost = make_memory_journal(time_now);
  append_adopted(*lost, 1);
  append_adopted(*lost, 2);
  auto restored = make_memory_journal(time_now);
  append_adopted(*restored, 1);
  start_incarnation(*restored);
  append_adopted(*restored, 3);
  auto refused = match(*restored, control_at(*lost, 2));
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::invalid_state);
}

TEST_CASE("kafka: one topic for all events, or one for each type") {
  kafka::topic_names names;
  CHECK(names.events("node.joined") == "better-compute.events");
  CHECK(names.event_topics() ==
        std::vector<std::string>{"better-compute.events"});
  names.events_by = kafka::layout::type;
  CHECK(names.events("security.join.refused") == "security.join.refused");
  auto topics = names.event_topics();
  CHECK(std::set<std::string>(topics.begin(), topics.end())
            .contains("node.joined"));
  // Private types have none.
  CHECK(!std::set<std::string>(topics.begin(), topics.end())
             .contains("pki.initialized"));
  names.prefix = "no blanks";
  CHECK(!kafka::check_names(names));
  names.prefix = "acme";
  CHECK(kafka::check_names(names));
  names.partitions = 0;
  CHECK(!kafka::check_names(names));
}

TEST_CASE("kafka: properties the promise rests on cannot be set") {
  kafka::properties p{{"bootstrap.servers", "localhost:9092"}};
  CHECK(kafka::check_properties(p));
  for (auto name : {"acks", "enable.idempotence", "transactional.id",
                    "isolation.level", "partitioner"}) {
    auto bad = p;
    bad[name] = "1";
    auto refused = kafka::check_properties(bad);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::invalid_config);
    CHECK(refused.error().message.find(name) != std::string::npos);
  }
  CHECK(!kafka::check_properties({}));
}

TEST_CASE("kafka: a properties file is its owner's alone, and never repeated") {
  secret_file good{
      "# comment\n\nbootstrap.servers = a:1,b:2\r\nsasl.password= x = y \n"};
  auto read = kafka::read_properties(good.path);
  REQUIRE(read);
  CHECK(read.value() == kafka::properties{{"bootstrap.servers", "a:1,b:2"},
                                          {"sasl.password", "x = y"}});
  CHECK(
      !kafka::read_properties(secret_file{"bootstrap.servers=a\n", 0644}.path));
  secret_file bad{"bootstrap.servers=a\nhunter2\n"};
  auto refused = kafka::read_properties(bad.path);
  REQUIRE(!refused);
  CHECK(refused.error().message.find(":2") != std::string::npos);
  CHECK(refused.error().message.find("hunter2") == std::string::npos);
  CHECK(!kafka::read_properties(secret_file{"a=1\na=2\n"}.path));
  CHECK(!kafka::read_properties(
      secret_file{"a=" + std::string(70'000, 'x')}.path));
  CHECK(!kafka::read_properties("/tmp"));
  CHECK(!kafka::read_properties("/nowhere"));
}

TEST_CASE("kafka: a properties file may be root's for the service's group") {
  secret_file installed{"a=1\n", 0440};
  if (::geteuid() == 0) {
    CHECK(kafka::read_properties(installed.path));
    CHECK(!kafka::read_properties(secret_file{"a=1\n", 0460}.path));
    CHECK(!kafka::read_properties(secret_file{"a=1\n", 0444}.path));
    // What another user owns, that user can change.
    secret_file foreign{"a=1\n", 0600};
    REQUIRE(::chown(foreign.path.c_str(), 65534, 65534) == 0);
    CHECK(!kafka::read_properties(foreign.path));
  } else {
    CHECK(!kafka::read_properties(installed.path));
  }
}

TEST_CASE("kafka: options that cannot be are refused at once") {
  auto store = make_memory_journal(time_now);
  auto start = [&](kafka::publisher_options o) {
    return kafka::publisher::start(o, *store, [] { return std::nullopt; });
  };
  kafka::publisher_options o;
  o.source = "urn:test";
  CHECK(!start(o));
  o.client["bootstrap.servers"] = "127.0.0.1:1";
  auto p = start(o);
  REQUIRE(p);
  // Without the lease nobody is asked anything.
  CHECK(p.value()->stats().sessions == 0);
  p.value()->stop();
  CHECK(p.value()->stats().state == kafka::publishing::stopped);
  o.source = "";
  CHECK(!start(o));
}

TEST_CASE(
    "kafka: since when events lie in the partitions that are configured") {
  kafka::control_record c{"inc", 90, "h"};
  kafka::topic_names now;
  // Of an older program, which does not say.
  CHECK(kafka::misplaced_until(c, now) == 90);
  c.partitions = now.partitions;
  CHECK(kafka::misplaced_until(c, now) == 90);
  c.events_by = kafka::layout::single;
  CHECK(kafka::misplaced_until(c, now) == 0);
  c.placed_after = 40;
  CHECK(kafka::misplaced_until(c, now) == 40);
  // Configured with another number since, or another layout.
  now.partitions = 6;
  CHECK(kafka::misplaced_until(c, now) == 90);
  now = {};
  now.events_by = kafka::layout::type;
  CHECK(kafka::misplaced_until(c, now) == 90);
}
