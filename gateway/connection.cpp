#include "gateway/connection.hpp"

#include "gateway/response_text.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t first_read = 4 * 1024;
constexpr std::size_t max_header = 16 * 1024;
constexpr std::size_t max_buffer = 2 * max_header;
constexpr std::size_t max_drained = 1024 * 1024;
constexpr milliseconds linger{2'000};

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// A connection with or without TLS behind one type, so that Beast's parsing
/// is instantiated once.
class byte_stream {
 public:
  using executor_type = beast::tcp_stream::executor_type;

  byte_stream(tcp::socket socket, asio::ssl::context* tls) {
    if (tls != nullptr)
      tls_.emplace(std::move(socket), *tls);
    else
      plain_.emplace(std::move(socket));
  }

  executor_type get_executor() { return tcp_layer().get_executor(); }
  beast::tcp_stream& tcp_layer() { return tls_ ? tls_->next_layer() : *plain_; }
  beast::ssl_stream<beast::tcp_stream>* tls() {
    return tls_ ? &*tls_ : nullptr;
  }

  template <class Buffers, class Handler>
  auto async_read_some(const Buffers& to, Handler&& handler) {
    return asio::async_initiate<Handler, void(error_code, std::size_t)>(
        [this](auto done, const Buffers& into) {
          if (tls_)
            tls_->async_read_some(into, std::move(done));
          else
            plain_->async_read_some(into, std::move(done));
        },
        handler, to);
  }

  template <class Buffers, class Handler>
  auto async_write_some(const Buffers& from, Handler&& handler) {
    return asio::async_initiate<Handler, void(error_code, std::size_t)>(
        [this](auto done, const Buffers& out) {
          if (tls_)
            tls_->async_write_some(out, std::move(done));
          else
            plain_->async_write_some(out, std::move(done));
        },
        handler, from);
  }

 private:
  std::optional<beast::tcp_stream> plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
};

/// One connection; everything but `respond` runs on its strand.
class session final : public connection,
                      public std::enable_shared_from_this<session> {
 public:
  session(std::shared_ptr<shared_state> shared, tcp::socket socket)
      : shared_(std::move(shared)),
        stream_(std::move(socket), shared_->tls ? &*shared_->tls : nullptr),
        timer_(stream_.get_executor()) {}

  ~session() override {
    std::lock_guard lock{shared_->mutex};
    shared_->connections.erase(this);
    shared_->changed.notify_all();
  }

  void start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] {
      if (auto* tls = self->stream_.tls())
        self->handshake(*tls);
      else
        self->await_request();
    });
  }

  void stop(bool gently) override {
    asio::post(stream_.get_executor(), [self = shared_from_this(), gently] {
      if (!gently || self->phase_ == phase::reading)
        self->close();
    });
  }

 private:
  enum class phase { reading, answering, writing, ending, closed };

  void handshake(beast::ssl_stream<beast::tcp_stream>& tls) {
    if (shared_->stopping)
      return close();
    expire_after(shared_->options.read_timeout);
    tls.async_handshake(asio::ssl::stream_base::server,
                        [self = shared_from_this()](error_code ec) {
                          if (ec)
                            self->close();
                          else
                            self->await_request();
                        });
  }

  /// The wait for the next request has a limit of its own, so that one sent
  /// late gets its whole time.
  void await_request() {
    if (shared_->stopping)
      return close();
    phase_ = phase::reading;
    if (buffer_.size() > 0)
      return read_request();
    expire_after(shared_->options.read_timeout);
    stream_.async_read_some(
        buffer_.prepare(first_read),
        [self = shared_from_this()](error_code ec, std::size_t size) {
          self->buffer_.commit(size);
          if (ec == asio::error::eof)
            self->finish();
          else if (ec)
            self->close();
          else
            self->read_request();
        });
  }

  void read_request() {
    request_ = {};
    parser_.emplace();
    parser_->header_limit(max_header);
    parser_->body_limit(shared_->options.max_body);
    // Once for header and body: a slow client gains nothing by a byte.
    expire_after(shared_->options.read_timeout);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code ec, std::size_t) {
          self->on_header(ec);
        });
  }

  void on_header(error_code ec) {
    if (ec)
      return on_unreadable(ec);
    const auto& header = parser_->get();
    if (is_ambiguous(header))
      return refuse(400, "the length of the request body is ambiguous");
    auto method = header.method();
    if (method != http::verb::get && method != http::verb::head &&
        method != http::verb::post)
      return refuse(405, "only GET, HEAD and POST are served");
    if (!take_header(header))
      return refuse(400, "the request target is not a path");
    bool waits = header.version() == 11 && !parser_->is_done() &&
                 beast::iequals(header[http::field::expect], "100-continue");
    if (!waits)
      return read_body();
    out_ = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(out_),
                      [self = shared_from_this()](error_code ec, std::size_t) {
                        if (ec)
                          self->close();
                        else
                          self->read_body();
                      });
  }

  /// Two servers may read such a message as two different ones (CASES 138).
  static bool is_ambiguous(const http::request_header<>& header) {
    auto lengths = header.count(http::field::content_length);
    auto encodings = header.count(http::field::transfer_encoding);
    if (lengths > 1 || encodings > 1 || lengths + encodings > 1)
      return true;
    if (header[http::field::content_length].find(',') !=
        beast::string_view::npos)
      return true;
    return encodings == 1 &&
           (header.version() != 11 ||
            !beast::iequals(header[http::field::transfer_encoding], "chunked"));
  }

  /// Copied before the body, so that a trailer cannot pass for a header.
  bool take_header(const http::request_header<>& header) {
    auto target = header.target().to_string();
    if (target.empty() || target[0] != '/')
      return false;
    auto mark = target.find('?');
    request_.method = header.method_string().to_string();
    request_.path = target.substr(0, mark);
    if (mark != std::string::npos)
      request_.query = target.substr(mark + 1);
    for (const auto& field : header) {
      auto name = field.name_string().to_string();
      for (char& c : name)
        c = to_lower(c);
      request_.headers.emplace(std::move(name), field.value().to_string());
    }
    return true;
  }

  void read_body() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code ec, std::size_t) {
                       if (ec)
                         self->on_unreadable(ec);
                       else
                         self->ask();
                     });
  }

  void on_unreadable(error_code ec) {
    if (ec == http::error::end_of_stream)
      return finish();
    if (ec == http::error::body_limit)
      return refuse(413, "the request body is larger than " +
                             std::to_string(shared_->options.max_body) +
                             " bytes");
    if (ec == http::error::header_limit)
      return refuse(431, "the request header is larger than " +
                             std::to_string(max_header) + " bytes");
    if (ec == http::error::partial_message ||
        ec.category() != error_code{http::error::bad_method}.category())
      return close();
    refuse(400, "not a well-formed HTTP/1.1 request");
  }

  void ask() {
    request_.body = std::move(parser_->get().body());
    phase_ = phase::answering;
    stream_.tcp_layer().expires_never();
    timer_.expires_after(shared_->options.answer_timeout);
    timer_.async_wait(
        [self = shared_from_this(), round = round_](error_code ec) {
          if (!ec && self->phase_ == phase::answering && self->round_ == round)
            self->refuse(503, "no answer in time; retry");
        });
    shared_->handler(std::move(request_), answer_once());
  }

  /// Weak: an answer that never comes must not keep the connection.
  respond answer_once() {
    struct once {
      std::weak_ptr<session> to;
      std::uint64_t round;
      std::atomic<bool> used{false};
    };
    auto state = std::make_shared<once>();
    state->to = weak_from_this();
    state->round = round_;
    return [state](http_response response) {
      if (state->used.exchange(true))
        return;
      auto self = state->to.lock();
      if (!self)
        return;
      // The io_context must outlive this call when `self` is the last owner;
      // what is posted must not own it, or an answer after the end would leak.
      auto shared = self->shared_;
      asio::post(self->stream_.get_executor(),
                 [to = state->to, round = state->round,
                  answer = std::move(response)]() mutable {
                   if (auto target = to.lock())
                     target->deliver(round, std::move(answer));
                 });
      self.reset();
    };
  }

  void deliver(std::uint64_t round, http_response response) {
    if (phase_ == phase::answering && round_ == round)
      write(response, parser_->keep_alive() && parser_->get().version() == 11);
  }

  void refuse(int status, const std::string& message) {
    write(refusal(shared_->options, status, message), false);
  }

  void write(const http_response& response, bool keep) {
    timer_.cancel();
    ++round_;
    phase_ = phase::writing;
    keep = keep && !shared_->stopping;
    bool head = parser_->get().method() == http::verb::head;
    out_ = response_text(response, head, !keep);
    expire_after(shared_->options.read_timeout);
    asio::async_write(
        stream_, asio::buffer(out_),
        [self = shared_from_this(), keep](error_code ec, std::size_t) {
          self->out_.clear();
          if (ec)
            self->close();
          else if (keep)
            self->await_request();
          else
            self->finish();
        });
  }

  /// Says goodbye so that the last answer arrives: closing a socket with unread
  /// bytes resets it, and the client might lose what it was sent.
  void finish() {
    if (phase_ == phase::closed)
      return;
    phase_ = phase::ending;
    expire_after(linger);
    auto* tls = stream_.tls();
    if (tls == nullptr)
      return half_close();
    tls->async_shutdown(
        [self = shared_from_this()](error_code) { self->half_close(); });
  }

  void half_close() {
    error_code ec;
    stream_.tcp_layer().socket().shutdown(tcp::socket::shutdown_send, ec);
    if (ec)
      return close();
    buffer_.clear();
    drain();
  }

  void drain() {
    stream_.tcp_layer().async_read_some(
        buffer_.prepare(max_header),
        [self = shared_from_this()](error_code ec, std::size_t size) {
          self->drained_ += size;
          if (ec || self->drained_ > max_drained)
            self->close();
          else
            self->drain();
        });
  }

  void close() {
    phase_ = phase::closed;
    timer_.cancel();
    stream_.tcp_layer().close();
  }

  void expire_after(milliseconds limit) {
    stream_.tcp_layer().expires_after(limit);
  }

  std::shared_ptr<shared_state> shared_;  // first: destroyed last
  byte_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{max_buffer};
  std::optional<http::request_parser<http::string_body>> parser_;
  http_request request_;
  std::string out_;
  phase phase_ = phase::reading;
  std::uint64_t round_ = 0;
  std::size_t drained_ = 0;
};

}  // namespace

void serve_connection(const std::shared_ptr<shared_state>& shared,
                      tcp::socket socket) {
  {
    std::lock_guard lock{shared->mutex};
    if (shared->connections.size() >= shared->options.max_connections)
      return;
  }
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto one = std::make_shared<session>(shared, std::move(socket));
  {
    std::lock_guard lock{shared->mutex};
    shared->connections.emplace(one.get(), one);
  }
  one->start();
}

}  // namespace bc::gateway
