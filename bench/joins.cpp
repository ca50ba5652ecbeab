#include "actors/runtime.hpp"
#include "bench/sections.hpp"
#include "bench/world.hpp"
#include "events/postgres_journal.hpp"
#include "events/sqlite_journal.hpp"
#include "gateway/http_client.hpp"
#include "gateway/http_server.hpp"
#include "gateway/routes.hpp"
#include "projections/projector.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

namespace bc::bench {

namespace {

std::shared_ptr<const gateway::tls_identity> identity(const world& w) {
  auto leaf =
      std::move(pki::issue_server_certificate(w.keys->serving_ca, {"localhost"},
                                              bc::system_clock{}.now()))
          .value();
  auto out = std::make_shared<gateway::tls_identity>();
  out->chain_pem = pki::certificate_pem(leaf.certificate) +
                   pki::certificate_pem(w.keys->serving_ca.certificate);
  out->key_pem = leaf.key.pkcs8_pem();
  return out;
}

void write_lines(const std::string& path,
                 const std::vector<std::string>& lines) {
  std::ofstream out{path};
  for (const auto& line : lines)
    out << line << '\n';
}

// The client's own count of what was admitted; -1 when it did not run.
std::string client_output(const settings& s, const std::string& url,
                          const std::string& folder, std::size_t threads) {
  auto command = s.self + " --client " + url + " " + folder + "/ca.pem " +
                 folder + "/bodies " + std::to_string(threads);
  auto* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char part[256];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr)
    out += part;
  if (pipe != nullptr)
    ::pclose(pipe);
  return out;
}

struct served {
  double rate = 0;
  double cpu_each = 0;
  double p50 = 0, p99 = 0;
  std::size_t good = 0, bad = 0;
};

served run_load(const settings& s, const world& w, events::journal& store,
                const std::string& url, const std::string& folder,
                std::size_t tokens, std::size_t threads) {
  auto n = s.scaled(threads == 1 ? 500 : 2'000);
  auto minted =
      mint_tokens(w, store, tokens, static_cast<std::int64_t>(n / tokens + 1));
  write_lines(folder + "/bodies", join_bodies(w, minted, n));
  auto cpu = cpu_seconds();
  auto text = client_output(s, url, folder, threads);
  served out;
  out.cpu_each = (cpu_seconds() - cpu) / static_cast<double>(n);
  std::sscanf(text.c_str(), "%zu %zu %lf %lf %lf", &out.good, &out.bad,
              &out.rate, &out.p50, &out.p99);
  return out;
}

void measure_store(const settings& s, const bound& b, const world& w,
                   events::journal& store, const std::string& name,
                   report& out) {
  out.section("Joins over TLS 1.3, a connection each, on " + name);
  bc::system_clock time;
  found(w, store);
  actors::runtime_options o;
  o.journal = &store;
  o.time = &time;
  o.keys = w.keys;
  o.root_tenant = w.tenant.id;
  auto runtime = std::move(actors::runtime::start(std::move(o))).value();
  gateway::server_options h;
  h.tls = identity(w);
  auto server = std::move(gateway::http_server::start(
                              std::move(h),
                              gateway::make_daemon_handler(runtime->daemons())))
                    .value();
  temporary_folder own;
  const std::string folder = own.path();
  write_lines(folder + "/ca.pem",
              {pki::certificate_pem(w.keys->serving_ca.certificate)});
  auto url = "https://localhost:" + std::to_string(server->port());
  for (std::size_t tokens : {1, 1'000})
    for (std::size_t threads : {1, 16, 64, 256}) {
      auto r = run_load(s, w, store, url, folder, tokens, threads);
      auto label = std::to_string(tokens) + " token(s), " +
                   std::to_string(threads) + " in flight";
      out.add(label, r.rate, "joins/s",
              r.bad > 0 ? std::to_string(r.bad) + " failed" : "");
      out.add("   p50", r.p50 / 1000, "ms");
      out.add("   p99", r.p99 / 1000, "ms");
      out.add_ratio("   joins per CPU-second", 1 / r.cpu_each, "1/s",
                    1 / (b.join + b.handshake), "the bound", "goal 0.5");
    }
  server->stop(seconds{5});
  runtime->stop(seconds{5});
}

}  // namespace

int run_client(const std::string& url, const std::string& ca_file,
               const std::string& bodies, std::size_t threads) {
  std::ifstream in{bodies};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  gateway::client_options o{url, ca_file, seconds{60}};
  auto l =
      blocking_loop(lines.size(), threads, [&](std::size_t, std::size_t i) {
        auto r = gateway::send_request(o, "POST", "/v1/join",
                                       {{"content-type", "application/json"}},
                                       lines[i]);
        return r && r.value().status == 200;
      });
  std::printf("%zu %zu %f %f %f\n", l.done, l.failed, l.rate(),
              l.latency.percentile(50), l.latency.percentile(99));
  return 0;
}

void measure_joins(const settings& s, const bound& b, report& out) {
  bc::system_clock time;
  {
    temporary_folder folder;
    auto w = make_world();
    auto projector = projections::make_projector();
    auto store = std::move(events::open_sqlite_journal(folder / "journal.db",
                                                       time, projector.get()))
                     .value();
    measure_store(s, b, w, *store, "SQLite", out);
  }
  if (s.postgres.empty())
    return;
  auto w = make_world();
  auto store = std::move(events::open_postgres_journal(s.postgres)).value();
  measure_store(s, b, w, *store, "Postgres", out);
}

}  // namespace bc::bench
