#include "gateway/http_client.hpp"

#include "gateway/reason.hpp"
#include "gateway/url.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace bc::gateway {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t max_answer = 16 * 1024 * 1024;

/// One exchange; every step is asynchronous so that one deadline covers all.
class exchange {
 public:
  exchange(const client_options& options, server_url to)
      : options_(options),
        to_(std::move(to)),
        deadline_(std::chrono::steady_clock::now() + options.timeout) {}

  result<client_response> run(const http::request<http::string_body>& request) {
    BC_TRY(addresses, resolve());
    if (!to_.tls) {
      beast::tcp_stream stream{io_};
      BC_TRYV(connect(stream, addresses));
      return ask(stream, request);
    }
    BC_TRYV(trust());
    beast::ssl_stream<beast::tcp_stream> stream{io_, tls_};
    BC_TRYV(connect(stream.next_layer(), addresses));
    BC_TRYV(handshake(stream));
    return ask(stream, request);
  }

 private:
  fault unreachable(const std::string& why) const {
    return fail(errc::unavailable, "cannot reach " + options_.url + ": " + why);
  }

  /// Runs until the step's handler set `ec`; false when time ran out. What is
  /// left in the io_context then is destroyed with it, never run.
  bool finish(const std::optional<error_code>& ec) {
    io_.restart();
    io_.run_until(deadline_);
    return ec.has_value();
  }

  result<std::vector<tcp::endpoint>> resolve() {
    error_code literal;
    auto address = asio::ip::make_address(to_.host, literal);
    if (!literal)
      return std::vector{tcp::endpoint{address, to_.port}};
    std::optional<error_code> done;
    std::vector<tcp::endpoint> found;
    resolver_.async_resolve(
        to_.host, std::to_string(to_.port),
        [&](error_code ec, const tcp::resolver::results_type& results) {
          done = ec;
          for (const auto& entry : results)
            found.push_back(entry.endpoint());
        });
    if (!finish(done))
      return unreachable("the name was not resolved in time");
    if (*done)
      return unreachable(reason_of(*done));
    return found;
  }

  result<void> connect(beast::tcp_stream& stream,
                       const std::vector<tcp::endpoint>& addresses) {
    std::optional<error_code> done;
    stream.async_connect(
        addresses, [&](error_code ec, const tcp::endpoint&) { done = ec; });
    if (!finish(done))
      return unreachable("no connection in time");
    if (*done)
      return unreachable(reason_of(*done));
    return ok();
  }

  result<void> trust() {
    auto* raw = tls_.native_handle();
    SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
    error_code ec;
    if (options_.ca_file.empty())
      tls_.set_default_verify_paths(ec);
    else
      tls_.load_verify_file(options_.ca_file, ec);
    if (ec)
      return fail(errc::invalid_input, "cannot read certificates from " +
                                           options_.ca_file + ": " +
                                           reason_of(ec));
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
    return ok();
  }

  result<void> handshake(beast::ssl_stream<beast::tcp_stream>& stream) {
    auto* ssl = stream.native_handle();
    auto* wanted = SSL_get0_param(ssl);
    bool literal = is_ip_literal(to_.host);
    bool set =
        literal ? X509_VERIFY_PARAM_set1_ip_asc(wanted, to_.host.c_str()) == 1
                : SSL_set1_host(ssl, to_.host.c_str()) == 1 &&
                      SSL_set_tlsext_host_name(ssl, to_.host.c_str()) == 1;
    if (!set)
      return fail(errc::invalid_input, "not a host name: " + to_.host);
    std::optional<error_code> done;
    stream.async_handshake(asio::ssl::stream_base::client,
                           [&](error_code ec) { done = ec; });
    if (!finish(done))
      return unreachable("no TLS handshake in time");
    auto verdict = SSL_get_verify_result(ssl);
    if (*done && verdict != X509_V_OK)
      return unreachable("its certificate is not trusted: " +
                         std::string{X509_verify_cert_error_string(verdict)});
    if (*done)
      return unreachable("the TLS handshake failed: " + reason_of(*done));
    return ok();
  }

  template <class Stream>
  result<client_response> ask(Stream& stream,
                              const http::request<http::string_body>& request) {
    std::optional<error_code> sent;
    http::async_write(stream, request,
                      [&](error_code ec, std::size_t) { sent = ec; });
    if (!finish(sent))
      return too_late();
    // A server that refuses a body answers before it read it all: read on even
    // when the rest could not be sent.
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(max_answer);
    parser.skip(request.method() == http::verb::head);
    std::optional<error_code> received;
    // The head on its own: reading all at once, Beast 1.74 forgets the limit
    // when the body's first bytes come together with the head.
    http::async_read_header(stream, buffer, parser,
                            [&](error_code ec, std::size_t) { received = ec; });
    if (!finish(received))
      return too_late();
    if (!*received) {
      received.reset();
      http::async_read(stream, buffer, parser,
                       [&](error_code ec, std::size_t) { received = ec; });
      if (!finish(received))
        return too_late();
    }
    if (*received == http::error::body_limit)
      return fail(errc::unavailable, "the answer of " + options_.url +
                                         " is larger than " +
                                         std::to_string(max_answer) + " bytes");
    if (*received == http::error::end_of_stream ||
        *received == asio::error::eof)
      return fail(errc::unavailable,
                  options_.url + " closed the connection without an answer");
    if (*received)
      return fail(errc::unavailable,
                  "the connection to " + options_.url +
                      " was lost: " + reason_of(*sent ? *sent : *received));
    client_response out;
    out.status = static_cast<int>(parser.get().result_int());
    out.body = std::move(parser.get().body());
    return out;
  }

  fault too_late() const {
    return fail(errc::unavailable,
                options_.url + " did not answer within " +
                    std::to_string(options_.timeout.count()) + " s");
  }

  const client_options& options_;
  server_url to_;
  std::chrono::steady_clock::time_point deadline_;
  asio::io_context io_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  tcp::resolver resolver_{io_};
};

result<http::request<http::string_body>> make_request(
    const server_url& to, const std::string& method, const std::string& path,
    const std::map<std::string, std::string>& headers,
    const std::string& body) {
  auto verb = http::string_to_verb(method);
  if (verb == http::verb::unknown || !path.starts_with('/') ||
      path.find_first_of(" \r\n") != std::string::npos)
    return fail(errc::invalid_input, "not a request: " + method + " " + path);
  http::request<http::string_body> out{verb, path, 11};
  bool usual = to.port == (to.tls ? 443 : 80);
  auto authority = authority_of(to.host, to.port);
  if (usual)
    authority.resize(authority.rfind(':'));
  out.set(http::field::host, authority);
  out.set(http::field::user_agent, "better-compute");
  out.set(http::field::connection, "close");
  if (!body.empty())
    out.set(http::field::content_type, "application/json");
  for (const auto& [name, value] : headers) {
    if ((name + value).find_first_of(std::string_view{"\r\n\0", 3}) !=
        std::string::npos)
      return fail(errc::invalid_input, "a line break in the header " + name);
    out.set(name, value);
  }
  out.body() = body;
  out.prepare_payload();
  return out;
}

}  // namespace

result<client_response> send_request(
    const client_options& options, const std::string& method,
    const std::string& path, const std::map<std::string, std::string>& headers,
    const std::string& body) {
  BC_TRY(to, parse_url(options.url));
  if (!to.tls && !is_loopback(to.host))
    return fail(
        errc::invalid_input,
        "plain http is for loopback addresses only; use https: " + options.url);
  BC_TRY(request, make_request(to, method, path, headers, body));
  // Asio reports by exception what it cannot set up (no memory, no descriptor).
  try {
    return exchange{options, to}.run(request);
  } catch (const std::exception& e) {
    return fail(errc::unavailable,
                "cannot reach " + options.url + ": " + e.what());
  }
}

}  // namespace bc::gateway
