#pragma once

#include "actors/ports.hpp"
#include "base/clock.hpp"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace bc::gateway {

/// What sessions ask of the join service, so many at a time: however many
/// nodes come back at once, joins on the same way are not starved. Any thread;
/// the port must outlive the last answer.
class session_calls : public std::enable_shared_from_this<session_calls> {
 public:
  /// Who goes first: whether an identity still holds, then what a session is
  /// about, then who wants to begin one.
  enum class rank : std::uint8_t { check, traffic, hello };
  using answered = std::function<void(actors::daemon_reply)>;

  static constexpr std::size_t width = 64;
  static constexpr std::size_t most_ends = 65'536;

  explicit session_calls(actors::daemon_port& port) : port_(port) {}

  /// `done` runs once on any thread, unless `whose` is gone when the turn
  /// comes: then nothing is asked.
  void ask(rank r, actors::daemon_request what, std::string body,
           std::string certificate, std::weak_ptr<const void> whose,
           answered done);

  /// daemon_request::session_end, until a server took it: one that fails waits
  /// for the next call that does not, or for retry_ends(). Over `most_ends` the
  /// oldest are given up.
  void end(std::string body, std::string certificate);
  void retry_ends();

  /// Waits until nothing is asked and no end can be; false when that took
  /// longer.
  [[nodiscard]] bool drain(milliseconds limit);

 private:
  struct one {
    actors::daemon_call call;
    std::weak_ptr<const void> whose;
    answered done;
    bool is_end = false;
  };

  void pump();
  [[nodiscard]] bool next(one& out);
  void asked(one what, actors::daemon_reply reply);
  void put_end(one what);

  actors::daemon_port& port_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::array<std::deque<one>, 3> waiting_;
  std::deque<one> ends_;
  std::size_t in_flight_ = 0;
  bool ends_may_go_ = true;
  bool pumping_ = false;
};

}  // namespace bc::gateway
