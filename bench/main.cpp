// Measures joins and what stands behind them, each figure beside its baseline
// in the same run. bench/run builds it, starts a Postgres for it and runs it.

#include "bench/sections.hpp"
#include "events/postgres_journal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace {

using namespace bc::bench;

const std::vector<std::string> all = {
    "crypto",  "hardware",    "joins",     "refusals", "relay",   "hot-token",
    "journal", "projections", "publisher", "lists",    "programs"};

int measure(settings s, std::vector<std::string> wanted,
            const std::string& json) {
  if (!s.postgres.empty())
    if (auto made = bc::events::migrate_postgres(s.postgres); !made) {
      std::fprintf(stderr, "bench: %s %s\n", made.error().message.c_str(),
                   made.error().detail.c_str());
      return 1;
    }
  report out;
  auto is_wanted = [&](const char* name) {
    return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
  };
  bound b;
  if (is_wanted("crypto") || is_wanted("hardware") || is_wanted("joins") ||
      is_wanted("relay"))
    b = measure_crypto(s, out);
  if (is_wanted("hardware"))
    measure_hardware(s, b, out);
  if (is_wanted("joins"))
    measure_joins(s, b, out);
  if (is_wanted("refusals"))
    measure_refusals(s, out);
  if (is_wanted("relay"))
    measure_relay(s, b, out);
  if (is_wanted("hot-token"))
    measure_hot_token(s, out);
  if (is_wanted("journal"))
    measure_journal(s, out);
  if (is_wanted("projections"))
    measure_projections(s, out);
  if (is_wanted("publisher"))
    measure_publisher(s, out);
  if (is_wanted("lists"))
    measure_lists(s, out);
  if (is_wanted("programs"))
    measure_programs(s, out);
  return json.empty() || out.write_json(json) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures the server beside its baselines.", "bench"};
  settings s;
  s.self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> wanted;
  std::string json;
  app.add_option("sections", wanted,
                 "crypto hardware joins refusals relay hot-token journal "
                 "projections publisher lists programs; all")
      ->check(CLI::IsMember(all));
  app.add_option("--postgres", s.postgres,
                 "URL of an empty Postgres that may be filled");
  app.add_option("--kafka", s.kafka, "bootstrap.servers of a Kafka");
  app.add_option("--json", json, "file for the figures");
  app.add_option("--scale", s.scale, "of every count")
      ->check(CLI::Range(0.001, 100.0));
  // Used by the program itself.
  if (argc == 7 && std::string{argv[1]} == "--client")
    return run_client(argv[2], argv[3], argv[4], std::stoul(argv[5]),
                      std::stod(argv[6]));
  CLI11_PARSE(app, argc, argv);
  return measure(std::move(s), std::move(wanted), json);
}
