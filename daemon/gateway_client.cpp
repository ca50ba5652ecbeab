// Asio 1.74 uses std::exchange without including it.
#include "daemon/gateway_client.hpp"

#include "base/wire.hpp"
#include "daemon/gateway_tls.hpp"
#include "daemon/trusted_pins.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <array>
#include <utility>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;
using tls_stream = beast::ssl_stream<beast::tcp_stream>;
using http_request = http::request<http::string_body>;

bool is_ip_literal(const std::string& host) {
  error_code ec;
  asio::ip::make_address(host, ec);
  return !ec;
}

// A stop closes the socket under whatever step is being waited for.
class stop_watch {
 public:
  stop_watch(const std::stop_token& stop, asio::io_context& io,
             beast::tcp_stream& socket, tcp::resolver*& resolver)
      : watch_(stop, closer{&io, &socket, &resolver}) {}

 private:
  struct closer {
    asio::io_context* io;
    beast::tcp_stream* socket;
    tcp::resolver** resolver;
    void operator()() const {
      asio::post(*io, [*this] {
        if (*resolver != nullptr)
          (*resolver)->cancel();
        socket->close();
      });
    }
  };
  std::stop_callback<closer> watch_;
};

// One connection, one request. Each step is asynchronous so that the stream's
// timeout and a stop cover it.
class call {
 public:
  call(endpoint to, std::stop_token stop)
      : to_(std::move(to)), stop_(std::move(stop)) {}

  exchange pinned(std::vector<std::string> pins, const node_identity* me,
                  http_request request) {
    pinned_tls tls{to_.host, std::move(pins)};
    exchange out;
    if (me != nullptr)
      if (auto ec = tls.present(*me)) {
        out.why = "the node's certificate cannot be used: " + ec.message();
        return out;
      }
    secured(tls.context(), std::move(request), out);
    if (out.what == exchange::fate::untrusted) {
      if (!tls.chain_failed().empty())
        out.why = std::string{tls.chain_failed()};
      else
        out.what = exchange::fate::unreachable;
      if (auto why = tls.key_failed(); !why.empty())
        out.why = std::move(why);
      return out;
    }
    out.chain = tls.chain();
    return out;
  }

  exchange by_roots(const std::filesystem::path& ca_file,
                    http_request request) {
    asio::ssl::context tls{asio::ssl::context::tls_client};
    exchange out;
    tls.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
    tls.set_verify_callback(asio::ssl::host_name_verification(to_.host));
    trust_roots(tls);
    if (!ca_file.empty()) {
      error_code ec;
      tls.load_verify_file(ca_file.string(), ec);
      if (ec) {
        out.what = exchange::fate::untrusted;
        out.why = "cannot read the CA file " + ca_file.string();
        return out;
      }
    }
    secured(tls, std::move(request), out);
    return out;
  }

  exchange plain(http_request request) {
    beast::tcp_stream stream{io_};
    exchange out;
    stop_watch guard{stop_, io_, stream, resolver_};
    if (!connected(stream, out))
      return out;
    carry(stream, stream, std::move(request), out);
    return out;
  }

 private:
  void run() {
    io_.restart();
    io_.run();
  }

  bool connected(beast::tcp_stream& socket, exchange& out) {
    auto ec = connect(socket);
    if (ec)
      out.why = "cannot connect to " + to_.host + ":" + to_.port + ": " +
                ec.message();
    return !ec;
  }

  // `untrusted` when the handshake failed: the caller knows why.
  void secured(asio::ssl::context& tls, http_request request, exchange& out) {
    tls_stream stream{io_, tls};
    auto& socket = beast::get_lowest_layer(stream);
    stop_watch guard{stop_, io_, socket, resolver_};
    if (!connected(socket, out))
      return;
    if (auto ec = handshake(stream)) {
      out.what = exchange::fate::untrusted;
      out.why = "the TLS handshake with " + to_.host + ":" + to_.port +
                " failed: " + ec.message();
      if (ec.category() != asio::error::get_ssl_category())
        out.what = exchange::fate::unreachable;
      return;
    }
    carry(stream, socket, std::move(request), out);
  }

  template <class Stream>
  void carry(Stream& stream, beast::tcp_stream& socket, http_request request,
             exchange& out) {
    auto ec = ask(stream, socket, std::move(request), out);
    out.what = ec ? exchange::fate::lost : exchange::fate::answered;
    if (!ec)
      return;
    out.certificate_rejected = is_about_our_certificate(ec);
    out.why =
        out.certificate_rejected
            ? "the gateway did not take the node's certificate: " + ec.message()
            : "the connection to the gateway was lost: " + ec.message();
  }

  error_code connect(beast::tcp_stream& socket) {
    if (stop_.stop_requested())
      return asio::error::operation_aborted;
    error_code result = asio::error::timed_out;
    tcp::resolver resolver{io_};
    resolver_ = &resolver;
    tcp::resolver::results_type addresses;
    asio::steady_timer limit{io_, connect_timeout};
    limit.async_wait([&](error_code ec) {
      if (!ec)
        resolver.cancel();
    });
    resolver.async_resolve(to_.host, to_.port,
                           [&](error_code ec, const auto& found) {
                             limit.cancel();
                             result = ec;
                             addresses = found;
                           });
    run();
    resolver_ = nullptr;
    if (result || stop_.stop_requested())
      return result ? result : asio::error::operation_aborted;
    socket.expires_after(connect_timeout);
    socket.async_connect(addresses,
                         [&](error_code ec, const auto&) { result = ec; });
    run();
    // The request follows the handshake at once, not 40 ms later with the
    // gateway's delayed ACK.
    error_code ignored;
    if (!result)
      socket.socket().set_option(tcp::no_delay(true), ignored);
    return result;
  }

  error_code handshake(tls_stream& stream) {
    if (!is_ip_literal(to_.host))
      SSL_set_tlsext_host_name(stream.native_handle(), to_.host.c_str());
    error_code result;
    beast::get_lowest_layer(stream).expires_after(connect_timeout);
    stream.async_handshake(asio::ssl::stream_base::client,
                           [&](error_code ec) { result = ec; });
    run();
    return result;
  }

  template <class Stream>
  error_code ask(Stream& stream, beast::tcp_stream& socket,
                 http_request request, exchange& out) {
    bool bracketed = to_.host.find(':') != std::string::npos;
    auto host = bracketed ? "[" + to_.host + "]" : to_.host;
    request.set(http::field::host,
                to_.port == "443" ? host : host + ":" + to_.port);
    request.set(http::field::user_agent, "bcd");
    request.set(http::field::connection, "close");
    request.prepare_payload();

    error_code sent;
    socket.expires_after(answer_timeout);
    http::async_write(stream, request,
                      [&](error_code ec, std::size_t) { sent = ec; });
    run();
    error_code result;
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(wire::max_body);
    // The head on its own: reading all at once, Beast 1.74 forgets the limit
    // when the body's first bytes come together with the head. Also after a
    // write that failed: what is there to read may say why.
    http::async_read_header(stream, buffer, parser,
                            [&](error_code ec, std::size_t) { result = ec; });
    run();
    if (result && sent && !is_about_our_certificate(result))
      return sent;
    if (result)
      return result;
    http::async_read(stream, buffer, parser,
                     [&](error_code ec, std::size_t) { result = ec; });
    run();
    if (result)
      return result;
    out.status = parser.get().result_int();
    out.date = std::string{parser.get()[http::field::date]};
    out.body = std::move(parser.get().body());
    return {};
  }

  // Debian's OpenSSL knows one place; elsewhere the roots are in another.
  static void trust_roots(asio::ssl::context& tls) {
    constexpr std::array files = {"/etc/ssl/certs/ca-certificates.crt",
                                  "/etc/pki/tls/certs/ca-bundle.crt",
                                  "/etc/ssl/ca-bundle.pem",
                                  "/etc/ssl/cert.pem"};
    error_code ec;
    tls.set_default_verify_paths(ec);
    for (const auto* file : files)
      if (!tls.load_verify_file(file, ec))
        return;
  }

  endpoint to_;
  std::stop_token stop_;
  asio::io_context io_;
  tcp::resolver* resolver_ = nullptr;
};

http_request request_of(http::verb method, std::string_view path,
                        std::string_view body) {
  http_request out{method, beast::string_view{path.data(), path.size()}, 11};
  if (method == http::verb::post)
    out.set(http::field::content_type, "application/json");
  out.body() = std::string{body};
  return out;
}

// Asio reports by exception what it cannot set up (no memory, no descriptor).
template <class Work>
exchange guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    exchange out;
    out.what = exchange::fate::lost;
    out.why = e.what();
    return out;
  }
}

exchange to_gateway(const config& c, http_request request,
                    const node_identity* me, std::stop_token stop) {
  auto to = parse_gateway_url(c.gateway_url);
  if (!to) {
    exchange out;
    out.why = to.error().message;
    return out;
  }
  return guarded([&] {
    return call{to.value(), std::move(stop)}.pinned(serving_ca_pins(c), me,
                                                    std::move(request));
  });
}

// http://127.0.0.1[:PORT] or http://[::1][:PORT]: what stays on the machine.
std::optional<endpoint> parse_plain_loopback(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme))
    return std::nullopt;
  auto to =
      parse_gateway_url("https://" + std::string{url.substr(scheme.size())});
  if (!to)
    return std::nullopt;
  auto out = to.value();
  if (out.host != "127.0.0.1" && out.host != "::1" && out.host != "localhost")
    return std::nullopt;
  if (url.find(':', scheme.size()) == std::string_view::npos)
    out.port = "80";
  return out;
}

}  // namespace

exchange post_join(const config& c, std::string_view body) {
  return post_to_gateway(c, "/v1/join", body, nullptr);
}

exchange post_to_gateway(const config& c, std::string_view path,
                         std::string_view body, const node_identity* me,
                         std::stop_token stop) {
  return to_gateway(c, request_of(http::verb::post, path, body), me,
                    std::move(stop));
}

exchange get_from_gateway(const config& c, std::string_view path,
                          const node_identity* me, std::stop_token stop) {
  return to_gateway(c, request_of(http::verb::get, path, {}), me,
                    std::move(stop));
}

exchange post_in_clear(const endpoint& to, std::string_view path,
                       std::string_view body, std::stop_token stop) {
  return guarded([&] {
    return call{to, std::move(stop)}.plain(
        request_of(http::verb::post, path, body));
  });
}

exchange fetch_document(const document_source& from, std::string_view path) {
  auto request = request_of(http::verb::get, path, {});
  if (from.plain_on_loopback)
    if (auto to = parse_plain_loopback(from.url))
      return guarded([&] { return call{*to, {}}.plain(std::move(request)); });
  auto to = parse_gateway_url(from.url);
  if (!to) {
    exchange out;
    out.what = exchange::fate::untrusted;
    out.why = "the URL must be https://HOST or https://HOST:PORT";
    return out;
  }
  return guarded([&] {
    return call{to.value(), {}}.by_roots(from.ca_file, std::move(request));
  });
}

}  // namespace bc::daemon
