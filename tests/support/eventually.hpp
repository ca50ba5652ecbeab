#pragma once

#include <chrono>
#include <thread>

namespace bc::test {

/// Polls until `holds()` is true; false after a time no healthy run needs.
template <class Condition>
[[nodiscard]] bool eventually(Condition holds,
                              std::chrono::seconds most = std::chrono::seconds{
                                  30}) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace bc::test
