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

struct served {
  double rate = 0;
  double p50 = 0, p99 = 0;  // microseconds
  std::size_t good = 0, bad = 0;
};

// By a client in a process of its own, which says so of itself. `rate` a
// second; 0: as many as pass.
served send_bodies(const settings& s, const std::string& url,
                   const std::string& folder, std::size_t threads,
                   double rate) {
  auto command = s.self + " --client " + url + " " + folder + "/ca.pem " +
                 folder + "/bodies " + std::to_string(threads) + " " +
                 std::to_string(rate);
  auto* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char part[256];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe) != nullptr)
    text += part;
  if (pipe != nullptr)
    ::pclose(pipe);
  served out;
  std::sscanf(text.c_str(), "%zu %zu %lf %lf %lf", &out.good, &out.bad,
              &out.rate, &out.p50, &out.p99);
  return out;
}

constexpr std::size_t spread = 10'000;

class joins_bench {
 public:
  joins_bench(const settings& s, const bound& b, const world& w,
              events::journal& store, std::string url, report& out)
      : s_(s),
        bound_(b),
        world_(w),
        store_(store),
        url_(std::move(url)),
        out_(out) {
    write_lines(folder_ / "ca.pem",
                {pki::certificate_pem(w.keys->serving_ca.certificate)});
  }

  // One hot token, or each join with a token of its own.
  void run(bool hot, std::size_t threads) {
    const auto n =
        threads == 1 ? s_.scaled(500) : s_.scaled(hot ? 2'000 : spread);
    prepare(hot, n);
    const auto cpu = cpu_seconds();
    const auto closed = send_bodies(s_, url_, folder_.path(), threads, 0);
    const auto cpu_each = (cpu_seconds() - cpu) / static_cast<double>(n);
    prepare(hot, s_.scaled(500));
    const auto rate = open_load * closed.rate;
    const auto open = send_bodies(s_, url_, folder_.path(), threads, rate);
    const auto bad = closed.bad + open.bad;
    out_.add((hot ? std::string{"one token"} : std::to_string(n) + " tokens") +
                 ", " + std::to_string(threads) + " in flight",
             closed.rate, "joins/s",
             bad > 0 ? std::to_string(bad) + " failed" : "");
    out_.add_ratio("   joins per CPU-second", 1 / cpu_each, "1/s",
                   1 / (bound_.join + bound_.handshake), "the bound",
                   "goal 0.5");
    out_.add("   open loop at", rate, "joins/s");
    out_.add("   p50", open.p50 / 1000, "ms");
    out_.add("   p99", open.p99 / 1000, "ms");
  }

 private:
  void prepare(bool hot, std::size_t n) {
    auto tokens =
        hot ? mint_tokens(world_, store_, 1, static_cast<std::int64_t>(n))
            : mint_tokens(world_, store_, n, 1);
    write_lines(folder_ / "bodies", join_bodies(world_, tokens, n));
  }

  const settings& s_;
  const bound& bound_;
  const world& world_;
  events::journal& store_;
  std::string url_;
  report& out_;
  temporary_folder folder_;
};

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
  joins_bench bench{
      s,  b, w, store, "https://localhost:" + std::to_string(server->port()),
      out};
  for (bool hot : {true, false})
    for (std::size_t threads : {1, 16, 64, 256})
      bench.run(hot, threads);
  server->stop(seconds{5});
  runtime->stop(seconds{5});
}

}  // namespace

int run_client(const std::string& url, const std::string& ca_file,
               const std::string& bodies, std::size_t threads, double rate) {
  std::ifstream in{bodies};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  gateway::client_options o{url, ca_file, seconds{60}};
  blocking_operation join = [&](std::size_t, std::size_t i) {
    auto r =
        gateway::send_request(o, "POST", "/v1/join",
                              {{"content-type", "application/json"}}, lines[i]);
    return r && r.value().status == 200;
  };
  auto l = rate > 0 ? paced_loop(lines.size(), rate, threads, join)
                    : blocking_loop(lines.size(), threads, join);
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
