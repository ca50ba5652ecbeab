// What `bcd doctor` says of a site agent.
#include "daemon/site_doctor.hpp"

#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;

namespace {

const time_point now = from_millis(1'764'000'000'000);
constexpr const char* me = "node_01k5w000000000000000000001";
constexpr const char* other = "node_01k5w000000000000000000002";

struct world {
  temporary_folder folder;
  daemon::config config;
  bool running = true;
  std::optional<site_status> status =
      site_status{me, {true, true, 7, me, now + seconds{60}, {}}, now};

  world() {
    config.site_agent.leases_file = folder / "leases";
    write_text(folder / "leases", "0 3c:ec:ef:00:00:01 10.0.0.21 * *\n");
  }
  finding look(std::size_t which) {
    auto all = examine_site({config, me, running, status, now, now});
    REQUIRE(all.size() == 2);
    CHECK(all[0].check == "boot-lease");
    CHECK(all[1].check == "dhcp-leases");
    for (const auto& f : all)
      CHECK(f.advice.empty() == (f.how == verdict::ok));
    return all[which];
  }
};

}  // namespace

TEST_CASE("site doctor: who holds the boot lease, and its epoch") {
  world w;
  auto f = w.look(0);
  CHECK(f.how == verdict::ok);
  CHECK(f.message ==
        "this agent holds it, epoch 7, until " + to_rfc3339(now + seconds{60}));
  w.status->lease.held = false;
  w.status->lease.holder = other;
  f = w.look(0);
  CHECK(f.how == verdict::ok);
  CHECK_THAT(f.message, Catch::StartsWith(std::string{other} +
                                          " holds it, epoch 7, until "));
}

TEST_CASE("site doctor: a lease that is over, or nobody's") {
  world w;
  w.status->lease.expires_at = now;
  auto f = w.look(0);
  CHECK(f.how == verdict::warning);
  CHECK_THAT(f.message, Catch::StartsWith("nobody is known to hold it; "));
  w.status->lease.expires_at = now + seconds{60};
  w.status->lease.holder.clear();
  CHECK(w.look(0).message == "nobody is known to hold it");
}

TEST_CASE("site doctor: an agent that does not run, or ran as another") {
  world w;
  w.running = false;
  CHECK(w.look(0).how == verdict::warning);
  CHECK_THAT(w.look(0).message, Catch::StartsWith("bcd site does not run"));
  w.running = true;
  w.status->node_id = other;
  CHECK_THAT(w.look(0).message, Catch::StartsWith("bcd site does not run"));
  w.status.reset();
  CHECK_THAT(w.look(0).message, Catch::StartsWith("bcd site does not run"));
}

TEST_CASE("site doctor: requests that fail") {
  world w;
  w.status->lease.trouble = "cable cut";
  CHECK(w.look(0).how == verdict::warning);
  CHECK(w.look(0).message == "the last request failed: cable cut");
  w.status->lease.held = false;
  CHECK(w.look(0).how == verdict::failed);
}

TEST_CASE("site doctor: the DHCP server's leases") {
  world w;
  CHECK(w.look(1).how == verdict::ok);
  write_text(w.folder / "leases", "torn");
  CHECK(w.look(1).how == verdict::failed);
  CHECK_THAT(w.look(1).message, Catch::Contains("line 1 is cut off"));
  // Another agent's DHCP server may be the one that runs.
  w.status->lease.held = false;
  CHECK(w.look(1).how == verdict::warning);
}
