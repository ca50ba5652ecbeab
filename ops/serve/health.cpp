#include "ops/serve/health.hpp"

#include "base/json.hpp"
#include "ops/version.hpp"
#include "pki/digest.hpp"

#include <array>

namespace bc::serve {

namespace {

// How far the read models may be behind before lists are of no use.
constexpr std::uint64_t most_projection_lag = 100'000;

struct outcome {
  int status;
  std::string_view name;
};
constexpr std::array<outcome, 6> outcomes = {{{200, "admitted"},
                                              {202, "deferred"},
                                              {400, "invalid"},
                                              {403, "refused"},
                                              {409, "conflict"},
                                              {0, "failed"}}};

std::uint64_t behind(std::uint64_t position, std::uint64_t head) {
  return head > position ? head - position : 0;
}

class metrics {
 public:
  void gauge(std::string_view name, std::string_view help,
             std::uint64_t value) {
    head(name, help, "gauge");
    line(name, "", value);
  }

  void head(std::string_view name, std::string_view help,
            std::string_view kind) {
    out_.append("# HELP ").append(name).append(" ").append(help);
    out_.append("\n# TYPE ").append(name).append(" ").append(kind);
    out_.append("\n");
  }

  void line(std::string_view name, std::string_view labels,
            std::uint64_t value) {
    out_.append(name).append(labels).append(" ");
    out_.append(std::to_string(value)).append("\n");
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// The numbers are the lease holder's to know; elsewhere they would be stale.
void add_publisher(metrics& m, const publisher_health& p) {
  m.head("better_compute_publisher_state", "What the publisher does", "gauge");
  m.line("better_compute_publisher_state", "{state=\"" + p.state + "\"}", 1);
  if (!p.published_here)
    return;
  m.gauge("better_compute_publisher_position",
          "Everything up to this event is in Kafka", p.position);
  m.gauge("better_compute_publisher_lag_events", "Events not yet in Kafka",
          p.lag_events);
  m.gauge("better_compute_publisher_lag_seconds",
          "Age of the first event that is not in Kafka", p.lag_seconds);
  m.gauge("better_compute_publisher_parked_events",
          "Events too large for Kafka, since the start", p.parked);
}

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

void join_counts::count(int http_status) {
  std::size_t at = 0;
  while (at + 1 < outcomes.size() && outcomes[at].status != http_status)
    ++at;
  counts_[at].fetch_add(1, std::memory_order_relaxed);
}

void join_counts::each(
    const std::function<void(std::string_view, std::uint64_t)>& f) const {
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    f(outcomes[i].name, counts_[i].load(std::memory_order_relaxed));
}

std::string not_ready_because(const health& h) {
  if (!h.store_problem.empty())
    return "store: " + h.store_problem;
  if (!h.fresh)
    return "store: it did not answer in time";
  if (!h.actors_answer)
    return "actors: they did not answer in time";
  if (auto lag = behind(h.projected, h.head); lag > most_projection_lag)
    return "projections: " + std::to_string(lag) + " events behind";
  return {};
}

std::string metrics_text(const health& h, const join_counts& j) {
  metrics m;
  m.head("better_compute_build_info", "The running version", "gauge");
  m.line("better_compute_build_info",
         "{version=\"" + std::string{version} + "\"}", 1);
  m.gauge("better_compute_ready", "1 when the server takes requests",
          not_ready_because(h).empty() ? 1 : 0);
  m.gauge("better_compute_store_up", "1 when the store answers",
          h.fresh && h.store_problem.empty() ? 1 : 0);
  m.gauge("better_compute_journal_head_position", "Last event of the journal",
          h.head);
  m.gauge("better_compute_projection_position", "Last event in the read models",
          h.projected);
  m.gauge("better_compute_projection_lag_events",
          "Events not yet in the read models", behind(h.projected, h.head));
  m.gauge("better_compute_parked_streams",
          "Streams the projector gave up on: look at them", h.parked_streams);
  m.gauge("better_compute_keys_current",
          "0 when the keys were rotated since this process started",
          h.keys_current ? 1 : 0);
  m.gauge("better_compute_lease_held",
          "1 for the process that does the background duties", h.epoch ? 1 : 0);
  if (h.publisher)
    add_publisher(m, *h.publisher);
  m.head("better_compute_joins_total", "Joins by how they ended", "counter");
  j.each([&](std::string_view name, std::uint64_t count) {
    m.line("better_compute_joins_total",
           "{outcome=\"" + std::string{name} + "\"}", count);
  });
  return m.take();
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
