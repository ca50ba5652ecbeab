#pragma once

#include "actors/ports.hpp"
#include "base/bytes.hpp"
#include "base/token_bucket.hpp"
#include "gateway/rate_limit.hpp"
#include "gateway/relay_link.hpp"
#include "gateway/relay_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bc::gateway {

class relay_session;

/// What the sessions of a relay listener share; they keep it alive, since an
/// answer may come from an actor after the listener is gone.
struct relay_sessions {
  relay_listener_options options;
  actors::daemon_port* daemons = nullptr;
  actors::notice_port* notices = nullptr;
  std::vector<bytes> internal_cas;  // the current one first
  boost::asio::io_context io;

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<relay_session*, std::weak_ptr<relay_session>> sessions;
  peer_counts peers;
  bool stopping = false;

  [[nodiscard]] bool is_stopping() {
    std::lock_guard lock{mutex};
    return stopping;
  }
  /// False when some are left after so long.
  bool wait_for_none(seconds grace) {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, grace, [this] { return sessions.empty(); });
  }
};

/// One gateway at a relay listener; everything but the answers' arrival runs on
/// its strand; included by gateway/*.cpp alone.
class relay_session final : public relay_link::user,
                            public std::enable_shared_from_this<relay_session> {
 public:
  /// `address` of the peer; `peer`: who it counts as.
  relay_session(std::shared_ptr<relay_sessions> all,
                boost::asio::any_io_executor strand, std::string address,
                std::string peer);
  /// It leaves `all`, and its peer's count.
  ~relay_session() override;

  void start(boost::asio::ip::tcp::socket socket,
             std::shared_ptr<boost::asio::ssl::context> tls);
  /// Says that no more should come, or ends it.
  void stop(bool gently);

  bool on_open(const std::string& certificate) override;
  void on_message(relay::message m) override;
  void on_closed(const std::string& why) override;

 private:
  void take(const relay::ping& live);
  void take(relay::request asked);
  void answer(std::uint64_t id, actors::daemon_reply reply);
  void refuse(const relay::request& asked, std::string_view why,
              errc code = errc::unavailable);
  void watch(std::string gateway);
  void say_watched(bool here);
  void pass_on(const actors::gateway_notice& n);
  [[nodiscard]] bool hears_journal() const;
  void send(std::string frame);
  template <class F>
  static void tell(const std::weak_ptr<relay_session>& to, F f);

  std::shared_ptr<relay_sessions> all_;  // first: destroyed last
  boost::asio::any_io_executor strand_;
  const std::string address_;
  const std::string peer_;
  std::shared_ptr<relay_link> link_;
  bool open_ = false;
  std::size_t in_flight_ = 0;
  token_bucket challenges_;
  std::string gateway_;  // while it watches
  std::shared_ptr<void> watch_;
};

}  // namespace bc::gateway
