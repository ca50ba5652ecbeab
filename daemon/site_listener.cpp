#include "daemon/site_listener.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <utility>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr seconds listen_again{10};
constexpr milliseconds accept_again{100};

// Where a connection comes from, an IPv4 address as itself.
void note_peer(const asio::ip::address& peer, vouch_question& to) {
  const bool v4 = peer.is_v4() || peer.to_v6().is_v4_mapped();
  auto six = peer.is_v4()
                 ? asio::ip::make_address_v6(asio::ip::v4_mapped, peer.to_v4())
                 : peer.to_v6();
  auto octets = six.to_bytes();
  std::copy(octets.begin(), octets.end(), to.from.begin());
  to.ip = v4 ? asio::ip::make_address_v4(asio::ip::v4_mapped, six).to_string()
             : six.to_string();
}

}  // namespace

struct vouch_listener::parts {
  parts(const endpoint& at, answerer how,
        std::function<void(const std::string&)> to)
      : where(at),
        answer(std::move(how)),
        say(std::move(to)),
        acceptor(io),
        timer(io) {}

  void run();
  void listen();
  void accept();
  vouch_answer answer_to(const vouch_question& question) const;
  void later(milliseconds wait, void (parts::*what)());
  [[nodiscard]] std::string name() const {
    auto host = where.host.find(':') == std::string::npos
                    ? where.host
                    : "[" + where.host + "]";
    return host + ":" + std::to_string(port.load());
  }

  const endpoint where;
  const answerer answer;
  const std::function<void(const std::string&)> say;
  std::atomic<std::uint16_t> port{0};
  // Of the thread that runs `io`, likewise the next two.
  std::size_t connections = 0;
  std::map<address_limit::address, std::size_t> of_one;
  std::string told;  // why it does not listen
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{
      io.get_executor()};
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  asio::thread_pool desk{1};
  std::thread thread;
};

namespace {

// One connection: a request, an answer, the end.
template <class Parts>
class conversation : public std::enable_shared_from_this<conversation<Parts>> {
 public:
  conversation(Parts& all, tcp::socket socket)
      : all_(all), stream_(std::move(socket)) {
    ++all_.connections;
    error_code ec;
    auto peer = stream_.socket().remote_endpoint(ec);
    if (!ec)
      note_peer(peer.address(), question_);
    counted_as_ = address_limit::counted_as(question_.from);
    ++all_.of_one[counted_as_];
    parser_.body_limit(max_vouch_request);
    parser_.header_limit(vouch_listener::max_header);
  }
  ~conversation() {
    --all_.connections;
    auto mine = all_.of_one.find(counted_as_);
    if (--mine->second == 0)
      all_.of_one.erase(mine);
  }
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  void begin() {
    if (question_.ip.empty() ||
        all_.of_one[counted_as_] > vouch_listener::most_of_one)
      return;
    stream_.expires_after(vouch_listener::patience);
    // The head on its own: reading all at once, Beast 1.74 forgets the limit
    // when the body's first bytes come together with the head.
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = this->shared_from_this()](error_code e, std::size_t) {
          self->headed(e);
        });
  }

 private:
  void headed(error_code ec) {
    if (ec)
      return failed(ec);
    http::async_read(stream_, buffer_, parser_,
                     [self = this->shared_from_this()](
                         error_code e, std::size_t) { self->read(e); });
  }

  void read(error_code ec) {
    if (ec)
      return failed(ec);
    auto& request = parser_.get();
    question_.method = std::string{request.method_string()};
    question_.path = std::string{request.target()};
    question_.body = std::move(request.body());
    stream_.expires_never();
    asio::post(all_.desk, [self = this->shared_from_this()]() mutable {
      auto answer = self->all_.answer_to(self->question_);
      auto& io = self->all_.io;
      // The last reference goes with it: what is counted is counted there.
      asio::post(io, [self = std::move(self), answer = std::move(answer)] {
        self->write(answer);
      });
    });
  }

  // What is no HTTP, or too much of it, is told so; who is slow or gone, not.
  void failed(error_code ec) {
    if (ec == beast::error::timeout || ec == http::error::end_of_stream ||
        ec.category() != make_error_code(http::error::bad_method).category())
      return;
    write(vouch_refused{vouch_denial::malformed,
                        "not a request of at most 4 KiB in HTTP"});
  }

  void write(const vouch_answer& answer) {
    response_.version(11);
    response_.result(static_cast<unsigned>(status_of(answer)));
    response_.set(http::field::content_type, "application/json");
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(false);
    response_.body() = encode(answer);
    response_.prepare_payload();
    stream_.expires_after(vouch_listener::patience);
    http::async_write(
        stream_, response_,
        [self = this->shared_from_this()](error_code, std::size_t) {
          error_code ignored;
          self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        });
  }

  Parts& all_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{vouch_listener::max_header + max_vouch_request};
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> response_;
  vouch_question question_;
  address_limit::address counted_as_{};
};

}  // namespace

// Asio reports by exception what it cannot set up (no memory, no descriptor).
// The connection that it was about is over; what may be missing is the next
// accept, and so it listens anew.
void vouch_listener::parts::run() {
  for (bool again = false;; again = true)
    try {
      if (again)
        later(accept_again, &parts::listen);
      io.run();
      return;
    } catch (const std::exception& e) {
      say("gives no vouches: " + std::string{e.what()} + "; trying again");
      std::this_thread::sleep_for(accept_again);
    }
}

vouch_answer vouch_listener::parts::answer_to(
    const vouch_question& question) const {
  try {
    return answer(question);
  } catch (const std::exception& e) {
    say("cannot vouch: " + std::string{e.what()});
    return vouch_refused{vouch_denial::busy, "the agent cannot answer now"};
  }
}

void vouch_listener::parts::later(milliseconds wait, void (parts::*what)()) {
  timer.expires_after(wait);
  timer.async_wait([this, what](error_code ec) {
    if (!ec)
      (this->*what)();
  });
}

// The address may come later: an agent starts with the machine.
void vouch_listener::parts::listen() {
  error_code ec;
  auto address = asio::ip::make_address(where.host, ec);
  tcp::endpoint at{address, static_cast<std::uint16_t>(std::stoi(where.port))};
  error_code ignored;
  acceptor.close(ignored);
  if (!ec)
    acceptor.open(at.protocol(), ec);
  if (!ec)
    acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec)
    acceptor.bind(at, ec);
  if (!ec)
    acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    if (std::exchange(told, ec.message()) != ec.message())
      say("cannot listen for ramdisks at " + where.host + ":" + where.port +
          ": " + ec.message() + "; trying again");
    return later(listen_again, &parts::listen);
  }
  port = acceptor.local_endpoint(ignored).port();
  say("gives vouches at http://" + name());
  accept();
}

void vouch_listener::parts::accept() {
  acceptor.async_accept([this](error_code ec, tcp::socket socket) {
    if (ec == asio::error::operation_aborted)
      return;
    // No descriptors left, or the like.
    if (ec)
      return later(accept_again, &parts::accept);
    // Over the limit it is closed as it comes.
    if (connections < most_connections)
      std::make_shared<conversation<parts>>(*this, std::move(socket))->begin();
    accept();
  });
}

vouch_listener::vouch_listener(const endpoint& at, answerer answer,
                               std::function<void(const std::string&)> say)
    : parts_(std::make_unique<parts>(at, std::move(answer), std::move(say))) {
  parts_->listen();
  parts_->thread = std::thread{[p = parts_.get()] { p->run(); }};
}

vouch_listener::~vouch_listener() {
  // First, so that of the requests that wait for it none is taken up.
  parts_->desk.stop();
  parts_->io.stop();
  parts_->thread.join();
  parts_->desk.join();
}

std::uint16_t vouch_listener::port() const noexcept {
  return parts_->port;
}

}  // namespace bc::daemon
