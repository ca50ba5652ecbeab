#include "gateway/relay_link.hpp"

#include "gateway/reason.hpp"
#include "gateway/tls_context.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using steady = std::chrono::steady_clock;

constexpr std::size_t read_size = 16 * 1024;
// relay::protocol with its length before it, as ALPN has it.
constexpr std::array<unsigned char, 11> alpn{10,  'b', 'c', '-', 'r', 'e',
                                             'l', 'a', 'y', '/', '1'};
static_assert(alpn.size() == relay::protocol.size() + 1);

bool speaks_relay(SSL* ssl) {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &chosen, &size);
  return std::equal(chosen, chosen + size, alpn.begin() + 1, alpn.end());
}

int choose_relay(SSL*, const unsigned char** out, unsigned char* size,
                 const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, alpn.data(), alpn.size(), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = found;
  return SSL_TLSEXT_ERR_OK;
}

class link final : public relay_link,
                   public std::enable_shared_from_this<link> {
 public:
  link(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
       limits bounds, std::shared_ptr<user> whose)
      : tls_(std::move(tls)),
        stream_(std::move(socket), *tls_),
        timer_(stream_.get_executor()),
        limits_(bounds),
        user_(std::move(whose)),
        frames_(bounds.max_message) {}

  void accept() {
    expect_by(limits_.opening);
    shake(asio::ssl::stream_base::server);
  }

  void dial(std::vector<tcp::endpoint> to) {
    expect_by(limits_.opening);
    endpoints_ = std::move(to);
    asio::async_connect(
        stream_.next_layer(), endpoints_,
        [self = shared_from_this()](error_code ec, const tcp::endpoint&) {
          if (ec)
            return self->close(reason_of(ec));
          error_code ignored;
          self->stream_.next_layer().set_option(tcp::no_delay(true), ignored);
          self->shake(asio::ssl::stream_base::client);
        });
  }

  bool send(std::string frame) override {
    if (state_ != state::open || queued() + frame.size() > limits_.max_queued)
      return false;
    waiting_ += frame;
    if (writing_.empty())
      write();
    return true;
  }

  void close(const std::string& why) override {
    if (state_ == state::closed)
      return;
    state_ = state::closed;
    timer_.cancel();
    error_code ignored;
    stream_.next_layer().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.next_layer().close(ignored);
    // It holds this, too.
    std::exchange(user_, nullptr)->on_closed(why);
  }

 private:
  enum class state { opening, open, closed };

  [[nodiscard]] std::size_t queued() const {
    return waiting_.size() + writing_.size() - sent_;
  }

  void expect_by(milliseconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->state_ == state::opening)
        self->close("no connection in time");
    });
  }

  void shake(asio::ssl::stream_base::handshake_type side) {
    stream_.async_handshake(side, [self = shared_from_this()](error_code ec) {
      self->on_handshake(ec);
    });
  }

  void on_handshake(error_code ec) {
    if (state_ == state::closed)
      return;
    auto* ssl = stream_.native_handle();
    if (ec)
      return close("the TLS handshake failed: " + reason_of(ec));
    auto peer = verified_peer(ssl);
    if (peer.empty() || !speaks_relay(ssl))
      return close("the peer is none of this deployment");
    state_ = state::open;
    heard_ = moved_ = steady::now();
    auto user = user_;  // it may close this
    if (!user->on_open(peer))
      close("the peer's certificate has not the role it needs");
    if (state_ == state::closed)
      return;
    watch();
    read();
  }

  /// Looks now and then whether the peer still lives.
  void watch() {
    timer_.expires_after(limits_.idle / 4);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->state_ != state::open)
        return;
      auto now = steady::now();
      if (now - self->heard_ > self->limits_.idle)
        return self->close("the peer has gone silent");
      if (!self->writing_.empty() && now - self->moved_ > self->limits_.idle)
        return self->close("the peer takes nothing");
      self->watch();
    });
  }

  void read() {
    stream_.async_read_some(
        asio::buffer(incoming_),
        [self = shared_from_this()](error_code ec, std::size_t size) {
          self->on_read(ec, size);
        });
  }

  void on_read(error_code ec, std::size_t size) {
    if (state_ != state::open)
      return;
    if (ec)
      return close(ec == asio::error::eof ||
                           ec == asio::ssl::error::stream_truncated
                       ? "the peer closed the connection"
                       : reason_of(ec));
    auto user = user_;  // it may close this
    heard_ = steady::now();
    frames_.take(byte_view{incoming_}.first(size));
    while (true) {
      auto next = frames_.next();
      if (!next)
        return close(next.error().message);
      if (!next.value())
        return read();
      user->on_message(std::move(*next.value()));
      if (state_ != state::open)
        return;
    }
  }

  void write() {
    writing_ = std::exchange(waiting_, {});
    sent_ = 0;
    moved_ = steady::now();
    write_some();
  }

  void write_some() {
    stream_.async_write_some(
        asio::buffer(writing_) + sent_,
        [self = shared_from_this()](error_code ec, std::size_t size) {
          self->on_written(ec, size);
        });
  }

  void on_written(error_code ec, std::size_t size) {
    if (state_ != state::open)
      return;
    if (ec)
      return close(reason_of(ec));
    moved_ = steady::now();
    sent_ += size;
    if (sent_ < writing_.size())
      return write_some();
    writing_.clear();
    sent_ = 0;
    if (!waiting_.empty())
      write();
  }

  std::shared_ptr<asio::ssl::context> tls_;
  asio::ssl::stream<tcp::socket> stream_;
  asio::steady_timer timer_;
  const limits limits_;
  std::shared_ptr<user> user_;
  std::vector<tcp::endpoint> endpoints_;
  state state_ = state::opening;
  steady::time_point heard_;
  steady::time_point moved_;
  std::array<std::uint8_t, read_size> incoming_;
  relay::frame_reader frames_;
  std::string waiting_;
  std::string writing_;  // what is being sent, up to sent_ gone
  std::size_t sent_ = 0;
};

}  // namespace

std::shared_ptr<relay_link> accept_relay_link(
    tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
    relay_link::limits limits, std::shared_ptr<relay_link::user> user) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto out = std::make_shared<link>(std::move(socket), std::move(tls), limits,
                                    std::move(user));
  out->accept();
  return out;
}

std::shared_ptr<relay_link> open_relay_link(
    const asio::any_io_executor& on, std::vector<tcp::endpoint> to,
    std::shared_ptr<asio::ssl::context> tls, relay_link::limits limits,
    std::shared_ptr<relay_link::user> user) {
  auto out = std::make_shared<link>(tcp::socket{on}, std::move(tls), limits,
                                    std::move(user));
  out->dial(std::move(to));
  return out;
}

void speak_relay(asio::ssl::context& tls, bool server) {
  auto* raw = tls.native_handle();
  if (server)
    SSL_CTX_set_alpn_select_cb(raw, choose_relay, nullptr);
  else
    SSL_CTX_set_alpn_protos(raw, alpn.data(), alpn.size());
}

}  // namespace bc::gateway
