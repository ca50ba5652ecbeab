#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

namespace bc::gateway {

/// Text on its way from any thread to one connection that may be slow.
class stream_queue {
 public:
  /// What is not yet sent, at most.
  static constexpr std::size_t limit = 1024 * 1024;

  enum class pushed {
    waits,    // the connection knows already
    wake,     // tell the connection
    refused,  // ended, cut, or over the limit: then it is cut, and wake
  };
  [[nodiscard]] pushed push(std::string text);
  /// What was pushed is still sent. True: tell the connection.
  [[nodiscard]] bool end();
  /// Nothing more is sent; pushes are refused.
  void cut();
  /// Bytes not yet sent; nullopt once pushes are refused.
  [[nodiscard]] std::optional<std::size_t> unsent() const;

  struct batch {
    std::string text;    // all that waited
    bool ended = false;  // and nothing will follow
    bool cut = false;
  };
  /// What was taken before counts as sent.
  [[nodiscard]] batch take();

 private:
  mutable std::mutex mutex_;
  std::string waiting_;
  std::size_t taken_ = 0;
  bool woken_ = false;
  bool ended_ = false;
  bool cut_ = false;
};

}  // namespace bc::gateway
