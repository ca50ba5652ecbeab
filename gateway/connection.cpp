#include "gateway/connection.hpp"

#include "gateway/rate_limit.hpp"
#include "gateway/request_head.hpp"
#include "gateway/session.hpp"
#include "gateway/tls_context.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

namespace bc::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t first_read = 4 * 1024;

std::string_view to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

// A connection keeps by itself what it was opened with.
std::shared_ptr<asio::ssl::context> tls_of(shared_state& all) {
  std::lock_guard lock{all.mutex};
  return all.tls;
}

}  // namespace

session::session(std::shared_ptr<shared_state> shared, tcp::socket socket,
                 std::string address, std::string peer)
    : shared_(std::move(shared)),
      address_(std::move(address)),
      peer_(std::move(peer)),
      stream_(std::move(socket), tls_of(*shared_).get()),
      strand_(stream_.get_executor()),
      timer_(strand_) {}

session::~session() {
  std::lock_guard lock{shared_->mutex};
  shared_->connections.erase(this);
  shared_->peers.leave(peer_);
  shared_->changed.notify_all();
}

void session::start() {
  asio::dispatch(strand_, [self = shared_from_this()] {
    if (auto* tls = self->stream_.tls())
      self->handshake(*tls);
    else
      self->await_request();
  });
}

void session::stop(bool gently) {
  asio::post(strand_, [self = shared_from_this(), gently] {
    if (self->phase_ == phase::handed_over)
      return;
    if (!gently || self->phase_ == phase::reading)
      self->close();
    else if (self->phase_ == phase::streaming && self->queue_->end())
      self->flush();
  });
}

void session::handshake(byte_stream::tls_stream& tls) {
  if (shared_->stopping)
    return close();
  expire_after(shared_->options.read_timeout);
  tls.async_handshake(asio::ssl::stream_base::server,
                      [self = shared_from_this(), &tls](error_code ec) {
                        if (ec)
                          return self->close();
                        self->certificate_ = verified_peer(tls.native_handle());
                        self->await_request();
                      });
}

// The wait for the next request has a limit of its own, so that one sent
// late gets its whole time.
void session::await_request() {
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

void session::read_request() {
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

void session::on_header(error_code ec) {
  if (ec)
    return on_unreadable(ec);
  request_head head;
  head.version = parser_->get().version();
  head.method = to_std(parser_->get().method_string());
  head.target = to_std(parser_->get().target());
  for (const auto& field : parser_->get())
    head.lines.push_back({to_std(field.name_string()), to_std(field.value())});
  // Copied before the body, so that a trailer cannot pass for a header.
  if (auto bad = take_head(head, request_))
    return refuse(bad->status, bad->message);
  bool waits = !parser_->is_done() && waits_for_continue(head);
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

void session::read_body() {
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](error_code ec, std::size_t) {
                     if (ec)
                       self->on_unreadable(ec);
                     else
                       self->ask();
                   });
}

void session::on_unreadable(error_code ec) {
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

void session::ask() {
  if (is_for_web_socket())
    return upgrade();
  request_.body = std::move(parser_->get().body());
  request_.peer_address = address_;
  request_.client_certificate = certificate_;
  phase_ = phase::answering;
  stream_.tcp_layer().expires_never();
  timer_.expires_after(shared_->options.answer_timeout);
  timer_.async_wait([self = shared_from_this(), round = round_](error_code ec) {
    if (!ec && self->phase_ == phase::answering && self->round_ == round)
      self->refuse(503, "no answer in time; retry");
  });
  shared_->handler(std::move(request_), answer_once());
}

// Weak: an answer that never comes must not keep the connection.
respond session::answer_once() {
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
    tell(state->to,
         [round = state->round, answer = std::move(response)](
             session& to) mutable { to.deliver(round, std::move(answer)); });
  };
}

void serve_connection(const std::shared_ptr<shared_state>& shared,
                      tcp::socket socket) {
  error_code ec;
  auto address = socket.remote_endpoint(ec).address().to_string();
  if (ec)
    return;
  auto peer = peer_key(address);
  {
    std::lock_guard lock{shared->mutex};
    if (shared->connections.size() - shared->web_sockets >=
            shared->options.max_connections ||
        !shared->peers.enter(peer, shared->options.max_connections_per_peer))
      return;
  }
  socket.set_option(tcp::no_delay(true), ec);
  // From here on the session's end is the peer's leaving.
  auto one = std::make_shared<session>(shared, std::move(socket),
                                       std::move(address), std::move(peer));
  {
    std::lock_guard lock{shared->mutex};
    shared->connections.emplace(one.get(), one);
  }
  one->start();
}

}  // namespace bc::gateway
