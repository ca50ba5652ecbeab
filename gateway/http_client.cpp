#include "gateway/http_client.hpp"

#include "gateway/byte_stream.hpp"
#include "gateway/reason.hpp"
#include "gateway/url.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include <limits>
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
// Of an answer that stays open: read at once, and an error in its place.
constexpr std::size_t piece_size = 16 * 1024;
constexpr std::size_t max_error = 1024 * 1024;
constexpr int http_ok = 200;

/// One exchange; every step is asynchronous so that one deadline covers all.
class exchange {
 public:
  exchange(const client_options& options, server_url to)
      : options_(options),
        to_(std::move(to)),
        deadline_(std::chrono::steady_clock::now() + options.timeout) {}

  result<client_response> run(const http::request<http::string_body>& request) {
    BC_TRYV(open());
    return ask(*stream_, request);
  }

  result<client_response> follow(
      const http::request<http::string_body>& request,
      const std::function<bool(std::string_view)>& on_text) {
    BC_TRYV(open());
    return follow(*stream_, request, on_text);
  }

 private:
  result<void> open() {
    BC_TRY(addresses, resolve());
    if (to_.tls) {
      BC_TRYV(trust());
    }
    stream_.emplace(tcp::socket{io_}, to_.tls ? &tls_ : nullptr);
    BC_TRYV(connect(stream_->tcp_layer(), addresses));
    if (auto* tls = stream_->tls())
      return handshake(*tls);
    return ok();
  }

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
    // A small request behind the handshake would else wait 40 ms for the
    // server's delayed ACK.
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
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

  result<client_response> ask(byte_stream& stream,
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

  result<client_response> follow(
      byte_stream& stream, const http::request<http::string_body>& request,
      const std::function<bool(std::string_view)>& on_text) {
    std::optional<error_code> done;
    http::async_write(stream, request,
                      [&](error_code ec, std::size_t) { done = ec; });
    if (!finish(done))
      return too_late();
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    done.reset();
    http::async_read_header(stream, buffer, parser,
                            [&](error_code ec, std::size_t) { done = ec; });
    if (!finish(done))
      return too_late();
    if (*done)
      return lost(*done);
    client_response out;
    out.status = static_cast<int>(parser.get().result_int());
    std::vector<char> piece(piece_size);
    while (!parser.is_done()) {
      deadline_ = std::chrono::steady_clock::now() + options_.timeout;
      auto& body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      done.reset();
      http::async_read_some(stream, buffer, parser,
                            [&](error_code ec, std::size_t) { done = ec; });
      if (!finish(done))
        return too_late();
      if (*done && *done != http::error::need_buffer)
        return lost(*done);
      std::string_view text{piece.data(), piece.size() - body.size};
      if (out.status != http_ok)
        out.body.append(text.substr(0, max_error - out.body.size()));
      else if (!text.empty() && !on_text(text))
        break;
    }
    return out;
  }

  fault lost(const error_code& why) const {
    return fail(errc::unavailable, "the connection to " + options_.url +
                                       " was lost: " + reason_of(why));
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
  std::optional<byte_stream> stream_;
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

result<server_url> checked_url(const client_options& options) {
  BC_TRY(to, parse_url(options.url));
  if (!to.tls && !is_loopback(to.host))
    return fail(
        errc::invalid_input,
        "plain http is for loopback addresses only; use https: " + options.url);
  return to;
}

// Asio reports by exception what it cannot set up (no memory, no descriptor).
template <class Talk>
result<client_response> guarded(const client_options& options, Talk talk) {
  try {
    return talk();
  } catch (const std::exception& e) {
    return fail(errc::unavailable,
                "cannot reach " + options.url + ": " + e.what());
  }
}

}  // namespace

result<client_response> send_request(
    const client_options& options, const std::string& method,
    const std::string& path, const std::map<std::string, std::string>& headers,
    const std::string& body) {
  BC_TRY(to, checked_url(options));
  BC_TRY(request, make_request(to, method, path, headers, body));
  return guarded(options, [&] { return exchange{options, to}.run(request); });
}

result<client_response> read_stream(
    const client_options& options, const std::string& path,
    const std::map<std::string, std::string>& headers,
    const std::function<bool(std::string_view)>& on_text) {
  BC_TRY(to, checked_url(options));
  BC_TRY(request, make_request(to, "GET", path, headers, {}));
  return guarded(options, [&] {
    return exchange{options, to}.follow(request, on_text);
  });
}

}  // namespace bc::gateway
