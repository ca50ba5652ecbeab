#include "actors/rejoining/rejoin_flow.hpp"

#include "actors/joining/refusal_details.hpp"
#include "actors/rejoining/rejoin_run.hpp"
#include "base/encoding.hpp"
#include "base/fault_point.hpp"
#include "events/admission.hpp"
#include "events/node_inventory.hpp"
#include "events/renewal.hpp"
#include "pki/certificate.hpp"
#include "pki/claims_digest.hpp"
#include "pki/identifier_hash.hpp"
#include "pki/signature.hpp"
#include "pki/spiffe.hpp"
#include "pki/tpm/challenge.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace bc::actors {

using events::refusal_reason;

namespace {

pki::tpm::challenge repeated_in(const wire::x509pop_evidence& evidence) {
  pki::tpm::challenge out;
  out.kid = evidence.kid;
  std::ranges::copy(evidence.nonce, out.nonce.begin());
  out.expires_at = from_millis(evidence.expires_ms);
  return out;
}

// Which node a certificate is for, by what it says; whether it is that node's
// is the node's stream to tell.
std::optional<node_id> node_named_in(const pki::leaf_view& leaf) {
  if (leaf.uris.empty())
    return std::nullopt;
  auto id = pki::parse_spiffe_id(leaf.uris.front());
  if (!id)
    return std::nullopt;
  auto node = node_id::parse(id.value().node);
  return node ? std::optional{std::move(node).value()} : std::nullopt;
}

}  // namespace

void rejoin_run::start() {
  begin(request_.csr);
  if (auto reason = check_request())
    return refuse(*reason);
  load_node();
}

std::optional<refusal_reason> rejoin_run::check_request() {
  if (auto reason = check_csr())
    return reason;
  if (!request_.x509pop)
    return refusal_reason::x509pop_malformed;
  auto presented = pki::parse_certificate(leaf());
  if (!presented)
    return refusal_reason::x509pop_malformed;
  if (auto reason = check_challenge())
    return reason;
  node_id_ = node_named_in(presented.value());
  if (!node_id_ ||
      (!request_.node_id.empty() && request_.node_id != node_id_->str()))
    return refusal_reason::x509pop_unknown_certificate;
  leaf_key_ = presented.value().key;
  claims_ = pki::without_shared(events::hardware_of(request_.hardware),
                                env_->shared_uuids);
  hardware_ = pki::derive_hardware_key(pki::normalise(claims_));
  return std::nullopt;
}

std::optional<refusal_reason> rejoin_run::check_csr() {
  // The decoder lets through only the roles the certificate knows.
  auto role = pki::parse_role(request_.role);
  if (!role || !read_csr(request_.csr))
    return refusal_reason::join_csr;
  role_ = *role;
  return std::nullopt;
}

std::optional<refusal_reason> rejoin_run::check_challenge() {
  const auto keys = pki::tpm::challenge_keys(*keys_);
  auto recalled = pki::tpm::recall_secret(
      keys, repeated_in(*request_.x509pop),
      {wire::x509pop_attestor, csr_sha256_, pki::tpm::x509pop_evidence(leaf())},
      decision_time());
  if (const auto* why = std::get_if<pki::tpm::code>(&recalled))
    return *why == pki::tpm::code::challenge_expired
               ? refusal_reason::x509pop_challenge_expired
               : refusal_reason::x509pop_challenge_unknown;
  secret_ = std::move(std::get<secret_bytes>(recalled));
  return std::nullopt;
}

void rejoin_run::load_node() {
  streams_->node(*node_id_, then(&rejoin_run::on_node));
}

void rejoin_run::on_node(shared_state<events::node::state> node) {
  node_ = std::move(node);
  proved_ = false;
  presented_ = events::find_issued(*node_, leaf());
  if (presented_ == nullptr)
    return refuse_unknown();
  if (!is_proved())
    return refuse(refusal_reason::x509pop_pop);
  proved_ = true;
  find_answer(&rejoin_run::load_pool);
}

bool rejoin_run::is_proved() const {
  const auto& evidence = *request_.x509pop;
  const auto leaf_sha256 = pki::sha256(leaf());
  const auto expires = std::to_string(evidence.expires_ms);
  const auto claimed = pki::claims_digest(request_);
  return pki::verify(*leaf_key_, pki::purpose::rejoin_pop,
                     {csr_sha256_, leaf_sha256, evidence.nonce,
                      as_bytes(expires), secret_.expose(), claimed},
                     evidence.signature);
}

void rejoin_run::load_pool() {
  const auto& pool = node_->node->pool;
  if (!pool)
    return on_pool(std::make_shared<const events::pool::state>());
  streams_->pool(*pool, then(&rejoin_run::on_pool));
}

void rejoin_run::on_pool(shared_state<events::pool::state> pool) {
  pool_ = std::move(pool);
  streams_->site(node_->node->site, then(&rejoin_run::on_site));
}

void rejoin_run::on_site(shared_state<events::site::state> site) {
  site_ = std::move(site);
  decide();
}

void rejoin_run::give(signed_text body) {
  if (hit(fault_point::rejoin_before_answer) == fault_action::error)
    return unavailable();
  finish(signer().joined(std::move(body), streams_->now()));
}

void rejoin_run::refuse(refusal_reason reason) {
  if (env_->refused)
    env_->refused(report_of(reason));
  deny(wire::refused_message);
}

refusal_report rejoin_run::report_of(refusal_reason reason) const {
  refusal_report out;
  out.owner = proved_ ? node_->node->tenant : env_->root_tenant;
  out.reason = reason;
  out.attestor = wire::x509pop_attestor;
  out.role = request_.role;
  out.csr_sha256 = to_hex(csr_sha256_);
  out.hardware_key = hardware_.hex;
  out.correlation = correlation_;
  if (proved_)
    out.details = refusal_details(
        {node_->node->pool, request_, claims_, hardware_, compared_by(reason)});
  return out;
}

std::optional<events::rule_verdict> rejoin_run::compared_by(
    refusal_reason reason) const {
  if (reason != refusal_reason::x509pop_hardware)
    return std::nullopt;
  const auto known =
      events::node::known_identifiers(*node_, env_->shared_uuids);
  std::string others;
  for (const auto& kind :
       pki::changed_kinds(known, pki::hashes_of(pki::normalise(claims_))))
    others.append(others.empty() ? "another " : ", ").append(kind);
  return events::rule_verdict{std::string{events::text_of(reason)},
                              events::verdict::failed,
                              "the hardware that the node is known by", others};
}

void run_rejoin(std::shared_ptr<const join_environment> env,
                std::shared_ptr<ledger> streams, wire::join_request request,
                std::string correlation,
                std::function<void(wire::join_answer)> done) {
  std::make_shared<rejoin_run>(std::move(env), std::move(streams),
                               std::move(request), std::move(correlation),
                               std::move(done))
      ->start();
}

}  // namespace bc::actors
