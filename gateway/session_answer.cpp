#include "gateway/response_text.hpp"
#include "gateway/session.hpp"

#include <boost/asio/write.hpp>

namespace bc::gateway {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t max_drained = 1024 * 1024;
constexpr milliseconds linger{2'000};

}  // namespace

/// Where a handler writes the rest of an answer.
class session::rest_of_answer final : public response_stream {
 public:
  rest_of_answer(std::weak_ptr<session> to, std::shared_ptr<stream_queue> queue)
      : to_(std::move(to)), queue_(std::move(queue)) {}
  ~rest_of_answer() override { end(); }

  bool write(std::string text) override {
    auto how = queue_->push(std::move(text));
    if (how != stream_queue::pushed::waits)
      tell(to_, [](session& s) { s.flush(); });
    return how != stream_queue::pushed::refused;
  }

  void end() override {
    if (queue_->end())
      tell(to_, [](session& s) { s.flush(); });
  }

  std::optional<std::size_t> unsent() const override {
    return queue_->unsent();
  }

 private:
  std::weak_ptr<session> to_;
  std::shared_ptr<stream_queue> queue_;
};

void session::deliver(std::uint64_t round, http_response response) {
  if (phase_ != phase::answering || round_ != round)
    return;
  if (response.stream && parser_->get().method() != http::verb::head)
    start_stream(std::move(response));
  else
    write(response, parser_->keep_alive() && parser_->get().version() == 11);
}

void session::refuse(int status, const std::string& message) {
  const auto& options = shared_->options;
  if (status != 405 || !options.allow)
    return write(refusal(options, status, message), false);
  auto methods = options.allow(request_.path);
  if (methods.empty())
    return write(refusal(options, 404, "no such path"), false);
  auto answer =
      refusal(options, 405, "this path is served for " + methods + " only");
  answer.headers["allow"] = std::move(methods);
  write(answer, false);
}

void session::write(const http_response& response, bool keep) {
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

void session::start_stream(http_response response) {
  timer_.cancel();
  ++round_;
  phase_ = phase::streaming;
  chunked_ = parser_->get().version() == 11 && !response.stream_length;
  queue_ = std::make_shared<stream_queue>();
  auto handle = std::make_shared<rest_of_answer>(weak_from_this(), queue_);
  if (shared_->stopping)
    (void)queue_->end();
  // Reading tells when the client goes; what it says is not heard.
  stream_.tcp_layer().expires_never();
  drain(stream_);
  out_ = stream_head(response, chunked_);
  if (!response.body.empty())
    out_ += chunk_text(response.body, chunked_);
  write_stream(0);
  response.stream(std::move(handle));
}

void session::flush() {
  if (phase_ != phase::streaming || !out_.empty())
    return;
  auto next = queue_->take();
  if (next.cut)
    return close();
  if (!next.text.empty())
    out_ = chunk_text(next.text, chunked_);
  else if (next.ended && chunked_ && !last_chunk_)
    out_ = last_chunk;
  else if (next.ended)
    return finish();
  else
    return;
  last_chunk_ = next.text.empty();
  write_stream(0);
}

// A deadline for each step: who reads a little goes on.
void session::write_stream(std::size_t sent) {
  expire_after(shared_->options.read_timeout);
  stream_.async_write_some(
      asio::buffer(out_) + sent,
      [self = shared_from_this(), sent](error_code ec, std::size_t size) {
        if (ec)
          return self->close();
        if (sent + size < self->out_.size())
          return self->write_stream(sent + size);
        self->out_.clear();
        self->flush();
      });
}

// Reads what is of no interest, until the client goes.
template <class Stream>
void session::drain(Stream& from) {
  buffer_.clear();
  from.async_read_some(
      buffer_.prepare(max_header),
      [self = shared_from_this(), &from](error_code ec, std::size_t size) {
        self->drained_ += size;
        if (ec || self->drained_ > max_drained)
          self->close();
        else
          self->drain(from);
      });
}

// Says goodbye so that the last answer arrives: closing a socket with unread
// bytes resets it, and the client might lose what it was sent.
void session::finish() {
  if (phase_ == phase::closed)
    return;
  phase_ = phase::ending;
  expire_after(linger);
  // A stream's reading goes on, without a deadline of its own.
  timer_.expires_after(linger);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec)
      self->close();
  });
  auto* tls = stream_.tls();
  if (tls == nullptr)
    return half_close();
  tls->async_shutdown(
      [self = shared_from_this()](error_code) { self->half_close(); });
}

void session::half_close() {
  error_code ec;
  stream_.tcp_layer().socket().shutdown(tcp::socket::shutdown_send, ec);
  if (ec)
    return close();
  if (!queue_)
    drain(stream_.tcp_layer());
}

void session::close() {
  phase_ = phase::closed;
  timer_.cancel();
  if (queue_)
    queue_->cut();
  stream_.tcp_layer().close();
}

}  // namespace bc::gateway
