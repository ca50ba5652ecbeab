#include "actors/rejoining/challenge_flow.hpp"

#include "actors/joining/answers.hpp"
#include "base/encoding.hpp"
#include "base/wire_attest.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/challenge.hpp"

#include <algorithm>
#include <utility>

namespace bc::actors {

namespace {

// A fleet that comes back at once is let in within minutes; a flood costs a
// process a tenth of a core.
constexpr double per_second = 200;
constexpr double burst = 2'000;

std::array<std::uint8_t, wire::nonce_size> new_nonce() {
  const auto random = pki::random_bytes(wire::nonce_size);
  std::array<std::uint8_t, wire::nonce_size> out{};
  std::ranges::copy(random, out.begin());
  return out;
}

pki::sha256_digest digest_of(const bytes& sha256) {
  pki::sha256_digest out{};
  std::ranges::copy(sha256, out.begin());
  return out;
}

bool is_served(const join_environment& env, const wire::challenge_request& r) {
  return env.x509pop && r.attestor == wire::x509pop_attestor;
}

signed_text make_body(const pki::key_bundle& keys,
                      const wire::challenge_request& asked, time_point now) {
  const auto all = pki::tpm::challenge_keys(keys);
  const auto given = pki::tpm::make_challenge(all.front(), new_nonce(), now);
  const auto secret =
      pki::tpm::challenge_secret(all.front(), given,
                                 {asked.attestor, digest_of(asked.csr_sha256),
                                  pki::tpm::x509pop_evidence(asked.leaf)});
  wire::challenge_body body;
  body.kid = given.kid;
  body.nonce = to_bytes(given.nonce);
  body.expires_ms = to_millis(given.expires_at);
  body.payload = to_bytes(secret.expose());
  body.csr_sha256 = asked.csr_sha256;
  return sign_answer_body(keys, wire::encode(body),
                          pki::purpose::join_challenge);
}

refusal_report report_of(const join_environment& env,
                         const wire::challenge_request& asked,
                         std::string correlation) {
  refusal_report out;
  out.owner = env.root_tenant;
  out.reason = events::refusal_reason::join_attestor;
  out.attestor = events::attestor_of(out.reason);
  out.csr_sha256 = to_hex(asked.csr_sha256);
  out.correlation = std::move(correlation);
  return out;
}

}  // namespace

std::shared_ptr<token_bucket> challenge_bucket() {
  return std::make_shared<token_bucket>(per_second, burst);
}

void run_challenge(std::shared_ptr<const join_environment> env,
                   std::shared_ptr<token_bucket> bucket,
                   std::shared_ptr<ledger> streams, daemon_call call,
                   std::function<void(wire::join_answer)> done) {
  if (!env->keys)
    return done(
        plain_failure(errc::invalid_config, "This server has no join keys"));
  auto decoded = wire::decode_challenge_request(call.body);
  if (!decoded)
    return done(plain_failure(decoded.error().code, decoded.error().message,
                              decoded.error().path));
  if (!bucket->take(token_bucket::steady::now()))
    return done(plain_failure(errc::rate_limited,
                              "Too many machines ask at once; retry"));
  const auto& asked = decoded.value();
  const auto now = streams->now();
  const answer_signer signer{*env->keys, digest_of(asked.csr_sha256)};
  if (!is_served(*env, asked)) {
    if (env->refused)
      env->refused(report_of(*env, asked, std::move(call.correlation)));
    return done(signer.failed(errc::access_denied, wire::refused_message, now));
  }
  if (asked.leaf.empty())
    return done(
        plain_failure(errc::invalid_input, "is missing", "/evidence/x509pop"));
  done(signer.challenged(make_body(*env->keys, asked, now), now));
}

}  // namespace bc::actors
