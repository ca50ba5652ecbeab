#pragma once

#include "base/clock.hpp"
#include "daemon/config.hpp"
#include "daemon/site_vouch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace bc::daemon {

/// Answers in plain HTTP on the provisioning network; one request for each
/// connection. Whoever is on that network may talk to it, so everything is
/// bounded: connections, the size of a request, the time it takes.
class vouch_listener {
 public:
  static constexpr std::size_t most_connections = 64;
  /// Of one address (address_limit::counted_as), so that nobody has all of
  /// them by being slow.
  static constexpr std::size_t most_of_one = 8;
  /// For the whole request, and again for the answer.
  static constexpr seconds patience{5};
  static constexpr std::size_t max_header = 4096;

  /// Answers one at a time, on a thread of its own; may block. `busy` is
  /// answered when it throws.
  using answerer = std::function<vouch_answer(const vouch_question&)>;

  /// Listens at once where that is possible, else as soon as it is, and says
  /// so. `say` is called on the listener's threads.
  vouch_listener(const endpoint& at, answerer answer,
                 std::function<void(const std::string&)> say);
  /// Ends all connections; of the requests that wait, none is answered any
  /// more.
  ~vouch_listener();
  vouch_listener(const vouch_listener&) = delete;
  vouch_listener& operator=(const vouch_listener&) = delete;

  /// Where it listens; 0: not yet.
  [[nodiscard]] std::uint16_t port() const noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace bc::daemon
