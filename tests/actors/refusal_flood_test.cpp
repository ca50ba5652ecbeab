// What a flood of refusals costs, and what it must not move (case 145).
#include "actors/refusal_index.hpp"
#include "actors/refusals.hpp"
#include "events/refusal.hpp"
#include "tests/actors/actor_fixture.hpp"
#include "tests/actors/join_world.hpp"

#include <fstream>
#include <random>
#include <set>
#include <unistd.h>

namespace bc::test {
namespace {

using events::refusal_reason;

TEST_CASE("flood: a made-up attestor's name is nowhere kept (case 145)") {
  join_world w;
  auto m = make_machine(1);
  auto token = w.mint_token([](auto& t) { t.expect.serial = "SN-OTHER-1"; });
  std::mt19937 random{1};
  auto r = w.request(m, token.text());
  for (int i = 0; i < 300; ++i) {
    r.attestor = i % 3 == 0   ? "join-token\xc2\xa0"
                 : i % 3 == 1 ? std::string(1 + random() % 64, 'x')
                              : "tpm" + std::to_string(random());
    auto got = w.join(r);
    REQUIRE(got.reports.size() == 1);
    CHECK(got.reports[0].attestor == "unknown");
    CHECK(got.reports[0].reason == refusal_reason::join_attestor);
    CHECK(got.reports[0].owner == w.root);
    CHECK(got.reports[0].details == "{}");
  }
  // No name is the usual one; one that is too long is no request at all.
  r.attestor.clear();
  CHECK(w.join(r).reports.at(0).attestor == "join-token");
  r.attestor = std::string(64 * 1024 / 2, 'x');
  auto got = w.join(r);
  CHECK(got.answer.code == errc::invalid_input);
  CHECK(got.reports.empty());
}

class flood_fixture : public actor_fixture {
 public:
  flood_fixture() {
    start();
    auto reader = own(actors::spawn_journal_reader(
        system, {&journal, nullptr, actors::threading::shared}));
    limiter = own(actors::spawn_refusals(system, {writer, &time}));
    index = own(actors::spawn_refusal_index(system, {reader, &time}));
    run();
  }

  void refuse(refusal_reason why, std::string_view attestor) {
    actors::refusal_report r;
    r.owner = root;
    r.reason = why;
    r.attestor = attestor;
    r.role = "node";
    // Each with a key of its own.
    auto n = std::to_string(++refused);
    r.csr_sha256 = std::string(64 - n.size(), '0') + n;
    caf::anon_send(index, r);
    caf::anon_send(limiter, std::move(r));
  }

  std::string stream_of(refusal_reason why, std::string_view attestor) {
    return events::refusal_stream(root, attestor, events::text_of(why));
  }

  /// Every refusal of a stream that the journal accounts for; no 61 of them
  /// within a minute.
  std::uint64_t accounted(const std::string& of) {
    auto all = store->read_stream(of, 0, 100'000).value();
    std::uint64_t sum = store->read_limiter(of).value().dropped;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto event = events::refusal::decode(all[i]).value();
      sum += 1 + std::get<events::refusal::refused>(event).suppressed;
      if (i >= 60)
        CHECK(all[i].time - all[i - 60].time >= seconds{60});
    }
    return sum;
  }

  /// The flood goes on beside one real refusal a second.
  void flood(int for_seconds, int each_second, refusal_reason why,
             std::string_view attestor) {
    for (int s = 0; s < for_seconds; ++s) {
      for (int i = 0; i < each_second; ++i)
        refuse(why, attestor);
      refuse(refusal_reason::token_expired, "join-token");
      run();
      advance(seconds{1});
    }
  }

  void settle() {
    REQUIRE(ask<void>(limiter, actors::flush_refusals{}));
    REQUIRE(ask<void>(index, actors::flush_refusals{}));
  }

  actors::refusal_actor limiter, index;
  tenant_id root = pki::mint<tenant_id>(from_millis(1'790'000'000'000));
  std::uint64_t refused = 0;
};

std::size_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE_METHOD(flood_fixture,
                 "flood: the real reason's limit and count stay exact (case "
                 "145)",
                 "[actors]") {
  flood(150, 60, refusal_reason::join_attestor, "unknown");
  // A real reason with key rotation.
  flood(50, 60, refusal_reason::token_secret_mismatch, "join-token");
  settle();
  const auto quiet = stream_of(refusal_reason::token_expired, "join-token");
  CHECK(accounted(quiet) == 200);
  CHECK(store->read_stream(quiet, 0, 1000).value().size() >= 180);
  CHECK(accounted(stream_of(refusal_reason::join_attestor, "unknown")) ==
        150 * 60);
  CHECK(accounted(stream_of(refusal_reason::token_secret_mismatch,
                            "join-token")) == 50 * 60);
  // One bucket each, whatever they called themselves.
  std::set<std::string> streams;
  const auto all = store->read_all(0, 100'000).value();
  for (const auto& e : all)
    streams.insert(e.stream);
  CHECK(streams.size() == 3);
  // Every quiet refusal is in the index still.
  int found = 0;
  for (std::uint64_t n = 61; n <= refused; n += 61) {
    auto digits = std::to_string(n);
    found += static_cast<int>(
        store
            ->find_refusals(root.str(),
                            std::string(64 - digits.size(), '0') + digits, 10)
            .value()
            .size());
  }
  CHECK(found == 200);
}

TEST_CASE_METHOD(flood_fixture,
                 "flood: a million refusals leave the memory as it was (case "
                 "145)",
                 "[.long]") {
  flood(100, 1'000, refusal_reason::join_attestor, "unknown");
  const auto before = resident_bytes();
  flood(450, 2'000, refusal_reason::join_attestor, "unknown");
  settle();
  // Ten minutes of events in a journal in memory, and what the allocator keeps.
  CHECK(resident_bytes() < before + 32 * 1024 * 1024);
  CHECK(accounted(stream_of(refusal_reason::join_attestor, "unknown")) ==
        1'000'000);
  CHECK(accounted(stream_of(refusal_reason::token_expired, "join-token")) ==
        550);
}

}  // namespace
}  // namespace bc::test
