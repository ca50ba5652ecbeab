#pragma once

#include "bench/world.hpp"

#include <memory>
#include <string>

namespace bc::bench {

/// What a good engineer writes without actors: the token's row locked with
/// SELECT … FOR UPDATE, the same cryptography before the lock, the same rows
/// in one pipelined write, one commit for each join: two round trips. Unique
/// indexes hold what our claims hold.
class row_lock {
 public:
  /// Makes its tables in a schema of its own. Ends the program when the
  /// server cannot be used.
  row_lock(const world& w, std::string url, std::size_t connections);
  ~row_lock();
  row_lock(const row_lock&) = delete;
  row_lock& operator=(const row_lock&) = delete;

  void add(const token& t);
  /// One whole join on connection `which`; true when admitted.
  [[nodiscard]] bool join(std::size_t which, const std::string& body);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace bc::bench
