#pragma once

#include "gateway/relay_api.hpp"
#include "gateway/relay_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bc::gateway {

/// Keeps one API process telling this gateway what sessions must hear of, and
/// passes on what it tells; included by gateway/*.cpp alone. One thread. Does
/// nothing until start() and after stop().
class watch_keeper {
 public:
  /// `apis` must outlive it, and not change once it is started.
  watch_keeper(boost::asio::io_context& io,
               const std::vector<std::shared_ptr<relay_api>>& apis)
      : apis_(apis), timer_(io) {}

  /// `frame`: what asks an API process to tell.
  void start(relay_watch_times times, std::string frame,
             std::shared_ptr<relay_watcher> who);
  void stop();

  /// The process that tells, where it can be asked; else nullptr.
  [[nodiscard]] relay_api* usable() const;
  /// Asks another where that is due.
  void look();

  void on_heard(const relay_api& from);
  void on_watching(const relay_api& from);
  void on_notice(relay::notice n);
  void on_gone(const relay_api& api);

 private:
  void look_again();
  [[nodiscard]] std::size_t index_of(const relay_api& api) const;

  const std::vector<std::shared_ptr<relay_api>>& apis_;
  std::optional<relay_watch> watch_;
  milliseconds interval_{0};
  std::shared_ptr<relay_watcher> watcher_;  // once there is a watch
  std::string frame_;
  boost::asio::steady_timer timer_;
};

}  // namespace bc::gateway
