// spec: ATTESTATION section 4; the boot lease of a site, as its agents keep it.
#include "daemon/site_lease.hpp"

#include "daemon/site_rate.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bc;
using daemon::address_limit;
using daemon::boot_lease_keeper;

namespace {

const time_point start = from_millis(1'764'000'000'000);
constexpr const char* me = "node_01k5w000000000000000000001";
constexpr const char* other = "node_01k5w000000000000000000002";

wire::boot_lease_body held(std::int64_t epoch, milliseconds from_now) {
  return {true, epoch, to_millis(start + from_now), me};
}
wire::boot_lease_body others(std::int64_t epoch, milliseconds from_now) {
  return {false, epoch, to_millis(start + from_now), other};
}

}  // namespace

TEST_CASE("boot lease: nothing is held before an answer; it is asked at once") {
  boot_lease_keeper keeper;
  CHECK(keeper.next() == milliseconds{0});
  CHECK_FALSE(keeper.epoch_at(seconds{1}));
  CHECK_FALSE(keeper.view(seconds{1}).asked);
}

TEST_CASE("boot lease: held until it is over, with a margin for vouches") {
  boot_lease_keeper keeper;
  const milliseconds sent = seconds{1'000};
  keeper.answered(held(7, seconds{120}), sent, start, 500);
  CHECK(keeper.epoch_at(sent) == 7);
  CHECK(keeper.epoch_at(sent + seconds{110} - milliseconds{1}) == 7);
  CHECK_FALSE(keeper.epoch_at(sent + seconds{110}));
  CHECK(keeper.view(sent + seconds{120} - milliseconds{1}).held);
  auto over = keeper.view(sent + seconds{120});
  CHECK_FALSE(over.held);
  CHECK(over.holder.empty());
  CHECK(over.epoch == 7);
}

TEST_CASE("boot lease: asked for after about a third of it") {
  for (unsigned random : {0U, 500U, 999U}) {
    boot_lease_keeper keeper;
    keeper.answered(held(1, seconds{90}), seconds{50}, start, random);
    CHECK(keeper.next() >= seconds{50 + 27});
    CHECK(keeper.next() <= seconds{50 + 33});
  }
  boot_lease_keeper one;
  boot_lease_keeper two;
  one.answered(held(1, seconds{90}), seconds{50}, start, 0);
  two.answered(held(1, seconds{90}), seconds{50}, start, 999);
  CHECK(one.next() != two.next());
}

TEST_CASE("boot lease: another's is asked for when it is over") {
  boot_lease_keeper keeper;
  keeper.answered(others(3, seconds{10}), seconds{100}, start, 500);
  CHECK_FALSE(keeper.epoch_at(seconds{100}));
  auto view = keeper.view(seconds{100});
  CHECK(view.holder == other);
  CHECK(view.epoch == 3);
  CHECK(keeper.next() > seconds{110});
  CHECK(keeper.next() < seconds{112});
  // It may be given back early.
  keeper.answered(others(3, seconds{3'000}), seconds{100}, start, 500);
  CHECK(keeper.next() <=
        seconds{100} +
            milliseconds{boot_lease_keeper::longest_stand_by} * 11 / 10);
}

TEST_CASE("boot lease: a lost answer takes nothing away, and is tried again") {
  boot_lease_keeper keeper;
  keeper.answered(held(2, seconds{120}), seconds{0}, start, 500);
  milliseconds at = seconds{40};
  for (int i = 0; i < 10 && at < seconds{110}; ++i) {
    keeper.failed("cable cut", at, 999);
    CHECK(keeper.epoch_at(at) == 2);
    CHECK(keeper.view(at).trouble == "cable cut");
    CHECK(keeper.next() > at);
    CHECK(keeper.next() <= at + seconds{17});
    at = keeper.next();
  }
  CHECK_FALSE(keeper.epoch_at(seconds{110}));
  keeper.answered(held(2, seconds{240}), seconds{119}, start + seconds{119},
                  500);
  CHECK(keeper.view(seconds{119}).trouble.empty());
  CHECK(keeper.epoch_at(seconds{200}) == 2);
}

TEST_CASE("boot lease: a refusal takes it away at once") {
  boot_lease_keeper keeper;
  keeper.answered(held(2, seconds{120}), seconds{0}, start, 500);
  keeper.refused("not a site agent", seconds{10}, 0);
  CHECK_FALSE(keeper.epoch_at(seconds{10}));
  CHECK_FALSE(keeper.view(seconds{10}).held);
  CHECK(keeper.next() >= seconds{10 + 54});
}

TEST_CASE("boot lease: what was given back is not held") {
  boot_lease_keeper keeper;
  keeper.answered(held(2, seconds{120}), seconds{0}, start, 500);
  keeper.released();
  CHECK_FALSE(keeper.epoch_at(seconds{0}));
  CHECK(keeper.view(seconds{0}).holder.empty());
}

TEST_CASE("boot lease: nobody's clock makes one last") {
  boot_lease_keeper keeper;
  // Over as it comes, by the server's time.
  keeper.answered(held(2, seconds{-5}), seconds{60}, start, 500);
  CHECK_FALSE(keeper.epoch_at(seconds{60}));
  CHECK(keeper.next() > seconds{60});
  // A year, for a server whose clocks disagree.
  keeper.answered(held(2, std::chrono::hours{8'760}), seconds{60}, start, 500);
  CHECK(keeper.view(seconds{60}).held);
  CHECK_FALSE(keeper.view(seconds{60 + 3'600}).held);
}

TEST_CASE("boot lease: property: never held past its end, always asked again") {
  std::mt19937 random{20261130};
  for (int round = 0; round < 2'000; ++round) {
    boot_lease_keeper keeper;
    milliseconds at{random() % 1'000'000};
    milliseconds last_end{0};
    for (int step = 0; step < 12; ++step) {
      at += milliseconds{random() % 60'000};
      const auto left = milliseconds{random() % 180'000};
      const auto part = static_cast<unsigned>(random() % 1'000);
      switch (random() % 4) {
        case 0:
          keeper.answered(held(step + 1, left), at, start, part);
          last_end = at + left;
          break;
        case 1:
          keeper.answered(others(step + 1, left), at, start, part);
          last_end = milliseconds{0};
          break;
        case 2:
          keeper.failed("no", at, part);
          break;
        default:
          keeper.refused("no", at, part);
          last_end = milliseconds{0};
      }
      REQUIRE(keeper.next() > at);
      REQUIRE(keeper.next() <= at + seconds{67});
      const auto look = at + milliseconds{random() % 200'000};
      REQUIRE(keeper.view(look).held == (look < last_end));
      REQUIRE(keeper.epoch_at(look).has_value() ==
              (look + boot_lease_keeper::margin < last_end));
    }
  }
}

namespace {

address_limit::address v4(std::uint8_t last, std::uint8_t third = 0) {
  address_limit::address out{};
  out[10] = out[11] = 0xff;
  out[12] = 10;
  out[14] = third;
  out[15] = last;
  return out;
}

}  // namespace

TEST_CASE("address limit: a burst, then a request each second") {
  address_limit limit;
  for (int i = 0; i < address_limit::burst; ++i)
    CHECK(limit.admits(v4(1), seconds{5}));
  CHECK_FALSE(limit.admits(v4(1), seconds{5}));
  // Another address has its own.
  CHECK(limit.admits(v4(2), seconds{5}));
  CHECK_FALSE(limit.admits(v4(1), milliseconds{5'999}));
  CHECK(limit.admits(v4(1), seconds{6}));
  CHECK_FALSE(limit.admits(v4(1), seconds{6}));
  // What was refused did not count.
  for (int i = 0; i < address_limit::burst; ++i)
    CHECK(limit.admits(v4(1), seconds{60}));
  CHECK_FALSE(limit.admits(v4(1), seconds{60}));
}

TEST_CASE("address limit: an IPv6 network counts as one machine") {
  address_limit limit;
  address_limit::address six{};
  six[0] = 0xfd;
  for (int i = 0; i < address_limit::burst; ++i) {
    six[15] = static_cast<std::uint8_t>(i);
    CHECK(limit.admits(six, seconds{5}));
  }
  six[15] = 77;
  CHECK_FALSE(limit.admits(six, seconds{5}));
  six[7] = 1;
  CHECK(limit.admits(six, seconds{5}));
}

TEST_CASE("address limit: whom an address counts as") {
  address_limit::address six{};
  six[0] = 0xfd;
  auto network = six;
  network[7] = 1;
  auto host = network;
  host[8] = host[15] = 9;
  CHECK(address_limit::counted_as(host) == network);
  CHECK(address_limit::counted_as(six) == six);
  CHECK(address_limit::counted_as(network) != address_limit::counted_as(six));
  CHECK(address_limit::counted_as(v4(7)) == v4(7));
}

TEST_CASE("address limit: more addresses than it holds take no room") {
  address_limit limit;
  for (int i = 0; i < address_limit::burst; ++i)
    CHECK(limit.admits(v4(1), seconds{5}));
  for (int i = 0; i < 20'000; ++i) {
    auto a =
        v4(static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8));
    a[13] = 1;
    (void)limit.admits(a, seconds{5});
  }
  CHECK(limit.known() == address_limit::most_addresses);
  // The one that is at its limit is still known.
  CHECK_FALSE(limit.admits(v4(1), seconds{5}));
  // Those that are quiet again make room.
  CHECK(limit.admits(v4(9), seconds{100}));
  CHECK(limit.known() < 3);
}
