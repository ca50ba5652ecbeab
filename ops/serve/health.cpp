#include "ops/serve/health.hpp"

#include "base/json.hpp"
#include "pki/digest.hpp"

namespace bc::serve {

namespace {

// How far the read models may be behind before lists are of no use.
constexpr std::uint64_t most_projection_lag = 100'000;

gateway::http_response json_answer(int status, std::string body) {
  gateway::http_response out;
  out.status = status;
  out.body = std::move(body);
  out.headers["cache-control"] = "no-store";
  return out;
}

gateway::http_response error_answer(int status, errc code,
                                    std::string_view message) {
  auto id = pki::mint<request_id>(system_clock{}.now()).str();
  return json_answer(status, gateway::error_body(wire_text(code), message, id));
}

}  // namespace

// What is read after the head may be beyond it.
std::uint64_t events_behind(const health& h) {
  return h.head > h.projected ? h.head - h.projected : 0;
}

std::string not_ready_because(const health& h) {
  if (!h.store_problem.empty())
    return "store: " + h.store_problem;
  if (!h.fresh)
    return "store: it did not answer in time";
  if (!h.actors_answer)
    return "actors: they did not answer in time";
  if (auto lag = events_behind(h); lag > most_projection_lag)
    return "projections: " + std::to_string(lag) + " events behind";
  return {};
}

gateway::readiness readiness_of(const std::string& why_not) {
  gateway::readiness out;
  out.ready = why_not.empty();
  if (out.ready)
    return out;
  json::writer body;
  body.begin_object()
      .field("status", "unavailable")
      .field("reason", why_not)
      .end_object();
  out.body = body.str();
  return out;
}

gateway::http_handler make_probe_handler(
    std::function<gateway::readiness()> readyz,
    std::function<std::string()> metrics) {
  return [readyz = std::move(readyz), metrics = std::move(metrics)](
             const gateway::http_request& request,
             const gateway::respond& done) {
    const bool known = request.path == "/healthz" ||
                       request.path == "/readyz" || request.path == "/metrics";
    if (!known)
      return done(error_answer(404, errc::not_found, "no such path"));
    if (request.method != "GET" && request.method != "HEAD") {
      auto answer = error_answer(405, errc::invalid_input,
                                 "this path is served for GET, HEAD only");
      answer.headers["allow"] = "GET, HEAD";
      return done(std::move(answer));
    }
    if (request.path == "/healthz")
      return done(json_answer(200, R"({"status":"ok"})"));
    if (request.path == "/readyz") {
      auto r = readyz();
      return done(json_answer(r.ready ? 200 : 503, std::move(r.body)));
    }
    auto answer = json_answer(200, metrics());
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    done(std::move(answer));
  };
}

}  // namespace bc::serve
