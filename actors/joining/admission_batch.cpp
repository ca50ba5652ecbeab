#include "actors/joining/admission_batch.hpp"

#include "base/encoding.hpp"
#include "events/node.hpp"
#include "events/streams.hpp"
#include "pki/certificate.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace bc::actors {

namespace {

constexpr std::string_view machine = "machine";

std::array<std::uint8_t, 16> serial_random() {
  auto random = pki::random_bytes(16);
  std::array<std::uint8_t, 16> out{};
  std::copy(random.begin(), random.end(), out.begin());
  return out;
}

events::batch new_batch(std::string correlation, time_point now) {
  events::batch out;
  out.id = pki::mint<batch_id>(now);
  out.actor = machine;
  out.correlation = std::move(correlation);
  return out;
}

void pin_directory(events::batch& to, const judged_by& judged) {
  const auto& token = *judged.token->token;
  if (token.pool)
    to.writes.push_back(
        pin(events::stream_of(*token.pool), judged.pool->version));
  to.writes.push_back(pin(events::stream_of(token.site), judged.site->version));
  to.writes.push_back(
      pin(events::stream_of(token.tenant), judged.tenant->version));
}

std::vector<events::event_write> encoded(
    const std::vector<events::node::event>& decided) {
  std::vector<events::event_write> out;
  out.reserve(decided.size());
  for (const auto& e : decided)
    out.push_back(events::node::encode(e));
  return out;
}

// What the token's node is, when it is not the known one.
void pin_named(events::batch& to, const judged_by& judged) {
  const auto& name = judged.token->token->node;
  if (!judged.named || (judged.known && judged.known->node->id == *name))
    return;
  to.writes.push_back(pin(events::stream_of(*name), judged.named->version));
}

std::vector<events::node::event> told_of_clone(const events::node::state& node,
                                               time_point now) {
  auto decided = events::node::decide(node, events::node::suspect_clone{now});
  return decided ? std::move(decided).value()
                 : std::vector<events::node::event>{};
}

node_id node_for(const judged_by& judged, time_point now) {
  if (judged.known)
    return judged.known->node->id;
  const auto& named = judged.token->token->node;
  return named ? *named : pki::mint<node_id>(now);
}

wire::joined_body body_of(const pki::key_bundle& keys,
                          const events::join_token::created& token,
                          const node_id& node,
                          const pki::issued_certificate& certificate,
                          const admitted_machine& m) {
  wire::joined_body out;
  out.node_id = node.str();
  out.certificate_chain = {certificate.der, keys.node_ca.certificate};
  out.command_signing_keys = {keys.command_signing.pub().spki()};
  out.csr_sha256 = to_bytes(m.csr_sha256);
  out.trust_domain = keys.trust_domain;
  out.site_id = token.site.str();
  out.role = pki::role_text(m.identity.role);
  out.not_after_ms = to_millis(certificate.not_after);
  return out;
}

events::node::certificate record_of(const pki::issued_certificate& certificate,
                                    const admitted_machine& m) {
  events::node::certificate out;
  out.serial = certificate.serial;
  out.spki_sha256 = to_hex(m.key.spki_sha256());
  out.role = m.identity.role;
  out.not_before = certificate.not_before;
  out.not_after = certificate.not_after;
  out.der = certificate.der;
  out.csr_sha256 = to_hex(m.csr_sha256);
  return out;
}

events::node::joined joined_of(const events::join_token::created& token,
                               const admitted_machine& m, const node_id& node,
                               events::node::certificate certificate,
                               const signed_text& answer, time_point now) {
  events::node::joined out;
  out.id = node;
  out.tenant = token.tenant;
  out.site = token.site;
  out.pool = token.pool;
  out.attestor = "join-token";
  out.hardware_key = m.hardware.hex;
  out.hardware_key_trusted = m.hardware.names_a_machine();
  out.hardware_changed = m.identity.hardware_changed;
  out.node_trust = m.identity.trust;
  out.acceptance = m.identity.acceptance;
  out.token = token.id.str();
  out.cert = std::move(certificate);
  out.at = now;
  out.claims = m.request.hardware;
  out.answer_subject = token.id.str();
  out.answer_body = answer.text;
  out.answer_signature = answer.signature;
  return out;
}

}  // namespace

events::stream_write pin(events::stream_id stream, std::uint64_t version) {
  return {std::move(stream), {}, version, {}};
}

std::string answer_claim_of(const join_token_id& token,
                            const pki::sha256_digest& csr) {
  return events::node::answer_claim(token.str(), to_hex(csr));
}

result<admission_plan> plan_admission(const pki::key_bundle& keys,
                                      seconds certificate_lifetime,
                                      const judged_by& judged,
                                      const admitted_machine& m,
                                      std::string correlation, time_point now) {
  const auto& token = *judged.token->token;
  const auto node = node_for(judged, now);
  const events::node::state nobody;
  const auto& before = judged.known ? *judged.known : nobody;
  const auto certificate =
      pki::issue_node_certificate(keys.node_ca, {m.key,
                                                 keys.trust_domain,
                                                 token.site.str(),
                                                 node.str(),
                                                 m.identity.role,
                                                 {},
                                                 now,
                                                 certificate_lifetime,
                                                 serial_random()});
  auto answer = sign_answer_body(
      keys, wire::encode(body_of(keys, token, node, certificate, m)));
  BC_TRY(decided, events::node::decide(
                      before, events::node::join{joined_of(
                                  token, m, node, record_of(certificate, m),
                                  answer, now)}));

  auto out = new_batch(std::move(correlation), now);
  out.answers_free = {answer_claim_of(token.id, m.csr_sha256)};
  out.writes.push_back(
      {events::stream_of(token.id),
       token.tenant.str(),
       std::nullopt,
       {events::join_token::encode(events::join_token::redeemed{
           token.id, node, to_hex(m.csr_sha256)})}});
  out.writes.push_back({events::stream_of(node), token.tenant.str(),
                        before.version, encoded(decided)});
  pin_directory(out, judged);
  out.valid_until = token.expires_at;
  return admission_plan{std::move(out), std::move(answer)};
}

events::batch confirm_refusal(const judged_by& judged, bool tell_of_clone,
                              std::string correlation, time_point now) {
  auto out = new_batch(std::move(correlation), now);
  pin_directory(out, judged);
  if (judged.known) {
    auto& known = out.writes.emplace_back(
        pin(events::stream_of(judged.known->node->id), judged.known->version));
    if (tell_of_clone)
      known.events = encoded(told_of_clone(*judged.known, now));
    if (!known.events.empty())
      known.tenant = judged.known->node->tenant.str();
  }
  pin_named(out, judged);
  return out;
}

events::batch confirm_node(const node_id& node, std::uint64_t version,
                           std::string correlation, time_point now) {
  auto out = new_batch(std::move(correlation), now);
  out.writes.push_back(pin(events::stream_of(node), version));
  return out;
}

bool is_own_key(const pki::key_bundle& keys, const pki::public_key& key) {
  const std::array<const pki::public_key*, 7> own = {
      &keys.node_ca.key.pub(),       &keys.serving_ca.key.pub(),
      &keys.internal_ca.key.pub(),   &keys.join_signing.key.pub(),
      &keys.join_encryption.pub(),   &keys.command_signing.pub(),
      &keys.journal_checkpoint.pub()};
  return std::any_of(own.begin(), own.end(),
                     [&key](const auto* mine) { return *mine == key; });
}

}  // namespace bc::actors
