#include "gateway/routes.hpp"

#include "base/http_date.hpp"
#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/wire_boot_lease.hpp"
#include "gateway/asyncapi.hpp"
#include "gateway/openapi.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <utility>

namespace bc::gateway {

namespace {

constexpr std::string_view well_known_path = "/.well-known/better-compute";
constexpr std::string_view stream_path = "/events/stream";
constexpr std::string_view asyncapi_path = "/asyncapi.json";
constexpr std::string_view openapi_path = "/openapi.json";
constexpr std::string_view schemas_path = "/schemas/events/";
constexpr std::string_view downloads_path = "/downloads/bcd/";
constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

std::string new_request_id() {
  return pki::mint<request_id>(system_clock{}.now()).str();
}

/// One request being answered: its id, and how every answer to it looks.
class answer {
 public:
  answer(std::string id, respond done)
      : id_(std::move(id)), done_(std::move(done)) {}

  [[nodiscard]] const std::string& id() const { return id_; }

  void give(int status, std::string body) const {
    http_response out;
    out.status = status;
    out.body = std::move(body);
    if (status == 405)
      out.headers["allow"] = allow_;
    give(std::move(out));
  }

  void give(http_response out) const {
    out.headers["x-request-id"] = id_;
    // Answers may hold a token that is shown once.
    out.headers.emplace("cache-control", "no-store");
    done_(std::move(out));
  }

  void not_found() const {
    give(http_status(errc::not_found),
         error_body(wire_text(errc::not_found), "no such path", id_));
  }

  void wrong_method(std::string allow) {
    allow_ = std::move(allow);
    give(405, error_body(wire_text(errc::invalid_input),
                         "this path is served for " + allow_ + " only", id_));
  }

 private:
  std::string id_;
  respond done_;
  std::string allow_;
};

bool reads(const http_request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
  });
}

/// /{group}/{method}: two words, exactly; nothing is decoded.
std::optional<std::pair<std::string, std::string>> split_call(
    std::string_view path) {
  if (!path.starts_with('/'))
    return std::nullopt;
  path.remove_prefix(1);
  auto slash = path.find('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  auto group = path.substr(0, slash);
  auto method = path.substr(slash + 1);
  if (!is_word(group) || !is_word(method))
    return std::nullopt;
  return std::pair{std::string{group}, std::string{method}};
}

void give_document(const http_request& request, answer to,
                   const std::string& document) {
  if (reads(request))
    to.give(200, document);
  else
    to.wrong_method("GET, HEAD");
}

void give_health(const http_request& request, answer to) {
  give_document(request, std::move(to), R"({"status":"ok"})");
}

// The date (RFC 9110 section 6.6.1) tells a machine whose clock is off the
// time, over the connection whose pin it checked (`bcd doctor`).
void give_dated_health(const http_request& request, answer to) {
  if (!reads(request))
    return to.wrong_method("GET, HEAD");
  http_response out;
  out.body = R"({"status":"ok"})";
  out.headers["date"] = http_date(system_clock{}.now());
  to.give(std::move(out));
}

void give_readiness(const http_request& request, answer to,
                    const std::function<readiness()>& readyz) {
  if (!reads(request))
    return to.wrong_method("GET, HEAD");
  auto now = readyz ? readyz() : readiness{};
  to.give(now.ready ? 200 : http_status(errc::unavailable),
          std::move(now.body));
}

void give_metrics(const http_request& request, answer to,
                  const std::function<std::string()>& metrics) {
  if (!metrics)
    return to.not_found();
  if (!reads(request))
    return to.wrong_method("GET, HEAD");
  http_response out;
  out.content_type = metrics_type;
  out.body = metrics();
  to.give(std::move(out));
}

void give_schema(const http_request& request, answer to,
                 std::string_view file) {
  auto text = event_schema(file);
  if (text.empty())
    return to.not_found();
  give_document(request, std::move(to), std::string{text});
}

void give_program(const http_request& request, answer to,
                  const std::shared_ptr<downloads>& programs,
                  std::string_view name) {
  auto wanted = parse_download(name);
  if (!wanted || !programs)
    return to.not_found();
  if (!reads(request))
    return to.wrong_method("GET, HEAD");
  programs->open(
      std::move(*wanted), [to = std::move(to)](result<http_response> found) {
        if (found)
          return to.give(std::move(found).value());
        const auto& why = found.error();
        to.give(http_status(why.code),
                error_body(wire_text(why.code), why.message, to.id()));
      });
}

void give_revoked(const http_request& request, answer to,
                  const find_revocation_list& find,
                  std::string_view authority) {
  if (!find)
    return to.not_found();
  if (!reads(request))
    return to.wrong_method("GET, HEAD");
  auto list = find(authority);
  if (list)
    return to.give(revocation_list_answer(request, *list.value()));
  const auto& why = list.error();
  to.give(http_status(why.code),
          error_body(wire_text(why.code), why.message, to.id()));
}

std::string header(const http_request& request, const char* name) {
  auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string{} : found->second;
}

void forward(actors::api_port& api, http_request request, answer to,
             std::pair<std::string, std::string> name) {
  // To the API an empty one is none.
  if (request.headers.count("x-min-position") > 0 &&
      header(request, "x-min-position").empty())
    return to.give(http_status(errc::invalid_input),
                   error_body(wire_text(errc::invalid_input),
                              "x-min-position is not a position", to.id()));
  actors::api_call call;
  call.group = std::move(name.first);
  call.method = std::move(name.second);
  call.authorization = header(request, "authorization");
  call.min_position = header(request, "x-min-position");
  call.body = std::move(request.body);
  call.request_id = to.id();
  api.call(std::move(call), [to = std::move(to)](actors::api_reply reply) {
    to.give(reply.status, std::move(reply.body));
  });
}

/// The API listener's paths.
class api_routes {
 public:
  api_routes(actors::api_port& api, const well_known& document,
             api_extras extras)
      : api_(api),
        well_known_(well_known_document(document)),
        asyncapi_(asyncapi_document(document.version)),
        openapi_(openapi_document(document.version)),
        extras_(std::move(extras)) {
    if (!extras_.events)
      extras_.events = event_feed::start();
  }

  void take(http_request request, respond done) const {
    answer to{new_request_id(), std::move(done)};
    if (request.path == "/healthz")
      return give_health(request, std::move(to));
    if (request.path == "/readyz")
      return give_readiness(request, std::move(to), extras_.readyz);
    if (request.path == "/metrics")
      return give_metrics(request, std::move(to), extras_.metrics);
    if (!request.path.starts_with(base_path))
      return to.not_found();
    // The path moves with the request below.
    auto under = request.path.substr(base_path.size());
    take_under_base(std::move(request), std::move(to), under);
  }

 private:
  void take_under_base(http_request request, answer to,
                       std::string_view path) const {
    if (path == well_known_path)
      return give_document(request, std::move(to), well_known_);
    if (path == asyncapi_path)
      return give_document(request, std::move(to), asyncapi_);
    if (path == openapi_path)
      return give_document(request, std::move(to), openapi_);
    if (path == stream_path)
      return stream(request, std::move(to));
    if (path.starts_with(schemas_path))
      return give_schema(request, std::move(to),
                         path.substr(schemas_path.size()));
    if (path.starts_with(downloads_path))
      return give_program(request, std::move(to), extras_.programs,
                          path.substr(downloads_path.size()));
    if (const auto authority = parse_revocation_list(path))
      return give_revoked(request, std::move(to), extras_.revoked, *authority);
    auto call = split_call(path);
    if (!call)
      return to.not_found();
    if (request.method != "POST")
      return to.wrong_method("POST");
    forward(api_, std::move(request), std::move(to), std::move(*call));
  }

  void stream(const http_request& request, answer to) const {
    if (request.method != "GET")
      return to.wrong_method("GET");
    auto id = to.id();
    extras_.events->open(
        api_, request, std::move(id),
        [to = std::move(to)](http_response out) { to.give(std::move(out)); });
  }

  actors::api_port& api_;
  std::string well_known_;
  std::string asyncapi_;
  std::string openapi_;
  api_extras extras_;
};

/// What is asked of the daemons' listener by a POST to this path.
std::optional<actors::daemon_request> daemon_request_at(std::string_view path) {
  if (path == "/v1/join")
    return actors::daemon_request::join;
  if (path == "/v1/renew")
    return actors::daemon_request::renew;
  if (path == "/v1/join-challenge")
    return actors::daemon_request::join_challenge;
  if (path == "/v1/boot-lease")
    return actors::daemon_request::boot_lease;
  return std::nullopt;
}

}  // namespace

std::string error_body(std::string_view code, std::string_view message,
                       std::string_view request_id) {
  json::writer out;
  out.begin_object().key("error").begin_object();
  out.field("code", code)
      .field("message", message)
      .field("requestId", request_id);
  out.end_object().end_object();
  return out.str();
}

std::string api_methods(std::string_view path) {
  constexpr const char* reading = "GET, HEAD";
  if (path == "/healthz" || path == "/readyz" || path == "/metrics")
    return reading;
  if (!path.starts_with(base_path))
    return {};
  path.remove_prefix(base_path.size());
  if (path == stream_path)
    return "GET";
  if (path == well_known_path || path == asyncapi_path ||
      path == openapi_path || path.starts_with(schemas_path) ||
      path.starts_with(downloads_path) || parse_revocation_list(path))
    return reading;
  return split_call(path) ? "POST" : "";
}

std::string daemon_methods(std::string_view path) {
  if (path == "/healthz" || path == "/readyz")
    return "GET, HEAD";
  if (path == "/v1/session")
    return "GET";
  return daemon_request_at(path) ? "POST" : "";
}

http_handler make_api_handler(actors::api_port& api, well_known document,
                              api_extras extras) {
  auto routes =
      std::make_shared<const api_routes>(api, document, std::move(extras));
  return [routes](http_request request, respond done) {
    routes->take(std::move(request), std::move(done));
  };
}

http_handler make_daemon_handler(actors::daemon_port& daemons,
                                 daemon_extras extras) {
  return [&daemons, extras = std::move(extras)](http_request request,
                                                respond done) {
    answer to{new_request_id(), std::move(done)};
    if (request.path == "/healthz")
      return give_dated_health(request, std::move(to));
    if (request.path == "/readyz")
      return give_readiness(request, std::move(to), extras.readyz);
    const auto what = daemon_request_at(request.path);
    if (!what)
      return to.not_found();
    if (request.method != "POST")
      return to.wrong_method("POST");
    // A site agent is known by its certificate alone.
    if (*what == actors::daemon_request::boot_lease &&
        request.client_certificate.empty())
      return to.give(http_status(errc::access_denied),
                     error_body(wire_text(errc::access_denied),
                                wire::boot_lease_refused_message, to.id()));
    auto id = to.id();
    daemons.call({std::move(request.body), std::move(id),
                  std::move(request.client_certificate), *what},
                 [to = std::move(to)](actors::daemon_reply reply) {
                   to.give(reply.status, std::move(reply.body));
                 });
  };
}

}  // namespace bc::gateway
