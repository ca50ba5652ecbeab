// Asio 1.74 uses std::exchange without including it.
#include "gateway/web_socket.hpp"

#include "gateway/quiet_stream.hpp"
#include "gateway/rate_limit.hpp"
#include "gateway/session.hpp"

#include <boost/asio/post.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

// What an idle connection keeps for the next message.
constexpr std::size_t kept_buffer = 2 * 1024;
// RFC 6455 section 5.5: a control frame's payload, two bytes of it the code.
constexpr std::size_t max_close_text = 123;

class open_socket final : public connection,
                          public web_socket,
                          public std::enable_shared_from_this<open_socket> {
 public:
  using request = http::request<http::string_body>;

  /// Its place is counted already.
  open_socket(std::shared_ptr<shared_state> shared, byte_stream& stream,
              std::string peer, std::shared_ptr<web_socket_user> user)
      : shared_(std::move(shared)),
        options_(*shared_->options.web_socket),
        peer_(std::move(peer)),
        strand_(stream.get_executor()),
        stream_(stream),
        deadline_(strand_),
        limit_(strand_),
        user_(std::move(user)) {}

  ~open_socket() override {
    std::lock_guard lock{shared_->mutex};
    shared_->connections.erase(this);
    --shared_->web_sockets;
    shared_->web_socket_peers.leave(peer_);
    shared_->changed.notify_all();
  }

  void accept(const request& asked) {
    stream_.auto_fragment(false);
    stream_.read_message_max(options_.max_message);
    stream_.set_option(websocket::stream_base::decorator(
        [protocol = options_.protocol](websocket::response_type& answer) {
          answer.set(http::field::sec_websocket_protocol, protocol);
          answer.set(http::field::server, "better-compute");
        }));
    // It is a member: the callback does not outlive this.
    stream_.control_callback([this](websocket::frame_type kind,
                                    beast::string_view) { on_control(kind); });
    cut_after(options_.write_timeout);
    reading_ = true;
    stream_.async_accept(asked, [self = shared_from_this()](error_code ec) {
      self->on_accepted(ec);
    });
  }

  // Of `connection`.
  void stop(bool gently) override {
    asio::post(strand_, [self = shared_from_this(), gently] {
      if (!gently)
        self->cut();
      else if (self->open_)
        self->say_stopping();
      // One that is just being accepted hears it then.
    });
  }

  void send(std::string text) override {
    if (closing_ || !user_)
      return;
    queued_ += text.size();
    if (queued_ > options_.max_queued)
      return cut();
    waiting_.push_back(std::move(text));
    if (!writing_)
      write();
  }

  void close(std::uint16_t code, std::string why) override {
    if (std::exchange(closing_, true) || !user_)
      return;
    if (!open_)
      return cut();
    if (how_ == socket_end::lost)
      how_ = socket_end::by_us;
    cut_after(options_.close_timeout);
    websocket::close_reason reason{code};
    why.resize(std::min(why.size(), max_close_text));
    // In Beast 1.74 assigning a length of text assigns nothing.
    reason.reason.resize(why.size());
    std::ranges::copy(why, reason.reason.begin());
    saying_goodbye_ = true;
    stream_.async_close(reason, [self = shared_from_this()](error_code) {
      self->saying_goodbye_ = false;
      self->look_for_end();
    });
  }

  void expire_in(milliseconds time) override {
    deadline_.expires_after(time);
    deadline_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->user_)
        self->user_->on_deadline();
    });
  }

  // Weak: what is posted after the last run of the io_context must not keep
  // it.
  void post(std::function<void()> f) override {
    asio::post(strand_, [to = weak_from_this(), f = std::move(f)] {
      if (auto self = to.lock(); self && self->user_)
        f();
    });
  }

 private:
  void on_accepted(error_code ec) {
    reading_ = false;
    if (ec || closing_) {
      cut();
      return look_for_end();
    }
    limit_.cancel();
    open_ = true;
    if (shared_->stopping)
      return say_stopping();
    user_->on_open(shared_from_this());
    read();
  }

  void say_stopping() {
    close(options_.going_away_code, "the gateway is stopping");
  }

  void read() {
    if (closing_)
      return look_for_end();
    reading_ = true;
    stream_.async_read(buffer_,
                       [self = shared_from_this()](error_code ec, std::size_t) {
                         self->on_read(ec);
                       });
  }

  void on_read(error_code ec) {
    reading_ = false;
    if (ec)
      return on_unreadable(ec);
    if (!closing_) {
      if (!stream_.got_text())
        close(options_.bad_frame_code, "text frames alone are understood");
      else
        user_->on_text(
            {static_cast<const char*>(buffer_.data().data()), buffer_.size()});
    }
    buffer_.consume(buffer_.size());
    if (buffer_.capacity() > kept_buffer)
      buffer_.shrink_to_fit();
    read();
  }

  void on_unreadable(error_code ec) {
    if (!closing_ && !peer_leaves_ &&
        ec.category() == error_code{websocket::error::closed}.category())
      // Beast has answered it with the code that RFC 6455 names.
      how_ = socket_end::by_us;
    closing_ = true;
    look_for_end();
  }

  void on_control(websocket::frame_type kind) {
    if (kind == websocket::frame_type::close) {
      peer_leaves_ = true;
      if (!closing_)
        how_ = socket_end::by_peer;
      cut_after(options_.close_timeout);
    } else if (user_ && !closing_) {
      user_->on_control();
    }
  }

  void write() {
    writing_ = true;
    out_ = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    if (!peer_leaves_)
      cut_after(options_.write_timeout);
    stream_.text(true);
    stream_.async_write(asio::buffer(out_), [self = shared_from_this()](
                                                error_code ec, std::size_t) {
      self->on_written(ec);
    });
  }

  void on_written(error_code ec) {
    writing_ = false;
    queued_ -= out_.size();
    out_ = {};
    if (ec && !closing_)
      cut();
    if (closing_)
      return look_for_end();
    if (!peer_leaves_)
      limit_.cancel();
    if (!waiting_.empty())
      write();
  }

  void cut_after(milliseconds time) {
    limit_.expires_after(time);
    limit_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->user_)
        self->cut();
    });
  }

  // Every operation ends with it.
  void cut() {
    closing_ = true;
    stream_.next_layer().close();
  }

  void look_for_end() {
    if (!closing_ || reading_ || writing_ || saying_goodbye_ || !user_)
      return;
    stream_.next_layer().close();
    deadline_.cancel();
    limit_.cancel();
    std::exchange(user_, nullptr)->on_closed(how_);
  }

  std::shared_ptr<shared_state> shared_;  // first: destroyed last
  const web_socket_options& options_;
  const std::string peer_;  // who it counts as
  const byte_stream::executor_type strand_;
  websocket::stream<quiet_stream, false> stream_;
  asio::steady_timer deadline_;
  asio::steady_timer limit_;
  beast::flat_buffer buffer_;
  std::shared_ptr<web_socket_user> user_;  // until it is over
  std::vector<std::string> waiting_;
  std::string out_;
  std::size_t queued_ = 0;
  socket_end how_ = socket_end::lost;
  bool open_ = false;
  bool closing_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool saying_goodbye_ = false;
  bool peer_leaves_ = false;
};

/// Takes a place for one more; empty, or why there is none.
result<void> take_place(shared_state& shared, const std::string& peer) {
  const auto& o = *shared.options.web_socket;
  std::lock_guard lock{shared.mutex};
  if (shared.web_sockets >= o.max_open)
    return fail(errc::unavailable, "too many sessions; retry elsewhere");
  if (!shared.web_socket_peers.enter(peer, o.max_open_per_peer))
    return fail(errc::rate_limited, "too many sessions from this address");
  ++shared.web_sockets;
  return ok();
}

void give_place_back(shared_state& shared, const std::string& peer) {
  std::lock_guard lock{shared.mutex};
  --shared.web_sockets;
  shared.web_socket_peers.leave(peer);
}

}  // namespace

bool session::is_for_web_socket() const {
  const auto& o = shared_->options.web_socket;
  return o && request_.path == o->path;
}

void session::upgrade() {
  const auto& o = *shared_->options.web_socket;
  const auto& asked = parser_->get();
  if (certificate_.empty())
    return refuse(http_status(errc::unauthenticated),
                  "a node's certificate is needed here");
  if (!websocket::is_upgrade(asked))
    return refuse(400, "this path is served as a WebSocket (RFC 6455) only");
  if (!http::token_list{asked[http::field::sec_websocket_protocol]}.exists(
          o.protocol))
    return refuse(400, "the subprotocol must be " + o.protocol);
  if (buffer_.size() > 0 || !asked.body().empty() ||
      !quiet_stream::can_take(stream_))
    return refuse(400, "nothing may be sent before the upgrade is answered");
  if (shared_->stopping)
    return refuse(503, "the gateway is stopping; retry elsewhere");
  if (auto place = take_place(*shared_, peer_); !place)
    return refuse(http_status(place.error().code), place.error().message);
  auto user = o.door->admit({address_, certificate_});
  if (!user) {
    give_place_back(*shared_, peer_);
    return refuse(http_status(user.error().code), user.error().message);
  }
  phase_ = phase::handed_over;
  timer_.cancel();
  auto one = std::make_shared<open_socket>(shared_, stream_, peer_,
                                           std::move(user).value());
  {
    std::lock_guard lock{shared_->mutex};
    shared_->connections.emplace(one.get(), one);
  }
  one->accept(parser_->get());
}

}  // namespace bc::gateway
