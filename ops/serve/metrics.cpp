#include "ops/serve/metrics.hpp"

#include "ops/serve/exposition.hpp"
#include "ops/version.hpp"

namespace bc::serve {

namespace {

std::uint64_t number_of(bool on) {
  return on ? 1 : 0;
}

void add_build(exposition& m) {
  m.gauge("better_compute_build_info", "The running version", 1,
          {{"version", version}});
}

void add_health(exposition& m, const health& h) {
  m.gauge("better_compute_ready", "1 when the server takes requests",
          number_of(not_ready_because(h).empty()));
  m.gauge("better_compute_store_up", "1 when the store answers",
          number_of(h.fresh && h.store_problem.empty()));
  m.gauge("better_compute_journal_head_position", "Last event of the journal",
          h.head);
  m.gauge("better_compute_projection_position", "Last event in the read models",
          h.projected);
  m.gauge("better_compute_projection_lag_events",
          "Events not yet in the read models", events_behind(h));
  m.gauge("better_compute_parked_streams",
          "Streams the projector gave up on: look at them", h.parked_streams);
  m.gauge("better_compute_keys_current",
          "0 when the keys were rotated since this process started",
          number_of(h.keys_current));
  m.gauge("better_compute_lease_held",
          "1 for the process that does the background duties",
          number_of(h.epoch.has_value()));
}

// The numbers are the lease holder's to know; elsewhere they would be stale.
void add_publisher(exposition& m, const publisher_health& p) {
  m.gauge("better_compute_publisher_state", "What the publisher does", 1,
          {{"state", p.state}});
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

void add_calls(exposition& m, std::string_view name, std::string_view help,
               const call_counts& calls) {
  m.family(name, help, "counter");
  calls.each([&](std::string_view outcome, std::uint64_t count) {
    m.line(count, {{"outcome", outcome}});
  });
}

void add_refusals(exposition& m, const actors::refusal_counts& refusals) {
  m.family("better_compute_refusals_total",
           "Refused joins and renewals by attestor and reason", "counter");
  refusals.each([&](const std::string& attestor, const std::string& reason,
                    std::uint64_t count) {
    m.line(count, {{"attestor", attestor}, {"reason", reason}});
  });
}

void add_queues(exposition& m, const std::vector<actors::queue_depth>& queues) {
  m.family("better_compute_queue_depth", "What is inside, by its door",
           "gauge");
  for (const auto& q : queues)
    m.line(q.inside, {{"queue", q.name}});
  m.family("better_compute_queue_limit",
           "How much may be inside; the rest is refused", "gauge");
  for (const auto& q : queues)
    m.line(q.limit, {{"queue", q.name}});
}

void add_census(exposition& m, const census& c) {
  m.family("better_compute_sessions",
           "Nodes connected, of the deployment, by gateway", "gauge");
  for (const auto& [gateway, sessions] : c.sessions)
    m.line(sessions, {{"gateway", gateway}});
  m.family("better_compute_nodes_expiring",
           "Nodes not renewed in time, whose certificate ends within this",
           "gauge");
  m.line(c.ending_in_1h, {{"within", "1h"}});
  m.line(c.ending_in_6h, {{"within", "6h"}});
  m.gauge("better_compute_commands_pending",
          "Commands without an outcome whose time is not up", c.commands);
}

}  // namespace

std::string metrics_text(const server_figures& f) {
  exposition m;
  add_build(m);
  add_health(m, f.look);
  if (f.look.publisher)
    add_publisher(m, *f.look.publisher);
  add_calls(m, "better_compute_joins_total", "Joins by how they ended",
            f.joins);
  add_calls(m, "better_compute_renewals_total", "Renewals by how they ended",
            f.renewals);
  add_refusals(m, f.measured.refusals);
  m.put("better_compute_journal_append_batches",
        "Batches given to the store at once", f.measured.append_batches.read());
  m.put("better_compute_journal_append_seconds",
        "How long the store took for them", f.measured.append_seconds.read());
  add_queues(m, f.queues);
  if (f.look.counted)
    add_census(m, *f.look.counted);
  return m.take();
}

std::string metrics_text(const gateway_figures& f) {
  exposition m;
  add_build(m);
  m.gauge("better_compute_gateway_api_up", "1 when an API process answers",
          number_of(f.healthy_apis > 0));
  m.gauge("better_compute_gateway_apis", "API processes that it may ask",
          f.api_processes);
  m.gauge("better_compute_gateway_healthy_apis", "Those of them that answer",
          f.healthy_apis);
  m.gauge("better_compute_gateway_watched",
          "1 when an API process tells it whose session is over",
          number_of(f.watched));
  m.gauge("better_compute_gateway_sessions", "Nodes connected here",
          f.sessions);
  m.gauge("better_compute_gateway_requests_in_flight",
          "Requests that wait for an API process", f.in_flight);
  return m.take();
}

}  // namespace bc::serve
