#pragma once

#include "gateway/relay_client.hpp"
#include "gateway/relay_link.hpp"
#include "gateway/relay_tls.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace bc::gateway {

/// One API process as the gateway sees it: keeps a connection to it, knows
/// whether it lives and which requests wait for it; included by gateway/*.cpp
/// alone. One thread.
class relay_api final : public relay_link::user,
                        public std::enable_shared_from_this<relay_api> {
 public:
  class owner {
   public:
    virtual void on_answer(relay_api& from, relay::answer a) = 0;
    virtual void on_notice(relay_api& from, relay::notice n) = 0;
    /// It will send notices.
    virtual void on_watching(relay_api& from) = 0;
    /// Whatever came.
    virtual void on_heard(relay_api& from) = 0;
    /// The connection is gone, and with it the answers to these.
    virtual void on_lost(relay_api& api,
                         const std::vector<std::uint64_t>& ids) = 0;
    /// One more can be asked, or one less.
    virtual void on_health(int change) = 0;

   protected:
    ~owner() = default;
  };

  /// `options` and `whose` must outlive it.
  relay_api(boost::asio::io_context& io, const api_address& address,
            const relay_client_options& options, relay_tls tls, owner& whose);

  void start();
  void stop();
  /// From the next connection on.
  void renew_tls(relay_tls tls) { tls_ = std::move(tls); }

  /// It has answered a ping on this connection, and not said that it stops.
  [[nodiscard]] bool is_usable() const { return usable_; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
  /// False when too much is in flight or queued.
  [[nodiscard]] bool send(std::uint64_t id, const std::string& frame);
  /// A message that no answer is awaited to; false when it cannot be sent.
  [[nodiscard]] bool say(const std::string& frame);
  /// Nobody waits for it any more.
  void forget(std::uint64_t id);

  bool on_open(const std::string& certificate) override;
  void on_message(relay::message m) override;
  void on_closed(const std::string& why) override;

 private:
  void connect();
  void connect_later();
  void ping();
  void leave_when_done();
  void set_usable(bool usable);
  void say_lost(const std::string& why);

  const relay_client_options& options_;
  owner& owner_;
  const api_address address_;
  const std::string name_;
  relay_tls tls_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<relay_link> link_;
  std::unordered_set<std::uint64_t> in_flight_;
  std::uint64_t pings_ = 0;
  std::size_t attempts_ = 0;
  bool usable_ = false;
  bool draining_ = false;
  bool stopped_ = false;
  milliseconds backoff_;
  std::minstd_rand random_;
  std::string last_trouble_;
};

}  // namespace bc::gateway
