#include "events/node.hpp"
#include "events/node_sessions.hpp"

#include <algorithm>
#include <utility>

namespace bc::events::node {

namespace {

using events_or_fault = result<std::vector<event>>;

std::vector<event> nothing() {
  return {};
}

fault no_such_node() {
  return fail(errc::not_found, "No such node");
}

fault is_retired(std::string_view what) {
  return fail(errc::invalid_state,
              "The node is retired and cannot be " + std::string{what});
}

// The answer that goes with a certificate must not be given again once the
// certificate is dead. What is live and is not the join's is a renewal's.
std::string answer_of(const state& s, const certificate& c) {
  const auto& j = *s.node;
  if (j.cert.serial != c.serial)
    return answer_claim(j.id.str(), c.csr_sha256);
  if (j.answer_subject.empty())
    return {};
  return answer_claim(j.answer_subject, c.csr_sha256);
}

certificate_revoked revoking(const state& s, const certificate& c,
                             revocation why, std::string_view note,
                             time_point now) {
  return {s.node->id, s.node->tenant,    c.serial, c.generation,
          why,        std::string{note}, now,      answer_of(s, c)};
}

void revoke_live(std::vector<event>& out, const state& s, revocation why,
                 std::string_view note, time_point now) {
  for (const auto& i : s.certificates)
    if (is_live(i, now))
      out.push_back(revoking(s, i.cert, why, note, now));
}

bool is_last_of_a_tpm(const state& s, const issued& i) {
  return !s.node->ek_hash.empty() && &i == &s.certificates.back() &&
         !i.revoked_at;
}

// The oldest, before one more is issued; not the one it is issued for, nor the
// one of the live session: who holds a copy of an older key must not shut the
// node out.
void revoke_superseded(std::vector<event>& out, const state& s,
                       const renewed& next) {
  const auto* in_use = live_session(s);
  auto live = static_cast<std::size_t>(std::ranges::count_if(
      s.certificates, [&next](const auto& i) { return is_live(i, next.at); }));
  for (const auto& i : s.certificates) {
    if (live < max_live_certificates)
      return;
    if (!is_live(i, next.at) || i.cert.serial == next.previous_serial ||
        (in_use != nullptr && i.cert.serial == in_use->serial))
      continue;
    out.push_back(revoking(s, i.cert, revocation::superseded, {}, next.at));
    --live;
  }
}

}  // namespace

events_or_fault decide(const state& s, const join& c) {
  if (s.current == status::retired)
    return is_retired("reclaimed");
  std::vector<event> out;
  auto what = c.what;
  what.reclaim = s.node.has_value();
  what.cert.generation = s.generation + 1;
  if (what.reclaim) {
    revoke_live(out, s, revocation::reclaimed, {}, what.at);
    // Or nobody could join on that hardware any more.
    const auto& before = *s.node;
    if (before.hardware_key_trusted &&
        (!what.hardware_key_trusted ||
         what.hardware_key != before.hardware_key))
      what.left_hardware_key = before.hardware_key;
  }
  out.emplace_back(std::move(what));
  return out;
}

events_or_fault decide(const state& s, const rejoin& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired)
    return is_retired("joined");
  const auto& before = *s.node;
  auto what = c.what;
  what.id = before.id;
  what.tenant = before.tenant;
  what.site = before.site;
  what.pool = before.pool;
  what.attestor = wire::x509pop_attestor;
  what.reclaim = false;
  what.hardware_key = before.hardware_key;
  what.hardware_key_trusted = before.hardware_key_trusted;
  what.hardware_changed = false;
  what.ek_hash = before.ek_hash;
  // The new key was certified again wherever the old one was.
  what.node_key = before.node_key;
  what.node_trust = before.node_trust;
  // Whoever ends the token's nodes ends this one too.
  what.token = before.token;
  // What it still has to pass, it has still to pass.
  what.acceptance = before.acceptance && s.current == status::adopting;
  what.cert.generation = s.generation + 1;
  std::vector<event> out;
  revoke_live(out, s, revocation::reclaimed, {}, what.at);
  out.emplace_back(std::move(what));
  return out;
}

events_or_fault decide(const state& s, const renew& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired)
    return is_retired("renewed");
  auto what = c.what;
  what.cert.generation = s.generation;
  std::vector<event> out;
  revoke_superseded(out, s, what);
  out.emplace_back(std::move(what));
  return out;
}

events_or_fault decide(const state& s, const adopt& c) {
  if (!s.node)
    return no_such_node();
  switch (s.current) {
    case status::adopting:
    case status::cordoned:
      return std::vector<event>{adopted{s.node->id, c.now}};
    case status::adopted:
      return nothing();
    case status::retired:
      break;
  }
  return is_retired("adopted");
}

events_or_fault decide(const state& s, const cordon& c) {
  if (!s.node)
    return no_such_node();
  switch (s.current) {
    case status::adopting:
    case status::adopted:
      return std::vector<event>{cordoned{s.node->id, c.reason, c.now}};
    case status::cordoned:
      return nothing();
    case status::retired:
      break;
  }
  return is_retired("cordoned");
}

events_or_fault decide(const state& s, const retire& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired)
    return nothing();
  if (s.current != status::cordoned)
    return fail(errc::invalid_state, "The node is " +
                                         std::string{status_text(s.current)} +
                                         "; cordon it first");
  std::vector<event> out;
  revoke_live(out, s, revocation::deleted, c.reason, c.now);
  const auto& j = *s.node;
  out.emplace_back(retired{
      j.id, c.reason, c.now,
      j.hardware_key_trusted ? j.hardware_key : std::string{}, j.ek_hash});
  return out;
}

events_or_fault decide(const state& s, const revoke_identity& c) {
  if (!s.node)
    return no_such_node();
  std::vector<event> out;
  // Also what is over and could bring the machine back: x509pop must not undo
  // what an operator did while it was away. A TPM brings its node back however
  // long it was away.
  for (const auto& i : s.certificates)
    if (may_rejoin(i, c.now) || is_last_of_a_tpm(s, i))
      out.push_back(revoking(s, i.cert, revocation::revoked, c.note, c.now));
  return out;
}

events_or_fault decide(const state& s, const suspect_clone& c) {
  if (!s.node)
    return no_such_node();
  if (s.clone_suspected_at && c.now - *s.clone_suspected_at < clone_window)
    return nothing();
  return std::vector<event>{
      clone_suspected{s.node->id, s.node->tenant, s.node->hardware_key, c.now}};
}

events_or_fault decide(const state& s, const tell_shared& c) {
  if (!s.node)
    return no_such_node();
  const bool ours = s.node->tenant == c.others_tenant;
  if (s.current == status::retired || (ours && c.had_them_first))
    return nothing();
  return std::vector<event>{
      hardware_shared{s.node->id, s.node->tenant, c.macs,
                      ours ? std::optional{c.other} : std::nullopt, c.now}};
}

}  // namespace bc::events::node
