// Asio 1.74 uses std::exchange without including it.
#include "daemon/session_client.hpp"

#include "daemon/gateway_client.hpp"
#include "daemon/gateway_tls.hpp"
#include "daemon/printable.hpp"
#include "daemon/session_begin.hpp"
#include "daemon/session_frames.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/chain.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using end = session_outcome::end;
using stream = websocket::stream<beast::ssl_stream<beast::tcp_stream>, false>;

constexpr const char* session_path = "/v1/session";
// The gateway itself waits half a minute for what the server says to a hello.
constexpr seconds welcome_timeout{45};
// A stop is done within a second.
constexpr milliseconds goodbye_timeout{700};
constexpr int missed_heartbeats = 3;
constexpr std::size_t most_frames = 64;

// Lives as long as one of its operations does; `done` is told in the end. All
// of it on the thread of `io`.
class session final : public std::enable_shared_from_this<session>,
                      private session_frames::carrier {
 public:
  session(asio::io_context& io, const config& c, endpoint to, node_identity me,
          std::string bcd_version, session_hooks hooks,
          std::function<void(session_outcome)> done)
      : to_(std::move(to)),
        me_(std::move(me)),
        hooks_(std::move(hooks)),
        done_(std::move(done)),
        frames_(me_.who, join_signing_pins(with_pins_of(c, me_.who)),
                std::move(bcd_version), hooks_, *this),
        io_(io),
        tls_(to_.host, serving_ca_pins(with_pins_of(c, me_.who))),
        resolver_(io_),
        pulse_(io_),
        limit_(io_) {}
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (hooks_.ask_for_results)
      hooks_.ask_for_results({});
    outcome_.welcomed = frames_.is_welcomed();
    done_(std::move(outcome_));
  }

  void begin() {
    if (auto ec = tls_.present(me_)) {
      outcome_ = {end::unreachable,
                  "the node's certificate cannot be used: " + ec.message(),
                  false};
      return;
    }
    ws_.emplace(io_, tls_.context());
    if (hooks_.ask_for_results)
      hooks_.ask_for_results(on_thread(&session::send_results));
    resolve();
  }

  // Any thread; not kept alive by it.
  std::function<void()> on_thread(void (session::*what)()) {
    return [weak = weak_from_this(), &io = io_, what] {
      asio::post(io, [weak, what] {
        if (auto self = weak.lock())
          (*self.*what)();
      });
    };
  }

  void send_results() {
    if (!ended_)
      frames_.send_results();
  }

  void leave() {
    if (ended_ || !ws_)
      return;
    if (!ws_->is_open())
      return over(end::stopped, "stopped");
    say_and_end(end::stopped, "stopped");
  }

 private:
  beast::tcp_stream& socket() { return beast::get_lowest_layer(*ws_); }

  // Getting there.

  void resolve() {
    limited(connect_timeout, "no connection in time", end::unreachable);
    resolver_.async_resolve(
        to_.host, to_.port,
        [this, self = shared_from_this()](
            error_code ec, const tcp::resolver::results_type& found) {
          if (!failed(ec, end::unreachable, "cannot connect to " + where()))
            connect(found);
        });
  }

  void connect(const tcp::resolver::results_type& found) {
    socket().async_connect(
        found, [this, self = shared_from_this()](error_code ec, const auto&) {
          if (failed(ec, end::unreachable, "cannot connect to " + where()))
            return;
          error_code ignored;
          socket().socket().set_option(tcp::no_delay(true), ignored);
          shake();
        });
  }

  void shake() {
    limited(connect_timeout, "no TLS handshake in time", end::unreachable);
    tls_.name_host(ws_->next_layer().native_handle());
    ws_->next_layer().async_handshake(
        asio::ssl::stream_base::client,
        [this, self = shared_from_this()](error_code ec) {
          if (ec && !tls_.chain_failed().empty())
            return over(end::untrusted, std::string{tls_.chain_failed()});
          if (ec && !tls_.key_failed().empty())
            return over(end::unreachable, tls_.key_failed());
          if (!failed(ec, end::unreachable,
                      "the TLS handshake with " + where() + " failed"))
            upgrade();
        });
  }

  void upgrade() {
    limited(connect_timeout, "the gateway does not answer", end::lost);
    // What the gateway sends is bounded as what it takes.
    ws_->read_message_max(wire::max_session_frame);
    ws_->auto_fragment(false);
    ws_->set_option(
        websocket::stream_base::decorator([](websocket::request_type& request) {
          request.set(http::field::user_agent, "bcd");
          request.set(http::field::sec_websocket_protocol,
                      beast::string_view{wire::session_protocol.data(),
                                         wire::session_protocol.size()});
        }));
    bool bracketed = to_.host.find(':') != std::string::npos;
    auto host = bracketed ? "[" + to_.host + "]" : to_.host;
    ws_->async_handshake(
        answer_, to_.port == "443" ? host : host + ":" + to_.port, session_path,
        [this, self = shared_from_this()](error_code ec) { on_upgraded(ec); });
  }

  void on_upgraded(error_code ec) {
    if (ec == websocket::error::upgrade_declined)
      return over(end_of_status(answer_.result_int()),
                  "the gateway answered " +
                      std::to_string(answer_.result_int()) + ": " +
                      printable(answer_.body()));
    if (failed(ec, end::lost, "the session could not begin"))
      return;
    auto chosen = answer_[http::field::sec_websocket_protocol];
    if (std::string_view{chosen.data(), chosen.size()} !=
        wire::session_protocol)
      return over(end::protocol, "the gateway speaks another protocol");
    limited(welcome_timeout, "no welcome came", end::lost);
    frames_.greet();
    read();
  }

  // Frames.

  void read() {
    ws_->async_read(buffer_, [this, self = shared_from_this()](error_code ec,
                                                               std::size_t) {
      if (ec)
        return on_unreadable(ec);
      // What crossed our goodbye: a welcome would take back the end.
      if (ended_)
        return;
      auto frame = wire::decode_to_daemon(
          {static_cast<const char*>(buffer_.data().data()), buffer_.size()});
      buffer_.clear();
      if (!frame || !ws_->got_text())
        say_and_end(end::protocol, "the gateway sent what is no frame of ours");
      else if (frame.value())
        frames_.take(*frame.value());
      if (!ended_)
        read();
    });
  }

  void on_unreadable(error_code ec) {
    if (ec != websocket::error::closed)
      return (void)failed(ec, end::lost, "the session was lost");
    auto why = ws_->reason();
    over(end_of_close(why.code),
         "the gateway ended the session (" + std::to_string(why.code) +
             "): " + printable({why.reason.data(), why.reason.size()}));
  }

  void beat() {
    pulse_.expires_after(every_);
    pulse_.async_wait([this, self = shared_from_this()](error_code ec) {
      if (ec || ended_)
        return;
      frames_.beat();
      beat();
    });
  }

  void welcomed(seconds heartbeat) override {
    every_ = heartbeat;
    heard();
    beat();
  }

  // The gateway lives.
  void heard() override {
    limited(missed_heartbeats * every_, "the gateway has gone silent",
            end::lost);
  }

  void write(const wire::from_daemon& frame) override {
    // What is resent anyway need not pile up behind a slow gateway.
    if (ended_ || waiting_.size() > most_frames)
      return;
    waiting_.push_back(wire::encode(frame));
    if (waiting_.size() == 1)
      write_next();
  }

  void write_next() {
    ws_->text(true);
    ws_->async_write(
        asio::buffer(waiting_.front()),
        [this, self = shared_from_this()](error_code ec, std::size_t) {
          waiting_.pop_front();
          if (!ended_ && !ec && !waiting_.empty())
            write_next();
        });
  }

  [[nodiscard]] bool is_valid_at(time_point t) const override {
    return pki::chain_valid_at(tls_.chain(), t);
  }

  // Ending. The first reason counts; it is gone once no operation is left.

  void say_and_end(end what, std::string why) override {
    if (std::exchange(ended_, true))
      return;
    outcome_.what = what;
    outcome_.why = std::move(why);
    pulse_.cancel();
    limit_.expires_after(goodbye_timeout);
    limit_.async_wait([this, self = shared_from_this()](error_code ec) {
      if (!ec)
        socket().close();
    });
    ws_->async_close(what == end::stopped ? websocket::close_code::going_away
                                          : websocket::close_code::policy_error,
                     [this, self = shared_from_this()](error_code) {
                       limit_.cancel();
                       socket().close();
                     });
  }

  void over(end what, std::string why) {
    if (!std::exchange(ended_, true)) {
      outcome_.what = what;
      outcome_.why = std::move(why);
    }
    pulse_.cancel();
    limit_.cancel();
    resolver_.cancel();
    socket().close();
  }

  /// True when it did, and the session is over with that.
  bool failed(error_code ec, end what, const std::string& doing) {
    if (!ec && !ended_)
      return false;
    if (ended_) {
      // Perhaps after a goodbye, whose timer or answer ends the rest.
      if (!ws_->is_open())
        over(what, doing);
    } else if (is_about_our_certificate(ec)) {
      over(end::refused,
           "the gateway did not take the node's certificate: " + ec.message());
    } else {
      over(what, doing + ": " + ec.message());
    }
    return true;
  }

  /// From now on, in place of the limit before.
  void limited(milliseconds time, const char* why, end what) {
    limit_.expires_after(time);
    limit_.async_wait(
        [this, self = shared_from_this(), why, what](error_code ec) {
          if (!ec && !ended_)
            over(what, why);
        });
  }

  [[nodiscard]] std::string where() const { return to_.host + ":" + to_.port; }

  const endpoint to_;
  const node_identity me_;
  const session_hooks hooks_;
  const std::function<void(session_outcome)> done_;
  session_frames frames_;
  asio::io_context& io_;
  pinned_tls tls_;
  tcp::resolver resolver_;
  asio::steady_timer pulse_;
  asio::steady_timer limit_;
  std::optional<stream> ws_;
  websocket::response_type answer_;
  beast::flat_buffer buffer_;
  std::deque<std::string> waiting_;  // the first one is being sent
  milliseconds every_{0};
  session_outcome outcome_{end::lost, "the session was lost", false};
  bool ended_ = false;
};

}  // namespace

std::function<void()> begin_session(asio::io_context& io, const config& c,
                                    endpoint to, node_identity me,
                                    std::string bcd_version,
                                    session_hooks hooks,
                                    std::function<void(session_outcome)> done) {
  auto one = std::make_shared<session>(io, c, std::move(to), std::move(me),
                                       std::move(bcd_version), std::move(hooks),
                                       std::move(done));
  auto leave = one->on_thread(&session::leave);
  one->begin();
  return leave;
}

}  // namespace bc::daemon
