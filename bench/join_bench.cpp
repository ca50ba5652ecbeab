// What a join costs beside the cryptography it cannot do without, and what a
// refusal costs beside a join. Everything is CPU time of this process, measured
// in one run; only ratios are worth quoting.

#include "actors/runtime.hpp"
#include "base/encoding.hpp"
#include "base/wire.hpp"
#include "events/join_token.hpp"
#include "events/streams.hpp"
#include "ops/dev/deployment.hpp"
#include "pki/csr.hpp"
#include "pki/jwe.hpp"
#include "pki/signature.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

using namespace bc;

constexpr int joins = 2'000;
constexpr int in_flight = 64;

double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

template <class F>
double cpu_each(int times, F&& f) {
  double before = cpu_seconds();
  f();
  return (cpu_seconds() - before) / times * 1e6;
}

// Appends a token of many uses and answers its bearer text.
std::string mint_token(dev::deployment& d, time_point now) {
  events::join_token::created t;
  auto secret = to_base64url(pki::random_bytes(32));
  t.id = pki::mint<join_token_id>(now);
  t.tenant = d.root_tenant;
  t.pool = d.pool;
  t.site = d.site;
  t.max_uses = 10'000;
  t.created_at = now;
  t.expires_at = now + seconds{3600};
  t.secret_sha256 = to_hex(events::join_token::secret_digest(
      secret_bytes{std::string_view{secret}}));
  events::batch b;
  b.id = pki::mint<batch_id>(now);
  b.actor = "bench";
  b.writes.push_back({events::stream_of(t.id),
                      d.root_tenant.str(),
                      0,
                      {events::join_token::encode(t)}});
  (void)d.journal->append(std::span{&b, 1}).value();
  return "bcjt_" + t.id.str() + "." + secret;
}

std::vector<std::string> bodies(const dev::deployment& d,
                                const std::string& token, time_point now) {
  std::vector<std::string> out;
  for (int i = 0; i < joins; ++i) {
    auto key = pki::private_key::generate();
    wire::join_request r;
    r.role = "node";
    r.site_id = d.site.str();
    r.csr = pki::build_csr(key);
    auto hex = to_hex(pki::random_bytes(16));
    r.hardware.product_uuid = hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" +
                              hex.substr(12, 3) + "-a" + hex.substr(15, 3) +
                              "-" + hex.substr(18, 12);
    r.hardware.product_serial = "BENCH" + hex.substr(20, 10);
    r.sealed_token = pki::seal_token(d.keys->join_encryption.pub(), token,
                                     pki::sha256(r.csr), now);
    out.push_back(wire::encode(r));
  }
  return out;
}

// Sends every body, never more than `in_flight` at once; counts the statuses.
int run(actors::join_port& port, const std::vector<std::string>& all,
        int status) {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0, seen = 0;
  for (const auto& body : all) {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return open < in_flight; });
    ++open;
    lock.unlock();
    port.join({body, "bench"}, [&](actors::join_reply r) {
      std::scoped_lock guard{mutex};
      --open;
      seen += r.status == status ? 1 : 0;
      changed.notify_all();
    });
  }
  std::unique_lock lock{mutex};
  changed.wait(lock, [&] { return open == 0; });
  return seen;
}

// The primitives no design can leave out: one ECDH, one verification, two
// signatures.
double crypto_floor(const dev::deployment& d) {
  auto peer = pki::private_key::generate();
  auto digest = pki::sha256(as_bytes("bench"));
  auto signature = peer.sign(digest);
  return cpu_each(joins, [&] {
    for (int i = 0; i < joins; ++i) {
      (void)d.keys->join_encryption.ecdh(peer.pub());
      (void)peer.pub().verify(digest, signature);
      (void)d.keys->node_ca.key.sign(digest);
      (void)d.keys->join_signing.key.sign(digest);
    }
  });
}

}  // namespace

int main() {
  char folder[] = "/tmp/join-bench-XXXXXX";
  if (::mkdtemp(folder) == nullptr)
    return 1;
  bc::system_clock time;
  int admitted = 0, refused = 0, garbage = 0;
  {
    auto d = dev::open_deployment({folder}, time).value();
    auto token = mint_token(d, time.now());
    auto good = bodies(d, token, time.now());
    // The same machines again, with a secret that is wrong.
    token.back() = token.back() == 'A' ? 'E' : 'A';
    auto bad = bodies(d, token, time.now());
    auto floor = crypto_floor(d);
    actors::runtime_options o;
    o.journal = d.journal.get();
    o.queries = d.queries.get();
    o.time = &time;
    o.keys = d.keys;
    o.root_tenant = d.root_tenant;
    auto server = actors::runtime::start(std::move(o)).value();
    auto join =
        cpu_each(joins, [&] { admitted = run(server->joins(), good, 200); });
    auto refusal =
        cpu_each(joins, [&] { refused = run(server->joins(), bad, 403); });
    std::vector<std::string> noise(joins, std::string(1200, '{'));
    auto junk =
        cpu_each(joins, [&] { garbage = run(server->joins(), noise, 400); });
    server->stop(seconds{5});
    std::printf(
        "cryptography alone       %7.1f us\n"
        "join, SQLite, no TLS     %7.1f us   %.2f of the bound\n"
        "refusal                  %7.1f us   %.2f of a join\n"
        "garbage                  %7.1f us   %.2f of a join\n",
        floor, join, floor / join, refusal, refusal / join, junk, junk / join);
  }
  std::filesystem::remove_all(folder);
  return admitted == joins && refused == joins && garbage == joins ? 0 : 1;
}
