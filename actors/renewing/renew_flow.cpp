#include "actors/renewing/renew_flow.hpp"

#include "actors/renewing/renew_run.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/refusal.hpp"
#include "pki/certificate.hpp"
#include "pki/signature.hpp"

#include <string>
#include <utility>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

void renew_run::start() {
  if (!keys_)
    return finish(
        plain_failure(errc::invalid_config, "This server has no join keys"));
  auto decoded = wire::decode_renew_request(call_.body);
  if (!decoded)
    return finish(plain_failure(decoded.error().code, decoded.error().message,
                                decoded.error().path));
  request_ = std::move(decoded).value();
  begin(request_.csr);
  if (auto reason = check_request())
    return refuse(*reason);
  load_node();
}

std::optional<refusal_reason> renew_run::check_request() {
  if (!read_csr(request_.csr))
    return refusal_reason::renew_csr;
  auto id = node_id::parse(request_.node_id);
  if (!id)
    return refusal_reason::renew_certificate;
  node_id_ = std::move(id).value();
  return std::nullopt;
}

void renew_run::load_node() {
  streams_->node(*node_id_, then(&renew_run::on_node));
}

void renew_run::on_node(shared_state<events::node::state> node) {
  node_ = std::move(node);
  proved_ = false;
  const auto& leaf = request_.certificate_chain.front();
  presented_ = events::find_issued(*node_, leaf);
  if (presented_ == nullptr)
    return refuse_unknown(refusal_reason::renew_certificate, leaf);
  if (auto reason = check_proof())
    return refuse(*reason);
  proved_ = true;
  find_answer(&renew_run::decide);
}

std::optional<refusal_reason> renew_run::check_proof() const {
  const auto leaf = pki::parse_certificate(presented_->cert.der);
  const auto time = std::to_string(request_.client_time_ms);
  const bool proved =
      leaf &&
      pki::verify(leaf.value().key, pki::purpose::renew_pop,
                  {csr_sha256_, as_bytes(request_.node_id), as_bytes(time)},
                  request_.pop_signature);
  return proved ? std::nullopt : std::optional{refusal_reason::renew_proof};
}

void renew_run::give(signed_text body) {
  if (hit(fault_point::renew_before_answer) == fault_action::error)
    return unavailable();
  finish(signer().renewed(std::move(body), streams_->now()));
}

void renew_run::refuse(refusal_reason reason) {
  if (env_->refused)
    env_->refused(report_of(reason));
  deny(wire::renew_refused_message);
}

refusal_report renew_run::report_of(refusal_reason reason) const {
  refusal_report out;
  out.owner = proved_ ? node_->node->tenant : env_->root_tenant;
  out.reason = reason;
  out.attestor = events::refusal::renew_attestor;
  out.csr_sha256 = to_hex(csr_sha256_);
  out.correlation = correlation_;
  if (proved_) {
    out.node = node_id_->str();
    out.serial = presented_->cert.serial;
  }
  return out;
}

std::string_view renew_run::unavailable_text() const {
  return "The renewal could not be completed now; retry";
}

void run_renew(std::shared_ptr<const renew_environment> env,
               std::shared_ptr<ledger> streams, daemon_call call,
               std::function<void(wire::join_answer)> done) {
  std::make_shared<renew_run>(std::move(env), std::move(streams),
                              std::move(call), std::move(done))
      ->start();
}

}  // namespace bc::actors
