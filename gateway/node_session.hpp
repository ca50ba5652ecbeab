#pragma once

#include "base/clock.hpp"
#include "base/wire_session.hpp"
#include "gateway/session_calls.hpp"
#include "gateway/web_socket.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway {

struct session_limits {
  milliseconds hello{10'000};   // from the upgrade to the first frame
  milliseconds answer{30'000};  // for what the join service says to it
  int missed_heartbeats = 3;    // in whose time a frame must come
  /// A session that a notice doubts is ended, to be judged anew by its next
  /// hello, when it is not known to be good by then.
  milliseconds doubt{1'000};
  milliseconds recheck{5'000};      // the same after a watch was lost
  milliseconds ask_again{200};      // when nobody knows
  milliseconds fetch_again{2'000};  // the same, of commands
  milliseconds send_again{60'000};  // a command that has no result yet
  std::size_t results_in_flight = 8;
  std::size_t commands_at_once = 8;  // sent, and without a result
  /// Frames of all kinds that a daemon may send in a window.
  std::size_t frames = 300;
  milliseconds window{10'000};
};

/// Who a session is with, from the certificate that TLS verified.
struct session_peer {
  std::string session_id;
  std::string node_id;
  std::string address;
  std::string certificate;  // DER
  time_point not_after;
};

/// One node's session at this gateway: its frames, and what is asked of the
/// join service for it (base/wire_session.hpp). It ends (1001) with its
/// certificate, whatever comes.
class node_session final : public web_socket_user,
                           public std::enable_shared_from_this<node_session> {
 public:
  /// Who keeps the sessions; on the session's strand.
  class owner {
   public:
    virtual ~owner() = default;
    virtual void opened(std::shared_ptr<node_session> one) = 0;
    virtual void closed(const node_session& one) = 0;
  };

  node_session(session_peer peer, std::string gateway_id, session_limits limits,
               std::shared_ptr<session_calls> calls,
               std::weak_ptr<owner> whose);

  [[nodiscard]] const session_peer& peer() const { return peer_; }

  // Once opened, any thread.

  /// Its node is not what it was, or another session took over: the join
  /// service is asked, and the session ended unless it is good still. `twice`:
  /// and a second later once more, for a process that heard it late.
  void doubt(milliseconds within, bool twice);
  void commands_wait();
  void end(wire::session_close code, std::string reason, std::string why);

  void on_open(const std::shared_ptr<web_socket>& socket) override;
  void on_text(std::string_view text) override;
  void on_control() override;
  void on_deadline() override;
  void on_closed(socket_end how) override;

 private:
  using steady = std::chrono::steady_clock;
  enum class phase { greeting, asking, running, ending };

  [[nodiscard]] static bool is_good(int status) {
    return status >= 200 && status < 300;
  }

  void take(const wire::hello& m);
  void take(const wire::heartbeat& m);
  void take(wire::command_result m);
  void take_frame(wire::from_daemon frame);

  void ask_hello(const wire::hello& m);
  void on_hello_answer(const actors::daemon_reply& reply);
  void judge_hello(const actors::daemon_reply& reply);
  void run();

  void check();
  void on_checked(int status);
  void fetch();
  void fetch_later();
  void send_commands(const wire::fetched_commands& all);
  void look_again();
  void on_recorded(const std::string& command_id, int status);

  void say_and_end(wire::session_close code, std::string reason,
                   std::string why);
  [[nodiscard]] bool is_expired() const;
  void end_expired();
  void end_refused(const char* why);
  void bad_frame(std::string why);
  void relay_end(const std::string& reason);
  void count_frame();
  void expect_frame();
  void arm();
  template <class F>
  void on_strand(F f) {
    if (auto socket = socket_.lock())
      socket->post(std::move(f));
  }
  using on_reply =
      std::function<void(node_session&, const actors::daemon_reply&)>;
  /// `on_answer` is called on the strand.
  void ask(session_calls::rank r, actors::daemon_request what, std::string body,
           on_reply on_answer);

  const session_peer peer_;
  const std::string gateway_id_;
  const session_limits limits_;
  const std::shared_ptr<session_calls> calls_;
  const std::weak_ptr<owner> owner_;
  std::weak_ptr<web_socket> socket_;  // set once, by on_open

  phase phase_ = phase::greeting;
  std::string welcome_;  // until it is sent
  milliseconds silence_{0};
  steady::time_point frame_by_;
  std::optional<steady::time_point> good_by_;  // doubted: known good by then
  std::optional<steady::time_point> check_at_;
  bool checking_ = false;
  bool doubted_meanwhile_ = false;
  bool check_twice_ = false;
  bool fetching_ = false;
  bool fetch_again_ = false;
  std::optional<steady::time_point> fetch_at_;
  bool more_commands_ = false;
  /// When each command was sent that has no result yet.
  std::map<std::string, steady::time_point> sent_;
  std::size_t results_ = 0;
  std::size_t frames_ = 0;
  steady::time_point window_;
  std::string reason_;  // why we ended it

  std::mutex mutex_;        // guards these
  bool connected_ = false;  // there, or perhaps
  bool over_ = false;
  std::string end_reason_;
};

}  // namespace bc::gateway
