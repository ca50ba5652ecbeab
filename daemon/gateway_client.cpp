// Asio 1.74 uses std::exchange without including it.
#include "daemon/gateway_client.hpp"

#include "base/wire.hpp"
#include "pki/chain.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <utility>

namespace bc::daemon {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

struct chain_judge {
  std::string host;
  std::string pin;
  std::vector<bytes> chain;
  pki::chain_fault verdict = pki::chain_fault::no_chain;
};

bytes der_of(X509* certificate) {
  unsigned char* der = nullptr;
  int size = i2d_X509(certificate, &der);
  if (size <= 0)
    return {};
  bytes out{der, der + size};
  OPENSSL_free(der);
  return out;
}

// Stands in for OpenSSL's own path building: trust comes from the pin alone,
// and the machine's clock and certificate stores have no say.
int judge_chain(X509_STORE_CTX* store, void* arg) {
  auto& judge = *static_cast<chain_judge*>(arg);
  judge.chain.clear();
  if (auto* presented = X509_STORE_CTX_get0_untrusted(store))
    for (int i = 0; i < sk_X509_num(presented); ++i)
      judge.chain.push_back(der_of(sk_X509_value(presented, i)));
  judge.verdict = pki::check_server_chain(judge.chain, judge.pin, judge.host);
  if (judge.verdict == pki::chain_fault::none)
    return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

bool is_ip_literal(const std::string& host) {
  error_code ec;
  asio::ip::make_address(host, ec);
  return !ec;
}

class session {
 public:
  session(const config& c, endpoint to) : to_(std::move(to)) {
    judge_.host = to_.host;
    judge_.pin = c.serving_ca_spki_pin;
    tls_.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_3_VERSION);
    SSL_CTX_set_cert_verify_callback(tls_.native_handle(), judge_chain,
                                     &judge_);
  }

  exchange post(std::string_view body) {
    beast::ssl_stream<beast::tcp_stream> stream{io_, tls_};
    exchange out;
    if (auto ec = connect(stream)) {
      out.why = "cannot connect to " + to_.host + ":" + to_.port + ": " +
                ec.message();
      return out;
    }
    if (auto ec = handshake(stream)) {
      bool judged =
          judge_.verdict != pki::chain_fault::none && !judge_.chain.empty();
      out.what =
          judged ? exchange::fate::untrusted : exchange::fate::unreachable;
      out.why = judged ? std::string{pki::chain_fault_text(judge_.verdict)}
                       : "the TLS handshake with " + to_.host + ":" + to_.port +
                             " failed: " + ec.message();
      return out;
    }
    out.chain = judge_.chain;
    if (auto ec = ask(stream, body, out)) {
      out.what = exchange::fate::lost;
      out.why = "the connection to the gateway was lost: " + ec.message();
      return out;
    }
    out.what = exchange::fate::answered;
    return out;
  }

 private:
  // Each step is asynchronous so that the stream's timeout covers it.
  void run() {
    io_.restart();
    io_.run();
  }

  error_code connect(beast::ssl_stream<beast::tcp_stream>& stream) {
    error_code result = asio::error::timed_out;
    tcp::resolver resolver{io_};
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
    if (result)
      return result;
    auto& socket = beast::get_lowest_layer(stream);
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

  error_code handshake(beast::ssl_stream<beast::tcp_stream>& stream) {
    if (!is_ip_literal(to_.host))
      SSL_set_tlsext_host_name(stream.native_handle(), to_.host.c_str());
    error_code result;
    beast::get_lowest_layer(stream).expires_after(connect_timeout);
    stream.async_handshake(asio::ssl::stream_base::client,
                           [&](error_code ec) { result = ec; });
    run();
    return result;
  }

  error_code ask(beast::ssl_stream<beast::tcp_stream>& stream,
                 std::string_view body, exchange& out) {
    http::request<http::string_body> request{http::verb::post, "/v1/join", 11};
    bool bracketed = to_.host.find(':') != std::string::npos;
    auto host = bracketed ? "[" + to_.host + "]" : to_.host;
    request.set(http::field::host,
                to_.port == "443" ? host : host + ":" + to_.port);
    request.set(http::field::user_agent, "bcd");
    request.set(http::field::content_type, "application/json");
    request.set(http::field::connection, "close");
    request.body() = std::string{body};
    request.prepare_payload();

    error_code result;
    auto& socket = beast::get_lowest_layer(stream);
    socket.expires_after(answer_timeout);
    http::async_write(stream, request,
                      [&](error_code ec, std::size_t) { result = ec; });
    run();
    if (result)
      return result;
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(wire::max_body);
    // The head on its own: reading all at once, Beast 1.74 forgets the limit
    // when the body's first bytes come together with the head.
    http::async_read_header(stream, buffer, parser,
                            [&](error_code ec, std::size_t) { result = ec; });
    run();
    if (result)
      return result;
    http::async_read(stream, buffer, parser,
                     [&](error_code ec, std::size_t) { result = ec; });
    run();
    if (result)
      return result;
    out.status = parser.get().result_int();
    out.body = std::move(parser.get().body());
    return {};
  }

  endpoint to_;
  chain_judge judge_;
  asio::io_context io_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
};

}  // namespace

exchange post_join(const config& c, std::string_view body) {
  auto to = parse_gateway_url(c.gateway_url);
  if (!to) {
    exchange out;
    out.why = to.error().message;
    return out;
  }
  // Asio reports by exception what it cannot set up (no memory, no descriptor).
  try {
    return session{c, to.value()}.post(body);
  } catch (const std::exception& e) {
    exchange out;
    out.what = exchange::fate::lost;
    out.why = e.what();
    return out;
  }
}

}  // namespace bc::daemon
