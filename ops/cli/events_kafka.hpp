#pragma once

namespace CLI {
class App;
}

namespace bc::cli {

struct context;

/// `events verify`, `events backfill`, `events resume`: what an operator does
/// with the events in Kafka, by the server's own configuration file.
void add_events_kafka(CLI::App& events, context& ctx);

}  // namespace bc::cli
