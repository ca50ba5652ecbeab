#pragma once

#include "pki/claims_digest.hpp"
#include "pki/tpm/judge.hpp"
#include "tests/daemon/fake_gateway.hpp"
#include "tests/daemon/soft_keeper.hpp"

#include <deque>

/// The half of a control plane that lets machines in by their TPM: the
/// challenge and the verdict are the real one's (pki/tpm/judge.hpp), the
/// certificate names the AK.
namespace bc::testing {

class fake_attestor {
 public:
  using exchange = daemon::exchange;
  using challenge_reply =
      std::function<exchange(fake_attestor&, const wire::challenge_request&)>;
  using join_reply =
      std::function<exchange(fake_attestor&, const wire::join_request&)>;

  explicit fake_attestor(fake_gateway& g) : gateway(g) {}

  fake_gateway& gateway;
  /// The server's clock.
  std::function<time_point()> now = [this] { return gateway.start; };
  std::vector<wire::challenge_request> challenges;
  std::vector<wire::join_request> joins;
  std::vector<std::string> verdicts;  // a code, or "admitted"
  std::deque<challenge_reply> challenge_script;
  std::deque<join_reply> join_script;

  exchange post(std::string_view path, std::string_view body) {
    REQUIRE(path == "/v1/join-challenge");
    auto asked = wire::decode_challenge_request(body);
    REQUIRE(asked);
    challenges.push_back(asked.value());
    if (challenge_script.empty())
      return gateway.answered(challenge(asked.value()));
    auto next = challenge_script.front();
    challenge_script.pop_front();
    return next(*this, asked.value());
  }

  exchange join(const wire::join_request& r) {
    joins.push_back(r);
    if (join_script.empty())
      return judged(r);
    auto next = join_script.front();
    join_script.pop_front();
    return next(*this, r);
  }

  wire::challenge_body challenge_for(const wire::challenge_request& asked) {
    auto nonce = pki::random_bytes(wire::nonce_size);
    std::array<std::uint8_t, wire::nonce_size> fixed{};
    std::copy(nonce.begin(), nonce.end(), fixed.begin());
    auto made = pki::tpm::answer_challenge(
        {asked.tpm->ek_public, asked.tpm->ak_public,
         digest_of(asked.csr_sha256), digest_of(asked.tpm->claims_sha256)},
        keys_.front(), fixed, now());
    REQUIRE(std::holds_alternative<pki::tpm::challenge_answer>(made));
    const auto& a = std::get<pki::tpm::challenge_answer>(made);
    wire::challenge_body out;
    out.kid = a.given.kid;
    out.nonce = nonce;
    out.expires_ms = to_millis(a.given.expires_at);
    out.payload = a.credential_blob;
    out.encrypted_secret = a.encrypted_secret;
    out.csr_sha256 = asked.csr_sha256;
    out.claims_sha256 = asked.tpm->claims_sha256;
    return out;
  }

  wire::join_answer challenge(const wire::challenge_request& asked) {
    return signed_challenge(challenge_for(asked), asked.csr_sha256);
  }

  wire::join_answer signed_challenge(const wire::challenge_body& body,
                                     const bytes& csr_sha256) {
    wire::join_answer a;
    a.what = wire::join_answer::kind::challenge;
    a.body = wire::encode(body);
    auto sig = pki::sign(gateway.keys.join_signing.key,
                         pki::purpose::join_challenge, {as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    add_time(a, csr_sha256);
    return a;
  }

  wire::join_answer failed(errc code, const bytes& csr_sha256,
                           std::string message = "no") {
    wire::join_answer a;
    a.code = code;
    a.message = std::move(message);
    add_time(a, csr_sha256);
    return a;
  }

  exchange judged(const wire::join_request& r) {
    auto verdict = judge(r);
    if (const auto* why = std::get_if<pki::tpm::code>(&verdict)) {
      verdicts.emplace_back(pki::tpm::text_of(*why));
      return gateway.answered(
          failed(errc::access_denied, to_bytes(pki::sha256(r.csr))));
    }
    verdicts.emplace_back("admitted");
    auto b = gateway.joined_body(r);
    b.certificate_chain.front() =
        pki::issue_node_certificate(
            gateway.keys.node_ca,
            {pki::parse_csr(r.csr).value().key,
             std::string{fake_gateway::domain},
             std::string{fake_gateway::site},
             std::string{fake_gateway::node},
             pki::certificate_role::node,
             {std::get<pki::tpm::admitted>(verdict).statement},
             now(),
             pki::max_node_lifetime,
             {9, 9, 9}})
            .der;
    return gateway.answered(
        signed_answer(wire::join_answer::kind::joined, wire::encode(b), r));
  }

  wire::join_answer signed_answer(wire::join_answer::kind what,
                                  std::string body,
                                  const wire::join_request& r) {
    wire::join_answer a;
    a.what = what;
    a.body = std::move(body);
    auto sig = pki::sign(gateway.keys.join_signing.key,
                         pki::purpose::join_response, {as_bytes(a.body)});
    a.signature = {sig.begin(), sig.end()};
    add_time(a, to_bytes(pki::sha256(r.csr)));
    return a;
  }

  exchange deferred(const wire::join_request& r, std::int64_t after = 30) {
    wire::deferred_body b;
    b.request_id = "jreq_01k5w000000000000000000000";
    b.retry_after_seconds = after;
    b.csr_sha256 = to_bytes(pki::sha256(r.csr));
    return gateway.answered(
        signed_answer(wire::join_answer::kind::deferred, wire::encode(b), r));
  }

 private:
  static pki::sha256_digest digest_of(const bytes& from) {
    pki::sha256_digest out{};
    REQUIRE(from.size() == out.size());
    std::copy(from.begin(), from.end(), out.begin());
    return out;
  }

  std::variant<pki::tpm::admitted, pki::tpm::code> judge(
      const wire::join_request& r) {
    REQUIRE(r.tpm);
    const auto& t = *r.tpm;
    pki::tpm::evidence e;
    std::array<std::uint8_t, wire::nonce_size> nonce{};
    std::copy(t.nonce.begin(), t.nonce.end(), nonce.begin());
    e.repeated = {t.kid, nonce, from_millis(t.expires_ms)};
    e.activation = t.activation;
    e.ek_public = t.ek_public;
    e.ek_certificate = t.ek_certificate;
    e.ek_chain = t.ek_chain;
    e.ak_public = t.ak_public;
    e.node_key_public = t.node_key_public;
    e.certify_info = t.certify_info;
    e.certify_signature = t.certify_signature;
    pki::tpm::judge_config config;
    return pki::tpm::judge(
        e, config,
        {*pki::parse_role(r.role), r.csr, pki::claims_digest(r), keys_, now()});
  }

  void add_time(wire::join_answer& a, const bytes& csr_sha256) const {
    auto ms = to_millis(now());
    auto sig =
        pki::sign(gateway.keys.join_signing.key, pki::purpose::server_time,
                  {as_bytes(std::to_string(ms)), csr_sha256});
    a.signing_key = gateway.keys.join_signing.key.pub().spki();
    a.time = wire::server_time{ms, {sig.begin(), sig.end()}};
  }

  std::vector<pki::tpm::challenge_key> keys_ =
      pki::tpm::challenge_keys(gateway.keys);
};

}  // namespace bc::testing
