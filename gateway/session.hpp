#pragma once

#include "gateway/byte_stream.hpp"
#include "gateway/connection.hpp"
#include "gateway/stream_queue.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>
#include <string>

namespace bc::gateway {

inline constexpr std::size_t max_header = 16 * 1024;

/// One connection; everything but `respond` runs on its strand. Included by
/// gateway/*.cpp alone: connection.cpp reads, session_answer.cpp writes,
/// web_socket.cpp takes over.
class session final : public connection,
                      public std::enable_shared_from_this<session> {
 public:
  session(std::shared_ptr<shared_state> shared,
          boost::asio::ip::tcp::socket socket, std::string address,
          std::string peer);
  ~session() override;
  void start();
  void stop(bool gently) override;

 private:
  using error_code = boost::system::error_code;
  enum class phase {
    reading,
    answering,
    writing,
    streaming,
    ending,
    closed,
    handed_over,  // to a WebSocket: the stream is no longer here
  };
  class rest_of_answer;

  void handshake(byte_stream::tls_stream& tls);
  void await_request();
  void read_request();
  void on_header(error_code ec);
  void read_body();
  void on_unreadable(error_code ec);
  void ask();
  respond answer_once();
  [[nodiscard]] bool is_for_web_socket() const;
  void upgrade();

  void deliver(std::uint64_t round, http_response response);
  void refuse(int status, const std::string& message);
  void write(const http_response& response, bool keep);
  void start_stream(http_response response);
  void flush();
  void write_stream(std::size_t sent);
  void finish();
  void half_close();
  template <class Stream>
  void drain(Stream& from);
  void close();
  void expire_after(milliseconds limit) {
    stream_.tcp_layer().expires_after(limit);
  }

  /// Runs `f` on the session's strand, if there is still a session; any thread.
  template <class F>
  static void tell(const std::weak_ptr<session>& to, F f) {
    auto self = to.lock();
    if (!self)
      return;
    // The io_context must outlive this call when `self` is the last owner;
    // what is posted must not own it, or an answer after the end would leak.
    auto shared = self->shared_;
    boost::asio::post(self->strand_, [to, f = std::move(f)]() mutable {
      if (auto target = to.lock())
        f(*target);
    });
    self.reset();
  }

  std::shared_ptr<shared_state> shared_;  // first: destroyed last
  const std::string address_;             // of the peer
  const std::string peer_;                // who it counts as
  std::string certificate_;
  byte_stream stream_;
  const byte_stream::executor_type strand_;
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_{2 * max_header};
  std::optional<
      boost::beast::http::request_parser<boost::beast::http::string_body>>
      parser_;
  http_request request_;
  std::string out_;
  phase phase_ = phase::reading;
  std::uint64_t round_ = 0;
  std::size_t drained_ = 0;
  std::shared_ptr<stream_queue> queue_;  // set once the answer is a stream
  bool chunked_ = false;
  bool last_chunk_ = false;
};

}  // namespace bc::gateway
