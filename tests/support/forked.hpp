#pragma once

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace bc::testing {

/// Runs `work` in a child process that leaves by _exit, so that nothing of it
/// is closed or flushed; its exit code, 0 when `work` came to its end.
template <class Work>
int in_child(Work work) {
  auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace bc::testing
