// `better-compute doctor`: what it finds in a store and on the network.
#include "ops/cli/doctor.hpp"

#include "events/pki_bundle.hpp"
#include "events/sqlite.hpp"
#include "events/streams.hpp"
#include "gateway/http_server.hpp"
#include "ops/cli/files.hpp"
#include "ops/serve/first_start.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"
#include "pki/digest.hpp"
#include "tests/support/journal_suite.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace bc;
using cli::finding;
using cli::findings;
using cli::verdict;

namespace {

const std::string secret = "a secret of some length";

// The first finding of a check.
finding of(const findings& all, const std::string& check) {
  for (const auto& f : all)
    if (f.check == check)
      return f;
  FAIL("no finding on " + check);
  return {};
}

void check_is(const findings& all, const std::string& check, verdict how,
              const std::string& part = {}) {
  auto f = of(all, check);
  INFO(check << ": " << f.message << " -> " << f.advice);
  CHECK(f.how == how);
  CHECK(f.message.find(part) != std::string::npos);
  if (how == verdict::failed || how == verdict::warning)
    CHECK(!f.advice.empty());
}

struct deployment {
  store::location where() const {
    return {store::kind::sqlite, folder.file("journal.db")};
  }
  cli::patient patient() const {
    cli::patient p;
    p.store_url = "sqlite:" + where().target;
    p.secret_file = folder.file("secret");
    return p;
  }
  void migrate() { REQUIRE(store::migrate(where(), time)); }
  // The keys and the root tenant, as a deployment is made.
  void fill() {
    REQUIRE(cli::write_new_secret_file(folder.file("secret"), secret));
    auto opened = store::open(where(), time);
    REQUIRE(opened);
    auto& journal = *opened.value().journal;
    REQUIRE(serve::bootstrap(journal, folder.file("root"), time.now()));
    auto now = time.now();
    auto bundle = pki::make_bundle("compute.example.com", now).value();
    auto pins = pki::pins_of(bundle);
    auto sealed =
        pki::seal_bundle(bundle, secret_bytes{std::string_view{secret}});
    auto b = serve::new_batch(now);
    b.writes.push_back(serve::first_event(
        std::string{events::pki_stream}, pki::mint<tenant_id>(now),
        events::pki_bundle::encode(events::pki_bundle::initialized{
            bundle.trust_domain, pins.serving_ca, pins.join_signing,
            pins.join_encryption, now, sealed.value()})));
    REQUIRE(journal.append(std::span{&b, 1}));
  }
  findings examine(const cli::patient& p) {
    keys.reset();
    return cli::examine_store(p, time, keys);
  }

  events::testing::temp_dir folder;
  bc::system_clock time;
  std::shared_ptr<const pki::key_bundle> keys;
};

}  // namespace

TEST_CASE("doctor: a certificate's end is seen before it comes", "[ops]") {
  auto now = time_point{} + seconds{1'700'000'000};
  auto at = [&](seconds left) {
    return cli::expiry_finding({"leaf", now + left, seconds{1'000}}, now);
  };
  CHECK(at(seconds{1'001}).how == verdict::ok);
  CHECK(at(seconds{1'000}).how == verdict::warning);
  CHECK(at(seconds{1}).how == verdict::warning);
  // NotAfter is the first moment at which it counts no more.
  CHECK(at(seconds{0}).how == verdict::failed);
  CHECK(at(seconds{-1}).how == verdict::failed);
}

TEST_CASE("doctor: a store in good order", "[ops]") {
  deployment d;
  d.migrate();
  d.fill();
  auto all = d.examine(d.patient());
  check_is(all, "store", verdict::ok, "sqlite:");
  check_is(all, "keys", verdict::ok, "compute.example.com");
  check_is(all, "certificates", verdict::ok);
  check_is(all, "clock", verdict::ok);
  check_is(all, "read models", verdict::ok, "0 events behind");
  check_is(all, "parked streams", verdict::ok);
  REQUIRE(d.keys);
  for (const auto& f : all) {
    CHECK(f.how != verdict::failed);
    CHECK(f.message.find(secret) == std::string::npos);
  }
}

TEST_CASE("doctor: it looks while a server has the store", "[ops]") {
  deployment d;
  d.migrate();
  d.fill();
  auto running = store::open(d.where(), d.time);
  REQUIRE(running);
  REQUIRE(running.value().journal->acquire_lease("api-1", seconds{30}));
  auto all = d.examine(d.patient());
  check_is(all, "store", verdict::ok);
  check_is(all, "lease", verdict::ok, "api-1");
}

TEST_CASE("doctor: a store that is not there, not ours, not made", "[ops]") {
  deployment d;
  check_is(d.examine({}), "store", verdict::skipped);
  check_is(d.examine(d.patient()), "store", verdict::failed);
  auto p = d.patient();
  p.store_url = "mysql://x";
  auto wrong = d.examine(p);
  CHECK(of(wrong, "store").how == verdict::failed);
  // It made nothing.
  CHECK(!cli::read_file(d.where().target));
}

TEST_CASE("doctor: keys that are missing, or sealed with another secret",
          "[ops]") {
  deployment d;
  d.migrate();
  REQUIRE(cli::write_new_secret_file(d.folder.file("secret"), secret));
  auto all = d.examine(d.patient());
  check_is(all, "keys", verdict::failed, "no keys");
  // As given it can be run.
  CHECK(of(all, "keys").advice.find("pki init --trust-domain NAME --store") !=
        std::string::npos);
  check_is(all, "root tenant", verdict::failed);

  deployment other;
  other.migrate();
  other.fill();
  auto p = other.patient();
  p.secret_file = other.folder.file("wrong");
  REQUIRE(cli::write_new_secret_file(p.secret_file, "another secret of ours"));
  check_is(other.examine(p), "keys", verdict::failed);
  CHECK(!other.keys);
}

TEST_CASE("doctor: streams that are parked are a failure", "[ops]") {
  deployment d;
  d.migrate();
  d.fill();
  {
    auto db =
        sqlite::connection::open(d.where().target, sqlite::mode::read_write);
    REQUIRE(db);
    REQUIRE(db.value()->execute(
        "insert into parked_streams (stream, position, reason)"
        " values ('node:x', 2, 'of an unknown type')"));
  }
  check_is(d.examine(d.patient()), "parked streams", verdict::failed,
           "node:x from position 2");
}

TEST_CASE("doctor: what is not given is skipped, with the reason", "[ops]") {
  bc::system_clock time;
  auto all = cli::examine_network({}, time);
  check_is(all, "api", verdict::skipped);
  check_is(all, "gateway", verdict::skipped);
  check_is(all, "kafka", verdict::skipped);
  cli::patient p;
  p.gateway_url = "https://localhost:1";
  check_is(cli::examine_network(p, time), "gateway", verdict::skipped, "pin");
}

TEST_CASE("doctor: an API that is ready, is not, is not there", "[ops]") {
  bc::system_clock time;
  std::atomic<int> status{200};
  auto server = gateway::http_server::start(
      {}, [&](gateway::http_request request, gateway::respond done) {
        gateway::http_response r;
        r.status = request.path == "/readyz" ? status.load() : 404;
        r.body = R"({"status":"the journal does not answer"})";
        done(std::move(r));
      });
  REQUIRE(server);
  cli::patient p;
  p.api_url = "http://127.0.0.1:" + std::to_string(server.value()->port());
  check_is(cli::examine_network(p, time), "api", verdict::ok);
  status = 503;
  check_is(cli::examine_network(p, time), "api", verdict::failed,
           "the journal does not answer");
  server.value()->stop(seconds{5});
  check_is(cli::examine_network(p, time), "api", verdict::failed);
}

TEST_CASE("doctor: a gateway goes by its pin and what is behind it", "[ops]") {
  bc::system_clock time;
  auto now = time.now();
  auto ca = pki::make_ca("serving CA", now).value();
  auto leaf = pki::issue_server_certificate(ca, {"localhost"}, now).value();
  auto identity = std::make_shared<gateway::tls_identity>();
  identity->chain_pem = pki::certificate_pem(leaf.certificate) +
                        pki::certificate_pem(ca.certificate);
  identity->key_pem = leaf.key.pkcs8_pem();
  std::atomic<int> status{400};
  gateway::server_options options;
  options.tls = identity;
  auto server = gateway::http_server::start(
      options, [&](const gateway::http_request&, gateway::respond done) {
        gateway::http_response r;
        r.status = status;
        r.body = "{}";
        done(std::move(r));
      });
  REQUIRE(server);
  cli::patient p;
  p.gateway_url = "https://localhost:" + std::to_string(server.value()->port());
  p.serving_ca_pin = ca.key.pub().pin();
  auto good = cli::examine_network(p, time);
  check_is(good, "gateway", verdict::ok);
  check_is(good, "certificates", verdict::ok, "gateway certificate");
  status = 503;
  check_is(cli::examine_network(p, time), "gateway", verdict::failed,
           "no join service");
  auto other = pki::make_ca("another", now).value();
  p.serving_ca_pin = other.key.pub().pin();
  check_is(cli::examine_network(p, time), "gateway", verdict::failed);
  server.value()->stop(seconds{5});
  check_is(cli::examine_network(p, time), "gateway", verdict::failed);
}

TEST_CASE("doctor: a Kafka that nobody answers for is a failure", "[ops]") {
  bc::system_clock time;
  cli::patient p;
  // A port that was just free; nothing listens there.
  p.kafka["bootstrap.servers"] = "127.0.0.1:1";
  p.topics = {"better-compute.events"};
  check_is(cli::examine_network(p, time), "kafka", verdict::failed);
}
