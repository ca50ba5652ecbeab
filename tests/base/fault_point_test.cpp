// spec: issue "The main job", base/ (fault points)
#include "base/fault_point.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace bc;

namespace {
constexpr auto point = fault_point::store_before_commit;
constexpr auto other = fault_point::join_after_append;

bool arm_from(const char* text) {
  ::setenv("BC_FAULTS", text, 1);
  bool armed = arm_from_environment();
  ::unsetenv("BC_FAULTS");
  return armed;
}
}  // namespace

#ifdef BC_FAULT_POINTS_ENABLED

TEST_CASE("fault point: acts once, on the hit it was armed for") {
  disarm_all();
  CHECK(hit(point) == fault_action::none);
  arm(point, fault_action::error, 3);
  CHECK(hit(point) == fault_action::none);
  CHECK(hit(other) == fault_action::none);
  CHECK(hit(point) == fault_action::none);
  CHECK(hit(point) == fault_action::error);
  CHECK(hit(point) == fault_action::none);
  arm(point, fault_action::error);
  disarm_all();
  CHECK(hit(point) == fault_action::none);
}

TEST_CASE("fault point: exit ends the process at once") {
  auto child = ::fork();
  if (child == 0) {
    arm(point, fault_action::exit);
    (void)hit(point);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 99);
}

TEST_CASE("fault point: armed from the environment") {
  disarm_all();
  CHECK(arm_from("store.before-commit=error@2,join.after-append=error"));
  CHECK(hit(point) == fault_action::none);
  CHECK(hit(point) == fault_action::error);
  CHECK(hit(other) == fault_action::error);
  disarm_all();
}

#else

TEST_CASE("fault point: a build without them never acts") {
  arm(point, fault_action::error);
  CHECK(hit(point) == fault_action::none);
  disarm_all();
}

#endif

TEST_CASE("fault point: what cannot be armed is said") {
  for (const char* bad :
       {"store.unknown=error", "store.before-commit",
        "store.before-commit=", "store.before-commit=explode",
        "store.before-commit=error@0", "store.before-commit=error@x",
        "store.before-commit=error@1x", "=error"})
    CHECK_FALSE(arm_from(bad));
  CHECK(arm_from(""));
  ::unsetenv("BC_FAULTS");
  CHECK(arm_from_environment());
  disarm_all();
}
