// spec: DESIGN section 7, joining#join-flow; CASES 14, 82, 176. The daemon's
// own code, a real gateway and relay, the real join service, and a gateway that
// does its worst in between: whose check refuses it.
#include "gateway/gateway_node.hpp"
#include "pki/signature.hpp"
#include "relay_support.hpp"
#include "tests/actors/join_world.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using daemon::join_exit;
namespace fs = std::filesystem;

namespace {

class service final : public actors::daemon_port {
 public:
  explicit service(test::join_world& w) : w_(w) {}
  void call(actors::daemon_call call,
            std::function<void(actors::daemon_reply)> done) override {
    actors::run_join(w_.environment(), w_.ledger, std::move(call),
                     [&](const wire::join_answer& answer) {
                       done({wire::http_status(answer), wire::encode(answer)});
                     });
  }

 private:
  test::join_world& w_;
};

/// A deployment with one machine; its gateway does to requests and answers
/// what the test says.
struct deployment {
  relay_world internal;
  test::join_world w;
  temporary_folder folder;
  fake_machine machine;
  service joins{w};
  std::unique_ptr<relay_listener> api;
  std::unique_ptr<gateway_node> gateway;
  daemon::config config;
  std::function<void(wire::join_request&)> on_request;
  std::function<void(wire::join_answer&)> on_answer;
  std::vector<wire::join_request> seen;
  std::vector<wire::join_answer> given;

  deployment() {
    const auto& keys = internal.keys;
    w.keys = keys;
    w.time.set(internal.now);
    api = internal.listen(joins);
    gateway_options o;
    o.address = "127.0.0.1";
    auto leaf = pki::issue_server_certificate(keys->serving_ca, {"127.0.0.1"},
                                              internal.now);
    auto serving = identity_of(leaf.value());
    serving->chain_pem += pki::certificate_pem(keys->serving_ca.certificate);
    o.serving = serving;
    o.node_ca_pem = pki::certificate_pem(keys->node_ca.certificate);
    o.relay = internal.options({api->port()});
    auto started = start_gateway(std::move(o));
    REQUIRE(started);
    gateway = std::move(started).value();
    REQUIRE(comes_true([&] { return gateway->has_healthy_api(); }));
    auto pins = pki::pins_of(*keys);
    write_text(folder / "join-encryption.jwk",
               pki::to_jwk(keys->join_encryption.pub()));
    config = {"https://127.0.0.1:" + std::to_string(gateway->port()),
              w.site.str(),
              pins.serving_ca,
              pins.join_signing,
              pins.join_encryption,
              folder / "data",
              folder / "join-encryption.jwk"};
  }

  daemon::exchange pass(std::string_view body) {
    auto request = wire::decode_join_request(body).value();
    if (on_request)
      on_request(request);
    seen.push_back(request);
    auto got = daemon::post_join(config, wire::encode(request));
    REQUIRE(got.what == daemon::exchange::fate::answered);
    auto answer = wire::decode_join_answer(got.status, got.body).value();
    given.push_back(answer);
    if (on_answer) {
      on_answer(answer);
      got.status = wire::http_status(answer);
      got.body = wire::encode(answer);
    }
    return got;
  }

  daemon::join_outcome join(const test::minted& token) {
    daemon::join_options o;
    o.time = &w.time;
    o.wait = [](milliseconds) {};
    o.send = [this](std::string_view body) { return pass(body); };
    return daemon::run_join(config, machine, secret_bytes{token.text()}, o);
  }

  /// What the gateway asks on its own account.
  wire::join_answer ask(const wire::join_request& request) {
    auto got = daemon::post_join(config, wire::encode(request));
    REQUIRE(got.what == daemon::exchange::fate::answered);
    return wire::decode_join_answer(got.status, got.body).value();
  }

  [[nodiscard]] bool has_identity() const {
    return fs::exists(folder / "data/identity.json");
  }
};

void sign_anew(wire::join_answer& a, const pki::private_key& key) {
  auto sig = pki::sign(key, pki::purpose::join_response, {as_bytes(a.body)});
  a.signature = {sig.begin(), sig.end()};
}

}  // namespace

TEST_CASE("hostile_gateway: an honest one joins a machine") {
  deployment d;
  auto token = d.w.mint_token();
  auto outcome = d.join(token);
  INFO(outcome.message);
  CHECK(outcome.exit_code == join_exit::joined);
  CHECK(d.w.uses_left(token) == 0);
  CHECK(d.has_identity());
}

TEST_CASE(
    "hostile_gateway: a swapped CSR is refused by the service (its seal "
    "is for another) and by the daemon (case 82)") {
  deployment d;
  auto token = d.w.mint_token();
  auto mallory = pki::private_key::generate();
  d.on_request = [&](auto& r) { r.csr = pki::build_csr(mallory); };
  auto head = d.w.head();
  auto outcome = d.join(token);
  REQUIRE(d.given.size() == 1);
  CHECK(d.given[0].code == errc::access_denied);
  REQUIRE(d.w.reports.size() == 1);
  CHECK(events::text_of(d.w.reports[0].reason) ==
        events::text_of(events::refusal_reason::join_token));
  CHECK(d.w.head() == head);
  CHECK(d.w.uses_left(token) == 1);
  // The signed time is bound to the CSR the service saw.
  CHECK(outcome.exit_code == join_exit::untrusted);
  CHECK_THAT(outcome.message, Catch::Contains("signature"));
  CHECK_FALSE(d.has_identity());
  // The machine is none the worse for it.
  d.on_request = nullptr;
  CHECK(d.join(token).exit_code == join_exit::joined);
}

TEST_CASE(
    "hostile_gateway: a blob replayed for another CSR is refused, for "
    "the same one spends nothing (cases 14, 82)") {
  deployment d;
  auto token = d.w.mint_token([](auto& t) { t.max_uses = 5; });
  REQUIRE(d.join(token).exit_code == join_exit::joined);
  REQUIRE(d.w.uses_left(token) == 4);
  auto head = d.w.head();
  auto request = d.seen.at(0);
  auto b = test::make_machine(7);
  auto forged = request;
  forged.csr = b.csr;
  forged.hardware = b.claims;
  CHECK(d.ask(forged).code == errc::access_denied);
  CHECK(d.w.head() == head);
  // The same again: the same certificate, for a key the gateway has not.
  auto again = d.ask(request);
  CHECK(again.what == wire::join_answer::kind::joined);
  CHECK(again.body == d.given.at(0).body);
  CHECK(d.w.head() == head);
  CHECK(d.w.uses_left(token) == 4);
}

TEST_CASE(
    "hostile_gateway: an altered answer is refused by the daemon's check, "
    "and costs the machine nothing (cases 14, 176)") {
  deployment d;
  auto token = d.w.mint_token([](auto& t) { t.max_uses = 5; });
  auto mallory = pki::private_key::generate();
  // Another machine's answer, which the gateway has seen.
  auto other = test::make_machine(8);
  auto theirs = d.ask(d.w.request(other, token.text()));
  REQUIRE(theirs.what == wire::join_answer::kind::joined);

  struct alteration {
    std::string what;
    std::string check;
    std::function<void(wire::join_answer&)> change;
  };
  std::vector<alteration> all{
      {"a bit of the body", "signature", [](auto& a) { a.body[20] ^= 1; }},
      {"a bit of the signature", "signature",
       [](auto& a) { a.signature[5] ^= 1; }},
      {"another certificate, signed by the gateway", "signature",
       [&](auto& a) {
         a.body = theirs.body;
         sign_anew(a, mallory);
       }},
      {"the gateway's key in place of the pinned one", "signature",
       [&](auto& a) {
         a.signing_key = mallory.pub().spki();
         sign_anew(a, mallory);
       }},
      {"another time", "signature", [](auto& a) { a.time->time_ms += 1; }},
      {"no time", "signature", [](auto& a) { a.time.reset(); }},
      {"another machine's whole answer", "signature",
       [&](auto& a) { a = theirs; }},
      {"another machine's body under our time", "csr_sha256",
       [&](auto& a) {
         a.body = theirs.body;
         a.signature = theirs.signature;
       }},
      {"a refusal that nobody signed", "signature",
       [](auto& a) {
         a = {};
         a.code = errc::access_denied;
         a.message = "Join refused";
       }},
  };
  for (const auto& one : all) {
    CAPTURE(one.what);
    d.on_answer = one.change;
    auto outcome = d.join(token);
    CHECK(outcome.exit_code == join_exit::untrusted);
    CHECK_THAT(outcome.message, Catch::Contains(one.check));
    CHECK_FALSE(d.has_identity());
  }
  d.on_answer = nullptr;
  CHECK(d.join(token).exit_code == join_exit::joined);
  // Theirs and ours: every retry was given the stored answer.
  CHECK(d.w.uses_left(token) == 3);
  CHECK(d.w.count("node.joined") == 2);
}
