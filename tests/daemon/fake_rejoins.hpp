#pragma once

#include "base/wire_attest.hpp"
#include "daemon/rejoin.hpp"
#include "pki/claims_digest.hpp"
#include "tests/daemon/fake_renewals.hpp"

#include <map>
#include <set>

/// The half of a control plane that lets a machine back by its expired
/// certificate: challenges, proofs and stored answers as the real one's, as far
/// as a daemon can tell.
class fake_rejoins {
 public:
  using exchange = bc::daemon::exchange;
  using challenge_reply = std::function<exchange(
      fake_rejoins&, const bc::wire::challenge_request&)>;
  using join_reply =
      std::function<exchange(fake_rejoins&, const bc::wire::join_request&)>;

  fake_rejoins(virtual_world& world, fake_renewals& renewals)
      : world_(world), renewals_(renewals) {}

  bool allowed = true;
  std::vector<bc::wire::challenge_request> challenges;
  std::vector<bc::wire::join_request> joins;
  std::vector<bc::time_point> at;  // when, by the server's clock
  std::deque<challenge_reply> challenge_script;
  std::deque<join_reply> join_script;  // the next answers, before the real ones
  int issued = 0;

  exchange post(std::string_view path, std::string_view body) {
    at.push_back(world_.server);
    if (path == "/v1/join-challenge") {
      auto asked = bc::wire::decode_challenge_request(body);
      REQUIRE(asked);
      challenges.push_back(asked.value());
      return taken(challenge_script, asked.value(),
                   [this](const auto& r) { return challenge(r.csr_sha256); });
    }
    REQUIRE(path == "/v1/join");
    auto asked = bc::wire::decode_join_request(body);
    REQUIRE(asked);
    REQUIRE(asked.value().x509pop);
    joins.push_back(asked.value());
    return taken(join_script, asked.value(),
                 [this](const auto& r) { return judged(r); });
  }

  exchange challenge(
      const bc::bytes& csr_sha256, bc::milliseconds lasts = bc::seconds{120},
      bc::pki::purpose purpose = bc::pki::purpose::join_challenge) {
    bc::wire::challenge_body body;
    body.kid = "sha256/of-a-test";
    body.nonce = bc::pki::random_bytes(bc::wire::nonce_size);
    body.expires_ms = bc::to_millis(world_.server + lasts);
    body.payload = bc::pki::random_bytes(32);
    body.csr_sha256 = csr_sha256;
    secrets_[body.nonce] = body.payload;
    return signed_as(bc::wire::join_answer::kind::challenge,
                     bc::wire::encode(body), purpose, csr_sha256);
  }

  exchange judged(const bc::wire::join_request& r) {
    const auto& leaf = r.x509pop->chain.front();
    const auto csr = digest(r.csr);
    if (!allowed || !proved(r))
      return refused(csr);
    if (auto found = stored_.find(csr); found != stored_.end())
      return signed_as(bc::wire::join_answer::kind::joined, found->second,
                       bc::pki::purpose::join_response, csr);
    if (!spent_.insert(leaf).second)
      return refused(csr);
    ++issued;
    stored_[csr] = bc::wire::encode(body_for(r));
    return signed_as(bc::wire::join_answer::kind::joined, stored_[csr],
                     bc::pki::purpose::join_response, csr);
  }

  bc::wire::joined_body body_for(const bc::wire::join_request& r) {
    bc::wire::renew_request same;
    same.node_id = r.node_id;
    same.csr = r.csr;
    return renewals_.body_for(same);
  }

  exchange refused(const bc::bytes& csr_sha256) {
    return failed(bc::errc::access_denied, "Join refused", csr_sha256);
  }
  exchange failed(bc::errc code, const std::string& message,
                  const bc::bytes& csr_sha256) {
    bc::wire::join_answer a;
    a.code = code;
    a.message = message;
    add_time(a, csr_sha256);
    return renewals_.answered(a);
  }
  exchange signed_as(bc::wire::join_answer::kind what, std::string body,
                     bc::pki::purpose purpose, const bc::bytes& csr_sha256) {
    bc::wire::join_answer a;
    a.what = what;
    a.body = std::move(body);
    auto sig = bc::pki::sign(renewals_.gateway.keys.join_signing.key, purpose,
                             {bc::as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    add_time(a, csr_sha256);
    return renewals_.answered(a);
  }
  static exchange lost() {
    return {exchange::fate::lost, 0, "", {}, "cable cut"};
  }
  static bc::bytes digest(const bc::bytes& of) {
    return bc::to_bytes(bc::pki::sha256(of));
  }

  [[nodiscard]] bc::daemon::rejoin_tools tools() {
    bc::daemon::rejoin_tools out;
    out.post = [this](std::string_view path, std::string_view body) {
      return post(path, body);
    };
    out.hardware = [] { return fake_machine{}.read(); };
    return out;
  }

 private:
  template <class Script, class Request, class Otherwise>
  exchange taken(Script& script, const Request& asked, Otherwise otherwise) {
    if (script.empty())
      return otherwise(asked);
    auto next = script.front();
    script.pop_front();
    return next(*this, asked);
  }

  bool proved(const bc::wire::join_request& r) {
    const auto& e = *r.x509pop;
    auto secret = secrets_.find(e.nonce);
    if (secret == secrets_.end() ||
        world_.server >= bc::from_millis(e.expires_ms))
      return false;
    auto leaf = bc::pki::parse_certificate(e.chain.front()).value();
    auto expires = std::to_string(e.expires_ms);
    return bc::pki::verify(
        leaf.key, bc::pki::purpose::rejoin_pop,
        {bc::pki::sha256(r.csr), bc::pki::sha256(e.chain.front()), e.nonce,
         bc::as_bytes(expires), secret->second, bc::pki::claims_digest(r)},
        e.signature);
  }

  void add_time(bc::wire::join_answer& a, const bc::bytes& csr_sha256) const {
    auto ms = bc::to_millis(world_.server);
    auto sig = bc::pki::sign(renewals_.gateway.keys.join_signing.key,
                             bc::pki::purpose::server_time,
                             {bc::as_bytes(std::to_string(ms)), csr_sha256});
    a.signing_key = renewals_.gateway.keys.join_signing.key.pub().spki();
    a.time = bc::wire::server_time{ms, {sig.begin(), sig.end()}};
  }

  virtual_world& world_;
  fake_renewals& renewals_;
  std::map<bc::bytes, bc::bytes> secrets_;   // by nonce
  std::map<bc::bytes, std::string> stored_;  // bodies by CSR
  std::set<bc::bytes> spent_;                // leaves that brought one back
};
