#include "actors/rejoining/challenge_flow.hpp"

#include "actors/joining/answers.hpp"
#include "actors/joining/key_fault.hpp"
#include "base/encoding.hpp"
#include "base/wire_attest.hpp"
#include "pki/digest.hpp"
#include "pki/tpm/challenge.hpp"
#include "pki/tpm/judge.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace bc::actors {

namespace {

// A fleet that comes back at once is let in within minutes; a flood costs a
// process a tenth of a core, with EKs on P-384 up to half of one.
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
  return (env.x509pop && r.attestor == wire::x509pop_attestor) ||
         (env.tpm && r.attestor == wire::tpm_attestor);
}

// The evidence that a challenge of this attestor is for, as a path; empty: it
// is there.
std::string_view missing_evidence(const wire::challenge_request& r) {
  if (r.attestor == wire::tpm_attestor)
    return r.tpm ? "" : "/evidence/tpm";
  return r.leaf.empty() ? "/evidence/x509pop" : "";
}

/// A challenge, or why there can be none for this evidence.
using made_body = std::variant<wire::challenge_body, pki::tpm::code>;

wire::challenge_body repeating(const pki::tpm::challenge& given,
                               const wire::challenge_request& asked) {
  wire::challenge_body out;
  out.kid = given.kid;
  out.nonce = to_bytes(given.nonce);
  out.expires_ms = to_millis(given.expires_at);
  out.csr_sha256 = asked.csr_sha256;
  return out;
}

// The secret in clear: the leaf's key signs it.
made_body challenge_a_leaf(const pki::tpm::challenge_key& key,
                           const wire::challenge_request& asked,
                           time_point now) {
  const auto given = pki::tpm::make_challenge(key, new_nonce(), now);
  const auto secret =
      pki::tpm::challenge_secret(key, given,
                                 {asked.attestor, digest_of(asked.csr_sha256),
                                  pki::tpm::x509pop_evidence(asked.leaf)});
  auto out = repeating(given, asked);
  out.payload = to_bytes(secret.expose());
  return out;
}

// The secret as a credential that the EK's TPM alone opens, for that AK.
made_body challenge_a_tpm(const pki::tpm::challenge_key& key,
                          const wire::challenge_request& asked,
                          time_point now) {
  const auto& tpm = *asked.tpm;
  auto made = pki::tpm::answer_challenge(
      {tpm.ek_public, tpm.ak_public, digest_of(asked.csr_sha256),
       digest_of(tpm.claims_sha256)},
      key, new_nonce(), now);
  if (const auto* fault = std::get_if<pki::tpm::code>(&made))
    return *fault;
  auto& answer = std::get<pki::tpm::challenge_answer>(made);
  auto out = repeating(answer.given, asked);
  out.payload = std::move(answer.credential_blob);
  out.encrypted_secret = std::move(answer.encrypted_secret);
  out.claims_sha256 = tpm.claims_sha256;
  return out;
}

made_body make_body(const pki::key_bundle& keys,
                    const wire::challenge_request& asked, time_point now) {
  const auto key = std::move(pki::tpm::challenge_keys(keys).front());
  return asked.attestor == wire::tpm_attestor
             ? challenge_a_tpm(key, asked, now)
             : challenge_a_leaf(key, asked, now);
}

refusal_report report_of(const join_environment& env,
                         const wire::challenge_request& asked,
                         events::refusal_reason reason,
                         std::string correlation) {
  refusal_report out;
  out.owner = env.root_tenant;
  out.reason = reason;
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
  auto refuse = [&](events::refusal_reason reason) {
    if (env->refused)
      env->refused(report_of(*env, asked, reason, std::move(call.correlation)));
    done(signer.failed(errc::access_denied, wire::refused_message, now));
  };
  if (!is_served(*env, asked))
    return refuse(events::refusal_reason::join_attestor);
  if (const auto path = missing_evidence(asked); !path.empty())
    return done(
        plain_failure(errc::invalid_input, "is missing", std::string{path}));
  auto made = make_body(*env->keys, asked, now);
  if (const auto* fault = std::get_if<pki::tpm::code>(&made))
    return refuse(reason_of(wire::tpm_attestor, *fault));
  done(signer.challenged(
      sign_answer_body(*env->keys,
                       wire::encode(std::get<wire::challenge_body>(made)),
                       pki::purpose::join_challenge),
      now));
}

}  // namespace bc::actors
