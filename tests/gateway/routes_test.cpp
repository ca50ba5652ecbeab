// Which path is whose, what reaches the actors, and how every answer looks.

#include "gateway/routes.hpp"

#include "base/http_date.hpp"
#include "base/ids.hpp"
#include "base/json.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;

namespace {

class fake_api final : public actors::api_port {
 public:
  void call(actors::api_call call,
            std::function<void(actors::api_reply)> done) override {
    calls.push_back(std::move(call));
    done({409, R"({"error":{"code":"CONFLICT"}})"});
  }
  std::vector<actors::api_call> calls;
};

class fake_joins final : public actors::daemon_port {
 public:
  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    calls.push_back(std::move(call));
    done({202, R"({"protocol":1})"});
  }
  std::vector<actors::daemon_call> calls;
};

http_response ask(const http_handler& handler, const std::string& method,
                  const std::string& path, const std::string& body = {},
                  std::map<std::string, std::string> headers = {}) {
  std::vector<http_response> answers;
  handler({method, path, "", std::move(headers), body, "", ""},
          [&](http_response r) { answers.push_back(std::move(r)); });
  REQUIRE(answers.size() == 1);
  CHECK(request_id::parse(answers[0].headers.at("x-request-id")));
  CHECK(answers[0].headers.at("cache-control") == "no-store");
  CHECK(answers[0].content_type == "application/json");
  return answers[0];
}

void check_error(const http_response& answer, int status,
                 std::string_view code) {
  CHECK(answer.status == status);
  auto doc = json::parse_object(answer.body);
  REQUIRE(doc);
  auto error = json::reader{doc.value()}.object("error");
  REQUIRE(error);
  CHECK(error.value().text("code").value() == code);
  CHECK(!error.value().text("message").value().empty());
  CHECK(error.value().text("requestId").value() ==
        answer.headers.at("x-request-id"));
}

}  // namespace

TEST_CASE(
    "routes: an API call reaches the port whole and its answer comes "
    "back as it is") {
  fake_api api;
  auto handler = make_api_handler(api, {});
  auto answer = ask(handler, "POST", "/api/compute/joinTokens/create", "{\"a\"",
                    {{"authorization", "Bearer x"}, {"x-min-position", "7"}});
  CHECK(answer.status == 409);
  CHECK(answer.body == R"({"error":{"code":"CONFLICT"}})");
  REQUIRE(api.calls.size() == 1);
  const auto& call = api.calls[0];
  CHECK(call.group == "joinTokens");
  CHECK(call.method == "create");
  CHECK(call.body == "{\"a\"");
  CHECK(call.authorization == "Bearer x");
  CHECK(call.min_position == "7");
  CHECK(call.request_id == answer.headers.at("x-request-id"));

  auto second = ask(handler, "POST", "/api/compute/nodes/list");
  CHECK(api.calls.at(1).authorization.empty());
  CHECK(api.calls.at(1).min_position.empty());
  CHECK(second.headers.at("x-request-id") != answer.headers.at("x-request-id"));
}

TEST_CASE("routes: an empty x-min-position is no position") {
  fake_api api;
  auto handler = make_api_handler(api, {});
  check_error(ask(handler, "POST", "/api/compute/nodes/list", "{}",
                  {{"x-min-position", ""}}),
              400, "INVALID_INPUT");
  CHECK(api.calls.empty());
}

TEST_CASE("routes: a request id is ours, whatever the caller sends") {
  fake_api api;
  auto handler = make_api_handler(api, {});
  auto answer = ask(handler, "POST", "/api/compute/nodes/list", "",
                    {{"x-request-id", "theirs"}});
  CHECK(answer.headers.at("x-request-id") != "theirs");
}

TEST_CASE("routes: other paths of the API are NOT_FOUND and reach nobody") {
  fake_api api;
  auto handler = make_api_handler(api, {});
  auto path = GENERATE(
      as<std::string>{}, "/", "/api", "/api/compute", "/api/compute/",
      "/api/compute/nodes", "/api/compute/nodes/", "/api/compute//list",
      "/api/compute/nodes/list/", "/api/compute/nodes/list/x",
      "/api/compute/../nodes/list", "/api/compute/./nodes",
      "/api/compute/no%64es/list", "/api/computenodes/list",
      "/API/compute/nodes/list", "//api/compute/nodes/list",
      "/api/compute/nodes/li-st", "/v1/join", "/healthz/",
      "/api/compute/.well-known/other", "/.well-known/better-compute",
      "/metrics", "/asyncapi.json", "/openapi.json",
      "/api/compute/schemas/events/", "/api/compute/schemas/events/.json",
      "/api/compute/schemas/events/node.joined",
      "/api/compute/schemas/events/pki.initialized.json",
      "/api/compute/schemas/events/../api/events.list.json",
      "/api/compute/schemas/api/events.list.json");
  auto method = GENERATE(as<std::string>{}, "GET", "HEAD", "POST");
  CAPTURE(path, method);
  check_error(ask(handler, method, path), 404, "NOT_FOUND");
  CHECK(api.calls.empty());
}

TEST_CASE("routes: the documents are read without a credential") {
  fake_api api;
  well_known w;
  w.version = "1.2.3";
  auto handler = make_api_handler(api, w);
  auto name = GENERATE(as<std::string>{}, "openapi", "asyncapi");
  auto answer = ask(handler, "GET", "/api/compute/" + name + ".json");
  CHECK(answer.status == 200);
  auto doc = json::parse_object(answer.body);
  REQUIRE(doc);
  CHECK(doc.value().HasMember(name.c_str()));
  CHECK(json::reader{doc.value()}
            .object("info")
            .value()
            .text("version")
            .value() == "1.2.3");
  CHECK(api.calls.empty());
}

TEST_CASE("routes: what a path is served for is what its handler serves") {
  fake_api api;
  fake_joins joins;
  auto at_api = make_api_handler(api, {});
  auto at_daemons = make_daemon_handler(joins);
  // A method that no handler serves: 405 names those that it does.
  auto check = [](const http_handler& handler, const std::string& path,
                  const std::string& methods) {
    INFO(path);
    auto answer = ask(handler, "PUT", path);
    CHECK(answer.status == (methods.empty() ? 404 : 405));
    if (!methods.empty())
      CHECK(answer.headers.at("allow") == methods);
  };
  for (const std::string path :
       {"/healthz", "/readyz", "/api/compute/.well-known/better-compute",
        "/api/compute/asyncapi.json", "/api/compute/openapi.json",
        "/api/compute/events/stream",
        "/api/compute/schemas/events/node.joined.json",
        "/api/compute/nodes/list", "/api/compute/nodes", "/api/compute", "/",
        "/api/computenodes/list", "/v1/join", "/api/compute/nodes/list/x"})
    check(at_api, path, api_methods(path));
  for (const std::string path :
       {"/healthz", "/readyz", "/v1/join", "/v1/renew", "/v1/join-challenge",
        "/v1/boot-lease", "/v1", "/metrics", "/", "/api/compute/nodes/list"})
    check(at_daemons, path, daemon_methods(path));
  CHECK(api_methods("/metrics") == "GET, HEAD");
  CHECK(daemon_methods("/v1/session") == "GET");
  CHECK(api.calls.empty());
}

TEST_CASE("routes: a daemon's path says what is asked") {
  fake_joins joins;
  auto at_daemons = make_daemon_handler(joins);
  CHECK(ask(at_daemons, "POST", "/v1/join").status == 202);
  CHECK(ask(at_daemons, "POST", "/v1/renew").status == 202);
  CHECK(ask(at_daemons, "POST", "/v1/join-challenge").status == 202);
  REQUIRE(joins.calls.size() == 3);
  CHECK(joins.calls[0].what == actors::daemon_request::join);
  CHECK(joins.calls[1].what == actors::daemon_request::renew);
  CHECK(joins.calls[2].what == actors::daemon_request::join_challenge);
  CHECK_FALSE(joins.calls[1].correlation.empty());
  for (const auto* path : {"/v1/renew/", "/v1/renewal", "/V1/renew",
                           "/v1/join-challenge/", "/v1/challenge"})
    CHECK(ask(at_daemons, "POST", path).status == 404);
  CHECK(joins.calls.size() == 3);
}

TEST_CASE("routes: a known path with another method is 405") {
  fake_api api;
  fake_joins joins;
  auto at_api = make_api_handler(api, {});
  auto at_daemons = make_daemon_handler(joins);
  auto check = [](const http_response& answer, std::string_view allow) {
    check_error(answer, 405, "INVALID_INPUT");
    CHECK(answer.headers.at("allow") == allow);
  };
  check(ask(at_api, "GET", "/api/compute/nodes/list"), "POST");
  check(ask(at_api, "HEAD", "/api/compute/nodes/list"), "POST");
  check(ask(at_api, "POST", "/healthz"), "GET, HEAD");
  check(ask(at_api, "POST", "/api/compute/.well-known/better-compute"),
        "GET, HEAD");
  check(ask(at_api, "POST", "/readyz"), "GET, HEAD");
  check(ask(at_api, "POST", "/api/compute/asyncapi.json"), "GET, HEAD");
  check(ask(at_api, "POST", "/api/compute/openapi.json"), "GET, HEAD");
  check(ask(at_api, "POST", "/api/compute/schemas/events/node.joined.json"),
        "GET, HEAD");
  check(ask(at_api, "POST", "/api/compute/events/stream"), "GET");
  check(ask(at_api, "HEAD", "/api/compute/events/stream"), "GET");
  check(ask(at_daemons, "GET", "/v1/join"), "POST");
  check(ask(at_daemons, "GET", "/v1/renew"), "POST");
  check(ask(at_daemons, "POST", "/healthz"), "GET, HEAD");
  CHECK(api.calls.empty());
  CHECK(joins.calls.empty());
}

TEST_CASE("routes: health and the well-known document") {
  fake_api api;
  fake_joins joins;
  well_known document;
  document.version = "1.2.3";
  auto at_api = make_api_handler(api, document);
  for (const auto* method : {"GET", "HEAD"}) {
    auto health = ask(at_api, method, "/healthz");
    CHECK(health.status == 200);
    CHECK(health.body == R"({"status":"ok"})");
    auto dated = ask(make_daemon_handler(joins), method, "/healthz");
    CHECK(dated.status == 200);
    // What a machine with a wrong clock learns the time from.
    CHECK(from_http_date(dated.headers["date"]).has_value());
    auto known = ask(at_api, method, "/api/compute/.well-known/better-compute");
    CHECK(known.status == 200);
    CHECK(known.body == well_known_document(document));
  }
}

TEST_CASE("routes: readiness and metrics are what the server says they are") {
  fake_api api;
  fake_joins joins;
  CHECK(ask(make_api_handler(api, {}), "GET", "/readyz").status == 200);
  CHECK(ask(make_daemon_handler(joins), "GET", "/readyz").status == 200);
  bool ready = true;
  auto readyz = [&] {
    return ready ? readiness{} : readiness{false, R"({"status":"no journal"})"};
  };
  api_extras extras;
  extras.readyz = readyz;
  extras.metrics = [] { return std::string{"a 1\n"}; };
  auto at_api = make_api_handler(api, {}, extras);
  auto at_daemons = make_daemon_handler(joins, {readyz});
  for (bool now : {true, false}) {
    ready = now;
    for (const auto& handler : {at_api, at_daemons}) {
      auto answer = ask(handler, "GET", "/readyz");
      CHECK(answer.status == (now ? 200 : 503));
      CHECK(answer.body == readyz().body);
      // Alive all the same.
      CHECK(ask(handler, "GET", "/healthz").status == 200);
    }
  }
  std::optional<http_response> metrics;
  at_api({"GET", "/metrics", "", {}, "", "", ""},
         [&](http_response r) { metrics = std::move(r); });
  REQUIRE(metrics);
  CHECK(metrics->status == 200);
  CHECK(metrics->body == "a 1\n");
  CHECK(metrics->content_type.starts_with("text/plain; version=0.0.4"));
}

TEST_CASE("routes: the event stream is the API's events.list, refusals too") {
  fake_api api;
  auto answer =
      ask(make_api_handler(api, {}), "GET", "/api/compute/events/stream");
  CHECK(answer.status == 409);
  REQUIRE(api.calls.size() == 1);
  CHECK(api.calls[0].group == "events");
  CHECK(api.calls[0].request_id == answer.headers.at("x-request-id"));
}

TEST_CASE("routes: a client certificate that was verified reaches the joins") {
  fake_joins joins;
  auto handler = make_daemon_handler(joins);
  http_request request;
  request.method = "POST";
  request.path = "/v1/join";
  request.client_certificate = "der";
  handler(request, [](const http_response&) {});
  ask(handler, "POST", "/v1/join");
  CHECK(joins.calls.at(0).client_certificate == "der");
  CHECK(joins.calls.at(1).client_certificate.empty());
}

TEST_CASE("routes: a boot lease is asked for with a client certificate alone") {
  fake_joins joins;
  auto handler = make_daemon_handler(joins);
  auto refused = ask(handler, "POST", "/v1/boot-lease", "body");
  check_error(refused, 403, "ACCESS_DENIED");
  CHECK(refused.body.find("Boot lease refused") != std::string::npos);
  CHECK(joins.calls.empty());
  http_request request;
  request.method = "POST";
  request.path = "/v1/boot-lease";
  request.body = "body";
  request.client_certificate = "der";
  handler(request, [](const http_response&) {});
  REQUIRE(joins.calls.size() == 1);
  CHECK(joins.calls[0].what == actors::daemon_request::boot_lease);
  CHECK(joins.calls[0].client_certificate == "der");
  CHECK(joins.calls[0].body == "body");
}

TEST_CASE("routes: a join reaches the join port with the request id") {
  fake_joins joins;
  auto handler = make_daemon_handler(joins);
  auto answer = ask(handler, "POST", "/v1/join", "body");
  CHECK(answer.status == 202);
  CHECK(answer.body == R"({"protocol":1})");
  REQUIRE(joins.calls.size() == 1);
  CHECK(joins.calls[0].body == "body");
  CHECK(joins.calls[0].correlation == answer.headers.at("x-request-id"));
}

TEST_CASE("routes: other paths of the daemons' listener are NOT_FOUND") {
  fake_joins joins;
  auto handler = make_daemon_handler(joins);
  auto path = GENERATE(as<std::string>{}, "/", "/v1", "/v1/join/", "/v1/joins",
                       "/v2/join", "/v1/renewals", "//v1/join", "/v1//join",
                       "/api/compute/nodes/list",
                       "/api/compute/.well-known/better-compute");
  CAPTURE(path);
  check_error(ask(handler, "POST", path), 404, "NOT_FOUND");
  CHECK(joins.calls.empty());
}

TEST_CASE("routes: an error's text is escaped") {
  CHECK(error_body("NOT_FOUND", "a \"quoted\"\nline", "req_1") ==
        R"({"error":{"code":"NOT_FOUND","message":"a \"quoted\"\nline",)"
        R"("requestId":"req_1"}})");
}
