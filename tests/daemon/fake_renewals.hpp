#pragma once

#include "base/wire_renew.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/renewal_loop.hpp"
#include "tests/daemon/fake_gateway.hpp"

#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <vector>

/// A machine's clocks beside the server's, all of them virtual.
struct virtual_world {
  bc::time_point server = bc::from_millis(1'764'000'000'000);
  bc::milliseconds wall_off{0};  // the machine's clock less the server's
  bc::milliseconds since_boot{1'000};

  void pass(bc::milliseconds time) {
    server += time;
    since_boot += time;
  }
  /// A hypervisor holds the machine: nothing of it moves but, afterwards, the
  /// clock that somebody sets right again.
  void paused(bc::milliseconds time) { server += time; }
  [[nodiscard]] bc::daemon::clock_reading clocks() const {
    return {server + wall_off, since_boot};
  }
};

/// The renewing half of a control plane: judges as the real one does where the
/// daemon can tell, with real keys, signatures and certificates.
class fake_renewals {
 public:
  using request = bc::wire::renew_request;
  using reply =
      std::function<bc::daemon::exchange(fake_renewals&, const request&)>;

  explicit fake_renewals(virtual_world& world) : world_(world) {}

  fake_gateway gateway;
  bc::seconds lifetime = bc::pki::max_node_lifetime;
  /// Of the certificates it issues.
  std::vector<std::string> statements = {};
  bool revoked = false;
  bool reachable = true;
  /// Of the gateway's TLS: an expired client certificate is not let in.
  bool strict_tls = true;
  std::vector<request> requests;
  std::vector<bc::time_point> at;  // when, by the server's clock
  std::deque<reply> script;        // the next answers, before the real ones

  bc::daemon::node_identity identity() {
    auto key = bc::pki::private_key::generate();
    auto issued = issue(key.pub(), std::string{fake_gateway::node});
    return {{std::string{fake_gateway::node},
             std::string{fake_gateway::site},
             std::string{fake_gateway::domain},
             "node",
             "https://gw.example.com",
             {issued.der, gateway.keys.node_ca.certificate},
             {gateway.keys.command_signing.pub().spki()},
             issued.not_after},
            std::move(key)};
  }

  bc::daemon::exchange take(std::string_view body,
                            const bc::daemon::node_identity* me) {
    using fate = bc::daemon::exchange::fate;
    if (!reachable)
      return {fate::unreachable, 0, "", {}, "no route to host"};
    if (me != nullptr && strict_tls && is_over(me->who.certificate_chain[0]))
      return {fate::lost, 0, "", {}, "certificate expired", true};
    auto asked = bc::wire::decode_renew_request(body);
    REQUIRE(asked);
    requests.push_back(asked.value());
    at.push_back(world_.server);
    if (!script.empty()) {
      auto next = script.front();
      script.pop_front();
      return next(*this, asked.value());
    }
    return judged(asked.value(), me);
  }

  bc::daemon::exchange judged(const request& r,
                              const bc::daemon::node_identity* me) {
    auto off = bc::from_millis(r.client_time_ms) - world_.server;
    bool late = off > bc::seconds{60} || off < -bc::seconds{60};
    if (me == nullptr || revoked || late || is_over(r.certificate_chain[0]) ||
        !proved(r))
      return refused(r);
    return renewed(r);
  }

  bc::daemon::exchange refused(const request& r) {
    return failed(r, bc::errc::access_denied, "Renew refused");
  }
  bc::daemon::exchange failed(const request& r, bc::errc code,
                              const std::string& message) {
    bc::wire::join_answer a;
    a.code = code;
    a.message = message;
    add_time(a, r);
    return answered(a);
  }
  bc::daemon::exchange renewed(const request& r) {
    return signed_with(r, body_for(r));
  }
  bc::daemon::exchange signed_with(
      const request& r, const bc::wire::joined_body& body,
      bc::pki::purpose purpose = bc::pki::purpose::renew_response) {
    bc::wire::join_answer a;
    a.what = bc::wire::join_answer::kind::renewed;
    a.body = bc::wire::encode(body);
    auto sig = bc::pki::sign(gateway.keys.join_signing.key, purpose,
                             {bc::as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    add_time(a, r);
    return answered(a);
  }
  bc::wire::joined_body body_for(
      const request& r,
      bc::pki::certificate_role role = bc::pki::certificate_role::node) {
    auto csr = bc::pki::parse_csr(r.csr).value();
    auto issued = issue(csr.key, r.node_id, role);
    auto digest = bc::pki::sha256(r.csr);
    return {r.node_id,
            {issued.der, gateway.keys.node_ca.certificate},
            {gateway.keys.command_signing.pub().spki()},
            {digest.begin(), digest.end()},
            std::string{fake_gateway::domain},
            std::string{fake_gateway::site},
            std::string{bc::pki::role_text(role)},
            bc::to_millis(issued.not_after),
            gateway.pins(bc::pki::key_name::serving_ca),
            gateway.pins(bc::pki::key_name::join_signing)};
  }

  bc::pki::issued_certificate issue(
      const bc::pki::public_key& key, const std::string& node,
      bc::pki::certificate_role role = bc::pki::certificate_role::node) {
    bc::pki::node_certificate_request wanted{key,
                                             std::string{fake_gateway::domain},
                                             std::string{fake_gateway::site},
                                             node,
                                             role,
                                             statements,
                                             world_.server,
                                             lifetime,
                                             {}};
    auto random = bc::pki::random_bytes(wanted.serial_random.size());
    std::copy(random.begin(), random.end(), wanted.serial_random.begin());
    return bc::pki::issue_node_certificate(gateway.keys.node_ca, wanted);
  }

  void add_time(bc::wire::join_answer& a, const request& r) const {
    auto ms = bc::to_millis(world_.server);
    auto sig = bc::pki::sign(
        gateway.keys.join_signing.key, bc::pki::purpose::server_time,
        {bc::as_bytes(std::to_string(ms)), bc::pki::sha256(r.csr)});
    a.signing_key = gateway.keys.join_signing.key.pub().spki();
    a.time = bc::wire::server_time{ms, {sig.begin(), sig.end()}};
  }
  [[nodiscard]] bc::daemon::exchange answered(
      const bc::wire::join_answer& a) const {
    return {bc::daemon::exchange::fate::answered, bc::wire::http_status(a),
            bc::wire::encode(a), gateway.chain(), ""};
  }

 private:
  [[nodiscard]] bool is_over(const bc::bytes& leaf) const {
    return world_.server >= bc::pki::parse_certificate(leaf).value().not_after;
  }
  static bool proved(const request& r) {
    auto leaf = bc::pki::parse_certificate(r.certificate_chain[0]).value();
    auto time = std::to_string(r.client_time_ms);
    return bc::pki::verify(
        leaf.key, bc::pki::purpose::renew_pop,
        {bc::pki::sha256(r.csr), bc::as_bytes(r.node_id), bc::as_bytes(time)},
        r.pop_signature);
  }

  virtual_world& world_;
};

/// One daemon of a fleet: its folder, its loop, what it said.
class virtual_node {
 public:
  virtual_node(const temporary_folder& folder, virtual_world& world,
               fake_renewals& server, unsigned seed = 1,
               const std::string& name = "data")
      : world_(world), seed_(seed), config_(server.gateway.config(folder)) {
    config_.data_dir = folder / name;
    store_.emplace(bc::daemon::identity_store::open(config_.data_dir).value());
    auto me = server.identity();
    REQUIRE(store_->keep(me.key, me.who));
    start(std::move(me), server);
  }

  /// What a restart of the daemon does.
  void restart(fake_renewals& server) {
    auto look = store_->look().value();
    REQUIRE(look.pair);
    REQUIRE(store_->settle(look));
    start(std::move(*look.pair), server);
  }
  /// Runs for so long of the server's time; the longest sleep in it.
  void run(bc::milliseconds time) {
    auto until = world_.server + time;
    while (world_.server < until) {
      auto rest = loop_->step();
      REQUIRE(rest <= bc::daemon::longest_sleep);
      shortest = std::min(shortest, rest);
      world_.pass(std::min<bc::milliseconds>(rest, until - world_.server));
    }
  }

  bc::milliseconds shortest = bc::daemon::longest_sleep;
  /// From the next restart on.
  bool for_trials = false;
  /// How it joins again, from the next restart on; empty: it does not.
  std::function<bc::daemon::renewal_attempt(const bc::daemon::config&,
                                            const bc::daemon::identity_store&,
                                            const bc::daemon::node_identity&)>
      rejoin = {};
  std::vector<std::string> said;
  [[nodiscard]] bc::daemon::renewal_loop& loop() { return *loop_; }
  [[nodiscard]] const bc::daemon::identity_store& store() const {
    return *store_;
  }

 private:
  void start(bc::daemon::node_identity me, fake_renewals& server) {
    bc::daemon::renewal_tools tools;
    tools.clocks = [this] { return world_.clocks(); };
    tools.random = [this] {
      seed_ = seed_ * 1'103'515'245U + 12'345U;
      return seed_ / 65'536U % 1'000U;
    };
    tools.send = [&server](std::string_view body,
                           const bc::daemon::node_identity* as) {
      return server.take(body, as);
    };
    tools.say = [this](const std::string& line) { said.push_back(line); };
    tools.for_trials = for_trials;
    if (rejoin)
      tools.rejoin = [this](const bc::daemon::node_identity& as,
                            bc::time_point) {
        return rejoin(config_, *store_, as);
      };
    loop_.emplace(config_, *store_, std::move(me), std::move(tools));
  }

  virtual_world& world_;
  unsigned seed_;
  bc::daemon::config config_;
  std::optional<bc::daemon::identity_store> store_;
  std::optional<bc::daemon::renewal_loop> loop_;
};
