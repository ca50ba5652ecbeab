// spec: DESIGN section 10 (/metrics), docs/metrics.md.
#include "ops/serve/counted_calls.hpp"
#include "ops/serve/exposition.hpp"
#include "ops/serve/metrics.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <set>
#include <sstream>

using namespace bc;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// Everything that any process could say.
std::string whole_text() {
  serve::health h;
  h.publisher = serve::publisher_health{"publishing", true, 1, 2, 3, 4};
  h.counted = serve::census{{{"gw_1", 3}}, 1, 2, 3};
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  actors::measures measured;
  measured.refusals.count("join-token", "join-token:expired");
  return serve::metrics_text(
             {h, joins, renewals, measured, {{"joins", 1, 10}}}) +
         serve::metrics_text(serve::gateway_figures{});
}

std::set<std::string> families(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) {
      std::istringstream words{line.substr(7)};
      std::string name;
      words >> name;
      out.insert(name);
    }
  return out;
}

/// Answers every call with the same status.
struct fixed_port final : actors::daemon_port {
  int status = 200;
  void call(actors::daemon_call,
            std::function<void(actors::daemon_reply)> done) override {
    done({status, R"({"error":{"code":"UNAVAILABLE","message":"later"}})"});
  }
};

}  // namespace

TEST_CASE("metrics: joins and renewals are counted by how they ended",
          "[ops]") {
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  fixed_port port;
  std::vector<std::string> lines;
  serve::failure_log failures{
      [&](const std::string& line) { lines.push_back(line); }};
  serve::counted_calls counted{port, joins, renewals, failures};
  int answers = 0;
  auto ask = [&](actors::daemon_request what, int status) {
    port.status = status;
    actors::daemon_call c;
    c.what = what;
    c.correlation = "req_" + std::to_string(status);
    counted.call(std::move(c), [&](actors::daemon_reply r) {
      answers += r.status == status ? 1 : 0;
    });
  };
  for (int status : {200, 200, 202, 403, 403, 403, 409, 400, 503, 500, 413})
    ask(actors::daemon_request::join, status);
  for (int status : {200, 403, 503})
    ask(actors::daemon_request::renew, status);
  ask(actors::daemon_request::hello, 200);
  CHECK(answers == 15);
  // What the service failed is in the log, by its request.
  CHECK(lines == std::vector<std::string>{
                     "join failed: 503 UNAVAILABLE: later (req_503)",
                     "join failed: 500 UNAVAILABLE: later (req_500)",
                     "renew failed: 503 UNAVAILABLE: later (req_503)"});
  actors::measures none;
  auto text = serve::metrics_text({{}, joins, renewals, none, {}});
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"admitted\"} 2"));
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"deferred\"} 1"));
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"refused\"} 3"));
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"conflict\"} 1"));
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"invalid\"} 1"));
  CHECK(has_line(text, "better_compute_joins_total{outcome=\"failed\"} 3"));
  CHECK(has_line(text, "better_compute_renewals_total{outcome=\"renewed\"} 1"));
  CHECK(has_line(text, "better_compute_renewals_total{outcome=\"refused\"} 1"));
  CHECK(has_line(text, "better_compute_renewals_total{outcome=\"failed\"} 1"));
}

TEST_CASE("metrics: what the API failed is in the log, once", "[ops]") {
  struct fixed_api final : actors::api_port {
    actors::api_reply reply;
    void call(actors::api_call,
              std::function<void(actors::api_reply)> done) override {
      done(reply);
    }
  } port;
  std::vector<std::string> lines;
  serve::failure_log failures{
      [&](const std::string& line) { lines.push_back(line); }};
  serve::told_api told{port, failures};
  int answers = 0;
  auto ask = [&](int status, bool is_told) {
    port.reply = {status,
                  R"({"error":{"code":"UNAVAILABLE","message":"later"}})",
                  is_told};
    actors::api_call c;
    c.group = "nodes";
    c.method = "list";
    c.request_id = "req_" + std::to_string(status);
    told.call(std::move(c), [&](const actors::api_reply& r) {
      answers += r.status == status ? 1 : 0;
    });
  };
  for (int status : {200, 409, 503})
    ask(status, false);
  ask(503, true);
  CHECK(answers == 4);
  CHECK(lines ==
        std::vector<std::string>{
            "api nodes.list failed: 503 UNAVAILABLE: later (req_503)"});
}

TEST_CASE("metrics: a flood of failures is no flood of lines", "[ops]") {
  std::vector<std::string> lines;
  serve::failure_log failures{
      [&](const std::string& line) { lines.push_back(line); }};
  for (int i = 0; i < 10'000; ++i)
    failures.tell("join", 503, "no JSON", "req_" + std::to_string(i));
  REQUIRE(lines.size() >= serve::failure_log::most_a_second);
  CHECK(lines.size() < 5'000);
  CHECK(lines.front() == "join failed: 503 (req_0)");
}

TEST_CASE("metrics: refusals by attestor and reason", "[ops]") {
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  actors::measures measured;
  for (int i = 0; i < 3; ++i)
    measured.refusals.count("join-token", "join-token:revoked");
  measured.refusals.count("renew", "renew:proof");
  auto text = serve::metrics_text({{}, joins, renewals, measured, {}});
  CHECK(has_line(text,
                 "better_compute_refusals_total{attestor=\"join-token\","
                 "reason=\"join-token:revoked\"} 3"));
  CHECK(has_line(text,
                 "better_compute_refusals_total{attestor=\"renew\","
                 "reason=\"renew:proof\"} 1"));
}

TEST_CASE("metrics: groups of appends as a histogram", "[ops]") {
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  actors::measures measured;
  for (double size : {1.0, 1.0, 3.0, 512.0})
    measured.append_batches.add(size);
  measured.append_seconds.add(0.25);
  auto text = serve::metrics_text({{}, joins, renewals, measured, {}});
  const std::string name = "better_compute_journal_append_batches";
  CHECK(has_line(text, name + "_bucket{le=\"1\"} 2"));
  CHECK(has_line(text, name + "_bucket{le=\"2\"} 2"));
  CHECK(has_line(text, name + "_bucket{le=\"4\"} 3"));
  CHECK(has_line(text, name + "_bucket{le=\"512\"} 4"));
  CHECK(has_line(text, name + "_bucket{le=\"+Inf\"} 4"));
  CHECK(has_line(text, name + "_sum 517"));
  CHECK(has_line(text, name + "_count 4"));
  CHECK(has_line(text,
                 "better_compute_journal_append_seconds_bucket{le=\"0.1\"} 0"));
  CHECK(has_line(
      text, "better_compute_journal_append_seconds_bucket{le=\"0.25\"} 1"));
  CHECK(has_line(text, "better_compute_journal_append_seconds_sum 0.25"));
}

TEST_CASE("metrics: what was not counted yet is left out", "[ops]") {
  serve::call_counts joins{"admitted"}, renewals{"renewed"};
  actors::measures measured;
  serve::health h;
  CHECK(serve::metrics_text({h, joins, renewals, measured, {}})
            .find("nodes_expiring") == std::string::npos);
  h.counted = serve::census{{{"gw_a", 2}, {"gw_b", 7}}, 1, 4, 9};
  auto text = serve::metrics_text(
      {h, joins, renewals, measured, {{"appends", 5, 8192}}});
  CHECK(has_line(text, "better_compute_sessions{gateway=\"gw_a\"} 2"));
  CHECK(has_line(text, "better_compute_sessions{gateway=\"gw_b\"} 7"));
  CHECK(has_line(text, "better_compute_nodes_expiring{within=\"1h\"} 1"));
  CHECK(has_line(text, "better_compute_nodes_expiring{within=\"6h\"} 4"));
  CHECK(has_line(text, "better_compute_commands_pending 9"));
  CHECK(has_line(text, "better_compute_queue_depth{queue=\"appends\"} 5"));
  CHECK(has_line(text, "better_compute_queue_limit{queue=\"appends\"} 8192"));
}

TEST_CASE("metrics: a label may hold anything", "[ops]") {
  serve::exposition m;
  m.gauge("a", "b", 1, {{"c", "x\"y\\z\nw"}, {"d", ""}});
  CHECK(has_line(m.take(), R"(a{c="x\"y\\z\nw",d=""} 1)"));
}

// The page and the program name the same, so that neither promises what the
// other lacks.
TEST_CASE("metrics: docs/metrics.md names every one", "[ops]") {
  std::ifstream page{BC_SOURCE_DIR "/docs/metrics.md"};
  REQUIRE(page);
  std::set<std::string> documented;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| `better_compute_")) {
      auto name = line.substr(3, line.find_first_of("`{", 3) - 3);
      documented.insert(name);
    }
  auto written = families(whole_text());
  written.insert("better_compute_certificate_not_after_seconds");
  CHECK(documented == written);
}
