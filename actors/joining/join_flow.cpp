#include "actors/joining/join_flow.hpp"

#include "actors/joining/join_run.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/admission.hpp"
#include "pki/jwe.hpp"

#include <string>
#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

namespace {

constexpr std::string_view join_token_attestor = "join-token";
constexpr int max_tries = 3;
constexpr std::string_view unavailable_message =
    "The join could not be completed now; retry";

pki::hardware_claims to_hardware(const wire::claims& c) {
  return {c.product_uuid, c.product_serial, c.board_serial, c.chassis_serial,
          c.macs,         c.gpu_uuids,      c.hostname};
}

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
  csr_sha256_ = pki::sha256(request_.csr);
  asked_at_ = streams_->now();
  owner_ = env_->root_tenant;
  hardware_ =
      pki::derive_hardware_key(pki::normalise(to_hardware(request_.hardware)));
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

std::optional<refusal_reason> join_run::open_evidence() {
  if (!request_.sealed_token)
    return refusal_reason::join_token;
  auto opened =
      pki::open_seal(env_->keys->join_encryption, *request_.sealed_token,
                     csr_sha256_, streams_->now());
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
  answer_held_ = false;
  // After the token: an exhausted one was read together with, or before, the
  // answer that used it up.
  streams_->holder(answer_claim_of(*token_id_, csr_sha256_),
                   then(&join_run::on_answer_holder));
}

void join_run::check_token() {
  if (auto reason =
          events::join_token::check_usable(*token_, role_, decision_time()))
    return refuse(*reason);
  streams_->pool(token_->token->pool, then(&join_run::on_pool));
}

void join_run::on_pool(shared_state<events::pool::state> pool) {
  pool_ = std::move(pool);
  streams_->site(token_->token->site, then(&join_run::on_site));
}

void join_run::on_site(shared_state<events::site::state> site) {
  site_ = std::move(site);
  streams_->tenant(token_->token->tenant, then(&join_run::on_tenant));
}

void join_run::on_tenant(shared_state<events::tenant::state> tenant) {
  tenant_ = std::move(tenant);
  hardware_holder_.reset();
  if (!hardware_.trusted)
    return decide();
  streams_->holder(events::node::hardware_claim(hardware_.hex),
                   then(&join_run::on_hardware_holder));
}

void join_run::on_hardware_holder(std::optional<events::claim_holder> holder) {
  hardware_holder_ = std::move(holder);
  decide();
}

void join_run::decide() {
  auto holder = hardware_holder_
                    ? std::optional<std::string>{hardware_holder_->stream}
                    : std::nullopt;
  auto refused = events::judge({*token_, *tenant_, *site_, *pool_,
                                to_hardware(request_.hardware), hardware_,
                                std::move(holder), request_.site_id});
  if (!refused)
    return check_key();
  switch (*refused) {
    case refusal_reason::join_reclaim:
      return confirm_reclaim();
    case refusal_reason::join_pool:
    case refusal_reason::join_tenant:
    case refusal_reason::join_site:
      return confirm(*refused);
    default:
      // These rest on the token and the claims, which do not change.
      return refuse(*refused);
  }
}

void join_run::check_key() {
  if (is_own_key(*env_->keys, csr_->key))
    return refuse(refusal_reason::join_csr);
  streams_->holder(events::node::spki_claim(to_hex(csr_->key.spki_sha256())),
                   then(&join_run::on_key_holder));
}

void join_run::on_key_holder(std::optional<events::claim_holder> holder) {
  // Held perhaps by this very join, sent twice: the confirmation tells.
  if (holder && !is_over(*holder))
    return confirm(refusal_reason::join_csr);
  admit();
}

void join_run::admit() {
  if (hit(fault_point::join_before_append) == fault_action::error)
    return unavailable();
  auto plan = plan_admission(*env_->keys, env_->certificate_lifetime, judged(),
                             {request_, csr_->key, hardware_, csr_sha256_},
                             call_.correlation, decision_time());
  new_answer_ = std::move(plan.answer);
  streams_->append(std::move(plan.batch), then(&join_run::on_appended));
}

void join_run::on_appended(events::append_outcome outcome) {
  if (const auto* why = std::get_if<events::rejected>(&outcome))
    return on_rejected(*why);
  if (hit(fault_point::join_after_append) == fault_action::error)
    return unavailable();
  give_joined(std::move(new_answer_));
}

void join_run::on_rejected(const events::rejected& why) {
  using events::unmet;
  store_time_ = why.time;
  if (why.why == unmet::answer && why.holder)
    return give_stored(*why.holder, &join_run::retry);
  if (why.why == unmet::claim && why.subject.starts_with("hw:"))
    return finish(signer().failed(errc::conflict, wire::concurrent_message,
                                  streams_->now()));
  if (why.why == unmet::claim && why.subject.starts_with("spki:"))
    return refuse(refusal_reason::join_csr);
  try_again(why.time);
}

void join_run::try_again(time_point store_time) {
  store_time_ = store_time;
  if (++tries_ == max_tries)
    return unavailable();
  load_token();
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
    env_->refused(
        {owner_, reason, std::string{known_attestor(request_.attestor)},
         request_.role, to_hex(csr_sha256_), hardware_.hex, call_.correlation});
  // Signed as of before the work: the time of the refusal itself would tell how
  // far the join came, which holding it back is to hide.
  finish(
      signer().failed(errc::access_denied, wire::refused_message, asked_at_));
}

void join_run::unavailable() {
  finish(
      signer().failed(errc::unavailable, unavailable_message, streams_->now()));
}

void run_join(std::shared_ptr<const join_environment> env,
              std::shared_ptr<ledger> streams, join_call call,
              std::function<void(wire::join_answer)> done) {
  std::make_shared<join_run>(std::move(env), std::move(streams),
                             std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
