// issues 5: a machine installed with the old pins lives through a rotation of
// the keys it trusts (DESIGN section 8; docs/rotate-keys.md).
#include "daemon/renewal.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/chain.hpp"
#include "pki/rotation.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using end = renewal_attempt::end;
using pki::key_name;

namespace {

const std::vector<key_name> trusted_by_nodes{key_name::serving_ca,
                                             key_name::join_signing};

// A machine that joined, and a deployment that replaces its keys. What is
// trusted comes from the disk each time, as after a restart.
struct world {
  temporary_folder folder;
  virtual_world time;
  fake_renewals server{time};
  fake_machine machine;
  const daemon::config installed = server.gateway.config(folder);

  world() {
    auto& g = server.gateway;
    auto outcome = run_join(
        installed, machine,
        [] { return result<secret_bytes>{secret_bytes{fake_gateway::token}}; },
        g.options());
    INFO(outcome.message);
    REQUIRE(outcome.exit_code == join_exit::joined);
  }

  [[nodiscard]] identity_store store() const {
    return identity_store::open(installed.data_dir).value();
  }

  // As gateway_client does before it sends anything.
  exchange carry(const daemon::config& c, std::string_view body,
                 const node_identity* as) {
    const auto chain = server.gateway.chain();
    auto fault =
        pki::check_server_chain(chain, serving_ca_pins(c), "gw.example.com");
    if (fault != pki::chain_fault::none)
      return {exchange::fate::untrusted, 0, "", chain,
              std::string{pki::chain_fault_text(fault)}};
    return server.take(body, as);
  }

  renewal_attempt renew(const daemon::config& c) {
    auto found = store().look().value();
    REQUIRE(found.pair);
    const auto me = std::move(*found.pair);
    auto got = attempt_renewal(
        c, me, [this] { return time.clocks().wall; },
        [&](std::string_view body, const node_identity* as) {
          return carry(with_pins_of(c, me.who), body, as);
        });
    if (got.renewed) {
      REQUIRE(store().renew(got.renewed->key, got.renewed->who));
    }
    return got;
  }
  void renews() {
    time.pass(seconds{3600});
    auto got = renew(installed);
    INFO(got.why);
    REQUIRE(got.what == end::renewed);
  }

  // As every process and gateway has it after its restart.
  void step(result<pki::key_bundle> (*one)(const pki::key_bundle&, key_name,
                                           time_point, bool)) {
    auto& g = server.gateway;
    for (auto key : trusted_by_nodes)
      g.keys = one(g.keys, key, time.server, true).value();
    g.server = pki::issue_server_certificate(g.keys.serving_ca,
                                             {"gw.example.com"}, time.server)
                   .value();
  }
  void prepare() {
    step([](const auto& keys, key_name k, time_point now, bool) {
      return pki::prepare_key(keys, k, now);
    });
  }
  void activate() { step(pki::activate_key); }
  void retire() { step(pki::retire_key); }

  [[nodiscard]] identity who() const { return *store().load().value(); }
};

}  // namespace

TEST_CASE("key rotation: a machine with the old pins goes all the way") {
  world w;
  auto first = w.server.gateway.pins(key_name::serving_ca);
  CHECK(w.who().serving_ca_pins == first);
  w.prepare();
  w.renews();
  CHECK(w.who().serving_ca_pins.size() == 2);
  CHECK(w.who().join_signing_pins.size() == 2);
  w.activate();
  w.renews();
  w.retire();
  w.renews();
  w.renews();
  CHECK(w.who().serving_ca_pins == w.server.gateway.pins(key_name::serving_ca));
  CHECK(w.who().serving_ca_pins.size() == 1);
  CHECK(w.who().serving_ca_pins != first);
  // And once more, from pins that no configuration has.
  w.prepare();
  w.renews();
  w.activate();
  w.renews();
  w.retire();
  w.renews();
}

TEST_CASE("key rotation: who missed the prepared phase is told what to do") {
  world w;
  w.prepare();
  w.activate();
  auto before = w.who();
  auto requests = w.server.requests.size();
  auto got = w.renew(w.installed);
  CHECK(got.what == end::untrusted);
  CHECK_THAT(got.why, Catch::Contains("pin") &&
                          Catch::Contains(std::string{stale_pins_advice}));
  CHECK(w.server.requests.size() == requests);
  // The install script, generated again.
  auto again = w.installed;
  auto pins = pki::pins_of(w.server.gateway.keys);
  again.serving_ca_spki_pin = pins.serving_ca;
  got = w.renew(again);
  CHECK(got.what == end::untrusted);
  CHECK_THAT(got.why, Catch::Contains("signature") &&
                          Catch::Contains(std::string{stale_pins_advice}));
  CHECK(encode(w.who()) == encode(before));
  again.join_signing_key_pin = pins.join_signing;
  CHECK(w.renew(again).what == end::renewed);
}

TEST_CASE("key rotation: pins come from an answer that passed every check") {
  world w;
  const auto before = encode(w.who());
  auto stranger = pki::private_key::generate();
  auto with_pins = [&](wire::joined_body body) {
    body.serving_ca_pins.push_back(stranger.pub().pin());
    body.join_signing_pins.push_back(stranger.pub().pin());
    return body;
  };
  SECTION("another key signed it") {
    w.server.script.push_back([&](fake_renewals& s, const auto& r) {
      auto kept = pki::clone(s.gateway.keys);
      s.gateway.keys.join_signing.key = stranger.clone();
      auto out = s.signed_with(r, with_pins(s.body_for(r)));
      s.gateway.keys = std::move(kept);
      return out;
    });
  }
  SECTION("it is another node's") {
    w.server.script.push_back([&](fake_renewals& s, const auto& r) {
      auto body = with_pins(s.body_for(r));
      body.node_id = "node_01k5w000000000000000000001";
      return s.signed_with(r, body);
    });
  }
  SECTION("its signature is of a join") {
    w.server.script.push_back([&](fake_renewals& s, const auto& r) {
      return s.signed_with(r, with_pins(s.body_for(r)),
                           pki::purpose::join_response);
    });
  }
  CHECK(w.renew(w.installed).what == end::untrusted);
  CHECK(encode(w.who()) == before);
}

TEST_CASE("key rotation: identity.json of before has no pins, and loads") {
  world w;
  auto who = w.who();
  CHECK(encode(who).find("servingCaPins") != std::string::npos);
  who.serving_ca_pins.clear();
  who.join_signing_pins.clear();
  auto text = encode(who);
  CHECK(text.find("Pins") == std::string::npos);
  auto read = decode_identity(text);
  REQUIRE(read);
  CHECK(read.value().serving_ca_pins.empty());
  auto c = with_pins_of(w.installed, read.value());
  CHECK(serving_ca_pins(c) == std::vector{w.installed.serving_ca_spki_pin});
  CHECK(join_signing_pins(c) == std::vector{w.installed.join_signing_key_pin});
}

TEST_CASE("key rotation: pins replaced by hand end what others vouched for") {
  world w;
  auto who = w.who();
  who.serving_ca_pins.push_back("sha256/told");
  who.join_signing_pins.push_back("sha256/told");
  const auto read = decode_identity(encode(who)).value();
  CHECK(is_trusted("sha256/told",
                   serving_ca_pins(with_pins_of(w.installed, read))));
  for (auto pin :
       {&config::serving_ca_spki_pin, &config::join_signing_key_pin}) {
    auto replaced = w.installed;
    replaced.*pin = "sha256/new";
    const auto c = with_pins_of(replaced, read);
    CHECK(serving_ca_pins(c) == std::vector{replaced.serving_ca_spki_pin});
    CHECK(join_signing_pins(c) == std::vector{replaced.join_signing_key_pin});
  }
}
