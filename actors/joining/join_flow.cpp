#include "actors/joining/join_flow.hpp"

#include "actors/joining/join_run.hpp"
#include "actors/joining/refusal_details.hpp"
#include "actors/rejoining/rejoin_flow.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "pki/claims_digest.hpp"
#include "pki/jwe.hpp"

#include <string>
#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

namespace {

constexpr std::string_view join_token_attestor = "join-token";
constexpr std::string_view unavailable_message =
    "The join could not be completed now; retry";

// Everything this attestor name may put into an event; free text would defeat
// the limiter, which is keyed by it.
std::string_view known_attestor(std::string_view name) {
  return name.empty() || name == join_token_attestor ? join_token_attestor
                                                     : "unknown";
}

}  // namespace

void join_run::start() {
  if (!env_->keys)
    return finish(
        plain_failure(errc::invalid_config, "This server has no join keys"));
  auto decoded = wire::decode_join_request(call_.body);
  if (!decoded)
    return finish(plain_failure(decoded.error().code, decoded.error().message,
                                decoded.error().path));
  request_ = std::move(decoded).value();
  if (env_->x509pop && request_.attestor == wire::x509pop_attestor)
    return run_rejoin(env_, streams_, std::move(request_),
                      std::move(call_.correlation),
                      std::exchange(done_, nullptr));
  csr_sha256_ = pki::sha256(request_.csr);
  asked_at_ = streams_->now();
  owner_ = env_->root_tenant;
  claims_ = pki::without_shared(events::hardware_of(request_.hardware),
                                env_->shared_uuids);
  identifiers_ = pki::normalise(claims_);
  hardware_ = pki::derive_hardware_key(identifiers_);
  if (auto reason = check_request())
    return refuse(*reason);
  load_token();
}

std::optional<refusal_reason> join_run::check_request() {
  if (auto reason = check_csr())
    return reason;
  if (known_attestor(request_.attestor) != join_token_attestor)
    return refusal_reason::join_attestor;
  return open_evidence();
}

std::optional<refusal_reason> join_run::check_csr() {
  // The decoder lets through only the roles the certificate knows.
  auto role = pki::parse_role(request_.role);
  auto csr = pki::parse_csr(request_.csr);
  if (!role || !csr || !pki::self_signature_verifies(csr.value()))
    return refusal_reason::join_csr;
  role_ = *role;
  csr_ = std::move(csr).value();
  return std::nullopt;
}

result<secret_bytes> join_run::open_seal(const pki::private_key& key) const {
  return pki::open_seal(key, *request_.sealed_token,
                        {csr_sha256_, pki::claims_digest(request_)},
                        streams_->now());
}

std::optional<refusal_reason> join_run::open_evidence() {
  if (!request_.sealed_token)
    return refusal_reason::join_token;
  auto opened = open_seal(env_->keys->join_encryption);
  // A machine may have been installed before the key rotated.
  auto other = env_->keys->others.find(pki::key_name::join_encryption);
  if (!opened && other != env_->keys->others.end())
    opened = open_seal(other->second.key);
  if (!opened)
    return refusal_reason::join_token;
  auto bearer = events::join_token::parse_bearer(opened.value().expose_text());
  if (!bearer)
    return refusal_reason::token_malformed;
  token_id_ = bearer->id;
  presented_ = events::join_token::secret_digest(bearer->secret);
  return std::nullopt;
}

void join_run::load_token() {
  streams_->token(*token_id_, then(&join_run::on_token));
}

void join_run::on_token(shared_state<events::join_token::state> token) {
  token_ = std::move(token);
  if (auto reason = events::join_token::check_secret(*token_, presented_))
    return refuse(*reason);
  owner_ = token_->token->tenant;
  secret_verified_ = true;
  answer_held_ = false;
  failed_rule_.reset();
  // After the token: an exhausted one was read together with, or before, the
  // answer that used it up.
  streams_->holder(answer_claim_of(*token_id_, csr_sha256_),
                   then(&join_run::on_answer_holder));
}

void join_run::finish(wire::join_answer answer) {
  auto done = std::exchange(done_, nullptr);
  done(std::move(answer));
}

void join_run::give_joined(signed_text body) {
  if (hit(fault_point::join_before_answer) == fault_action::error)
    return unavailable();
  finish(signer().joined(std::move(body), streams_->now()));
}

void join_run::refuse(refusal_reason reason) {
  if (env_->refused)
    env_->refused(report_of(reason));
  // Signed as of before the work: the time of the refusal itself would tell how
  // far the join came, which holding it back is to hide.
  finish(
      signer().failed(errc::access_denied, wire::refused_message, asked_at_));
}

refusal_report join_run::report_of(refusal_reason reason) const {
  refusal_report out;
  out.owner = owner_;
  out.reason = reason;
  out.attestor = known_attestor(request_.attestor);
  out.role = request_.role;
  out.csr_sha256 = to_hex(csr_sha256_);
  out.hardware_key = hardware_.hex;
  out.correlation = call_.correlation;
  if (secret_verified_) {
    out.token = token_id_->str();
    out.details = refusal_details({reason, *token_, request_, role_, claims_,
                                   hardware_, failed_rule_, decision_time()});
  }
  return out;
}

void join_run::conflict() {
  finish(signer().failed(errc::conflict, wire::concurrent_message,
                         streams_->now()));
}

void join_run::unavailable() {
  finish(
      signer().failed(errc::unavailable, unavailable_message, streams_->now()));
}

void run_join(std::shared_ptr<const join_environment> env,
              std::shared_ptr<ledger> streams, daemon_call call,
              std::function<void(wire::join_answer)> done) {
  std::make_shared<join_run>(std::move(env), std::move(streams),
                             std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
