#include "actors/joining/join_flow.hpp"

#include "actors/joining/join_run.hpp"
#include "actors/joining/refusal_details.hpp"
#include "actors/rejoining/rejoin_flow.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"

#include <string>
#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

void join_run::start() {
  if (!keys_)
    return finish(
        plain_failure(errc::invalid_config, "This server has no join keys"));
  auto decoded = wire::decode_join_request(body_);
  if (!decoded)
    return finish(plain_failure(decoded.error().code, decoded.error().message,
                                decoded.error().path));
  body_.clear();
  facts_ = std::make_shared<join_facts>();
  facts_->env = env_;
  facts_->streams = streams_;
  facts_->correlation = correlation_;
  facts_->request = std::move(decoded).value();
  if (env_->x509pop && request().attestor == wire::x509pop_attestor)
    return run_rejoin(env_, streams_, std::move(facts_->request),
                      std::move(correlation_),
                      [self = shared_from_this()](wire::join_answer answer) {
                        self->finish(std::move(answer));
                      });
  begin(request().csr);
  if (auto reason = check_request())
    return refuse(*reason);
  prove();
}

std::optional<refusal_reason> join_run::check_request() {
  attesting_ = make_attesting(facts_);
  if (!read_facts())
    return refusal_reason::join_csr;
  return attesting_ ? attesting_->open(decision_time())
                    : std::optional{refusal_reason::join_attestor};
}

bool join_run::read_facts() {
  auto& f = *facts_;
  f.csr_sha256 = csr_sha256_;
  f.claims = pki::without_shared(events::hardware_of(f.request.hardware),
                                 env_->shared_uuids);
  f.identifiers = pki::normalise(f.claims);
  f.hardware = pki::derive_hardware_key(f.identifiers);
  // The decoder lets through only the roles the certificate knows.
  auto role = pki::parse_role(f.request.role);
  if (!role || !read_csr(f.request.csr))
    return false;
  f.role = *role;
  f.csr = csr_;
  return true;
}

void join_run::prove() {
  failed_rule_.reset();
  attesting_->prove(decision_time(), then(&join_run::on_proved));
}

void join_run::on_proved(std::optional<refusal_reason> refused) {
  if (refused)
    return refuse(*refused);
  find_answer(&join_run::take_grant);
}

void join_run::take_grant() {
  attesting_->decide(decision_time(), then(&join_run::on_attested));
}

void join_run::on_attested(attested what) {
  if (const auto* reason = std::get_if<refusal_reason>(&what))
    return refuse(*reason);
  if (const auto* why = std::get_if<events::rejected>(&what))
    return try_again(why->time);
  if (const auto* wait = std::get_if<deferral>(&what))
    return defer(*wait);
  states_ = {};
  states_.granted =
      std::move(std::get<std::shared_ptr<const events::grant>>(what));
  read_states();
}

void join_run::give(signed_text body) {
  if (hit(fault_point::join_before_answer) == fault_action::error)
    return unavailable();
  finish(signer().joined(std::move(body), streams_->now()));
}

void join_run::defer(const deferral& what) {
  finish(signer().deferred(
      sign_answer_body(*keys_,
                       wire::encode(wire::deferred_body{
                           what.request.str(), what.retry_after.count(),
                           to_bytes(csr_sha256_)}),
                       pki::purpose::join_response),
      streams_->now()));
}

void join_run::refuse(refusal_reason reason) {
  if (env_->refused)
    env_->refused(report_of(reason));
  deny(wire::refused_message);
}

refusal_report join_run::report_of(refusal_reason reason) const {
  refusal_report out;
  const auto owner = attesting_ ? attesting_->owner() : std::nullopt;
  out.owner = owner.value_or(env_->root_tenant);
  out.reason = reason;
  // Never the caller's own text, which would defeat the limiter: it is keyed by
  // the attestor.
  out.attestor = attesting_ ? attesting_->name() : "unknown";
  out.role = request().role;
  out.csr_sha256 = to_hex(csr_sha256_);
  out.hardware_key = facts_->hardware.hex;
  out.correlation = correlation_;
  if (owner) {
    out.token = attesting_->token();
    out.details =
        refusal_details({attesting_->pool(), request(), facts_->claims,
                         facts_->hardware, compared_by(reason)});
  }
  return out;
}

std::optional<events::rule_verdict> join_run::compared_by(
    refusal_reason reason) const {
  if (failed_rule_)
    return events::verdict_of(*failed_rule_);
  if (reason == refusal_reason::join_csr)
    return events::rule_verdict{
        {}, {}, "a new key", "a key that another certificate holds"};
  return attesting_->compared(reason, decision_time());
}

void join_run::conflict() {
  finish(signer().failed(errc::conflict, wire::concurrent_message,
                         streams_->now()));
}

void run_join(std::shared_ptr<const join_environment> env,
              std::shared_ptr<ledger> streams, daemon_call call,
              std::function<void(wire::join_answer)> done) {
  std::make_shared<join_run>(std::move(env), std::move(streams),
                             std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
