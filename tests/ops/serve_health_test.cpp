// spec: DESIGN section 10 (/healthz, /readyz, /metrics).
#include "ops/serve/health.hpp"
#include "ops/serve/metrics.hpp"
#include "ops/serve/monitor.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>

using namespace bc;
using serve::health;

namespace {

health well() {
  health h;
  h.fresh = true;
  h.actors_answer = true;
  h.head = 100;
  h.projected = 100;
  return h;
}

std::string text_of(const health& h) {
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  actors::measures measured;
  return serve::metrics_text({h, joins, renewals, measured, {}});
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

gateway::http_response ask(const gateway::http_handler& handler,
                           const std::string& method, const std::string& path) {
  gateway::http_request request;
  request.method = method;
  request.path = path;
  gateway::http_response out;
  handler(std::move(request),
          [&](gateway::http_response r) { out = std::move(r); });
  return out;
}

}  // namespace

TEST_CASE("health: ready while store and actors answer", "[ops]") {
  CHECK(serve::not_ready_because(well()).empty());
  auto h = well();
  h.store_problem = "the server closed the connection";
  CHECK(serve::not_ready_because(h) ==
        "store: the server closed the connection");
  h = well();
  h.actors_answer = false;
  CHECK(serve::not_ready_because(h).starts_with("actors"));
  h = well();
  h.fresh = false;
  CHECK(serve::not_ready_because(h).starts_with("store"));
  CHECK_FALSE(serve::not_ready_because(health{}).empty());
}

TEST_CASE("health: keys that were rotated show, and take no process out",
          "[ops]") {
  auto h = well();
  CHECK(has_line(text_of(h), "better_compute_keys_current 1"));
  h.keys_current = false;
  CHECK(serve::not_ready_because(h).empty());
  CHECK(has_line(text_of(h), "better_compute_keys_current 0"));
  CHECK(has_line(text_of(h), "better_compute_ready 1"));
}

TEST_CASE("health: read models may be behind, but not without bound", "[ops]") {
  auto h = well();
  h.head = h.projected + 100'000;
  CHECK(serve::not_ready_because(h).empty());
  ++h.head;
  CHECK(serve::not_ready_because(h).starts_with("projections: 100001"));
  // Read after the head was: no lag.
  h = well();
  h.projected = h.head + 5;
  CHECK(serve::not_ready_because(h).empty());
}

TEST_CASE("health: Kafka down leaves the server ready (case 151)", "[ops]") {
  auto h = well();
  h.publisher = serve::publisher_health{"retrying", true, 10, 90, 61, 0};
  CHECK(serve::not_ready_because(h).empty());
  auto text = text_of(h);
  CHECK(has_line(text, "better_compute_ready 1"));
  CHECK(has_line(text, "better_compute_publisher_lag_events 90"));
  CHECK(has_line(text, "better_compute_publisher_lag_seconds 61"));
  CHECK(has_line(text, "better_compute_publisher_state{state=\"retrying\"} 1"));
}

TEST_CASE("health: only who publishes tells its lag", "[ops]") {
  auto h = well();
  h.publisher = serve::publisher_health{"standby", false, 0, 100, 0, 0};
  auto text = text_of(h);
  CHECK(has_line(text, "better_compute_publisher_state{state=\"standby\"} 1"));
  CHECK(text.find("publisher_lag") == std::string::npos);
}

TEST_CASE("health: the probe listener answers three paths", "[ops]") {
  bool ready = true;
  auto handler = serve::make_probe_handler(
      [&] { return serve::readiness_of(ready ? "" : "store: \"gone\""); },
      [] { return std::string{"metric 1\n"}; });
  CHECK(ask(handler, "GET", "/healthz").status == 200);
  CHECK(ask(handler, "GET", "/readyz").status == 200);
  CHECK(ask(handler, "GET", "/metrics").body == "metric 1\n");
  CHECK(ask(handler, "GET", "/metrics").content_type.starts_with("text/plain"));
  CHECK(ask(handler, "POST", "/healthz").status == 405);
  CHECK(ask(handler, "GET", "/").status == 404);
  ready = false;
  CHECK(ask(handler, "GET", "/healthz").status == 200);
  auto answer = ask(handler, "GET", "/readyz");
  CHECK(answer.status == 503);
  CHECK(answer.body ==
        R"({"status":"unavailable","reason":"store: \"gone\""})");
}

TEST_CASE("monitor: what was seen is told while the next look hangs", "[ops]") {
  std::mutex mutex;
  std::condition_variable changed;
  int looks = 0;
  bool let_go = false;
  serve::monitor m{[&] {
    std::unique_lock lock{mutex};
    if (++looks > 1) {
      changed.notify_all();
      changed.wait(lock, [&] { return let_go; });
    }
    return well();
  }};
  {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return looks > 1; });
  }
  // The look that hangs holds up no probe.
  CHECK(m.last().head == 100);
  {
    std::lock_guard lock{mutex};
    let_go = true;
  }
  changed.notify_all();
  m.stop();
}
