#include "events/node.hpp"

#include "events/node_inventory.hpp"
#include "events/node_sessions.hpp"

#include <algorithm>

namespace bc::events::node {

namespace {

using detail::apply;

bool is_recent(time_point then, time_point now) {
  return now - then < clone_window;
}

void add_certificate(state& s, const certificate& c, time_point now) {
  std::erase_if(s.certificates,
                [now](const issued& i) { return i.cert.not_after <= now; });
  s.certificates.push_back({c, std::nullopt});
}

// It keeps what it was, and the certificates that it could have come by: one of
// them asks again when the answer was lost.
void go_on(state& s, const joined& j) {
  std::erase_if(s.certificates, [&j](const issued& i) {
    return i.cert.not_after + rejoin_window < j.at;
  });
  s.certificates.push_back({j.cert, std::nullopt});
  s.generation = j.cert.generation;
  auto& now = *s.node;
  now.attestor = j.attestor;
  now.node_key = j.node_key;
  now.acceptance = j.acceptance;
  now.cert = j.cert;
  now.claims = j.claims;
  now.answer_subject = j.answer_subject;
  now.answer_body = j.answer_body;
  now.answer_signature = j.answer_signature;
  now.proof_sha256 = j.proof_sha256;
}

void apply(state& s, const joined& j) {
  if (s.node && goes_on(j))
    return go_on(s, j);
  std::erase_if(s.reclaims,
                [&j](time_point then) { return !is_recent(then, j.at); });
  if (j.reclaim)
    s.reclaims.push_back(j.at);
  add_certificate(s, j.cert, j.at);
  s.generation = j.cert.generation;
  s.node = j;
  s.adopted_at.reset();
  s.acceptance_started_at.reset();
  s.failed_acceptance.reset();
  s.hardware_changed_at.reset();
  s.changed_identifiers.clear();
  s.identifiers.clear();
  s.hardware_taken_at.reset();
  if (s.current != status::cordoned)
    s.current = status::adopting;
}

void apply(state& s, const renewed& r) {
  if (s.node)
    add_certificate(s, r.cert, r.at);
}

void apply(state& s, const adopted& a) {
  if (!s.node)
    return;
  s.current = status::adopted;
  s.adopted_at = a.at;
  s.failed_acceptance.reset();
  s.cordon.reset();
}

void apply(state& s, const cordoned& c) {
  if (!s.node)
    return;
  s.current = status::cordoned;
  s.cordon = c;
}

void apply(state& s, const retired& r) {
  if (!s.node)
    return;
  s.current = status::retired;
  s.cordon.reset();
  s.retired_at = r.at;
  if (const auto* live = live_session(s))
    s.session_over = disconnected{r.id, live->session, session_end::cut, r.at};
}

void apply(state& s, const certificate_revoked& r) {
  if (r.reason == revocation::superseded) {
    std::erase_if(s.certificates,
                  [&r](const issued& i) { return i.cert.serial == r.serial; });
    return;
  }
  for (auto& i : s.certificates)
    if (i.cert.serial == r.serial && !i.revoked_at) {
      i.revoked_at = r.at;
      i.revoked_for = r.reason;
    }
  // The operator has looked: whoever joins next is the machine that may.
  if (r.reason == revocation::revoked) {
    s.reclaims.clear();
    s.takeovers.clear();
  }
}

void apply(state& s, const clone_suspected& c) {
  s.clone_suspected_at = c.at;
}

void apply(state&, const hardware_shared&) {
  // A warning changes nothing.
}

}  // namespace

std::string_view trust_text(trust t) noexcept {
  switch (t) {
    case trust::platform:
      return "platform";
    case trust::tenant_owned:
      return "tenant-owned";
    case trust::tenant_controlled:
      return "tenant-controlled";
  }
  return {};
}

std::optional<trust> parse_trust(std::string_view text) noexcept {
  for (auto t :
       {trust::platform, trust::tenant_owned, trust::tenant_controlled})
    if (trust_text(t) == text)
      return t;
  return std::nullopt;
}

std::string_view revocation_text(revocation r) noexcept {
  switch (r) {
    case revocation::reclaimed:
      return "reclaimed";
    case revocation::revoked:
      return "revoked";
    case revocation::deleted:
      return "deleted";
    case revocation::superseded:
      return "superseded";
  }
  return {};
}

std::optional<revocation> parse_revocation(std::string_view text) noexcept {
  for (auto r : {revocation::reclaimed, revocation::revoked,
                 revocation::deleted, revocation::superseded})
    if (revocation_text(r) == text)
      return r;
  return std::nullopt;
}

std::string_view clone_sign_text(clone_sign s) noexcept {
  switch (s) {
    case clone_sign::reclaims:
      return "reclaims";
    case clone_sign::sessions:
      return "sessions";
  }
  return {};
}

std::optional<clone_sign> parse_clone_sign(std::string_view text) noexcept {
  for (auto s : {clone_sign::reclaims, clone_sign::sessions})
    if (clone_sign_text(s) == text)
      return s;
  return std::nullopt;
}

std::string_view status_text(status s) noexcept {
  switch (s) {
    case status::adopting:
      return "adopting";
    case status::adopted:
      return "adopted";
    case status::cordoned:
      return "cordoned";
    case status::retired:
      return "retired";
  }
  return {};
}

state evolve(state s, const event& e) {
  ++s.version;
  if (s.current != status::retired)
    std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

std::string hardware_claim(std::string_view key) {
  return "hw:" + std::string{key};
}

std::string ek_claim(std::string_view ek_hash) {
  return "ek:" + std::string{ek_hash};
}

std::string answer_claim(std::string_view subject,
                         std::string_view csr_sha256_hex) {
  return "answer:" + std::string{subject} + ":" + std::string{csr_sha256_hex};
}

std::string spki_claim(std::string_view spki_sha256_hex) {
  return "spki:" + std::string{spki_sha256_hex};
}

std::string told_claim(const node_id& node, std::string_view mac_sha256_hex) {
  return "shared:" + node.str() + ":" + std::string{mac_sha256_hex};
}

std::string proof_claim(std::string_view proof_sha256_hex) {
  return "proof:" + std::string{proof_sha256_hex};
}

bool goes_on(const joined& j) noexcept {
  return !j.reclaim && j.attestor == wire::x509pop_attestor;
}

bool is_live(const issued& i, time_point now) {
  return !i.revoked_at && now < i.cert.not_after;
}

bool may_rejoin(const issued& i, time_point now) {
  return !i.revoked_at && now <= i.cert.not_after + rejoin_window;
}

const certificate* current_certificate(const state& s, time_point now) {
  if (s.current == status::retired || s.certificates.empty())
    return nullptr;
  const auto& newest = s.certificates.back();
  if (newest.cert.generation != s.generation || !is_live(newest, now))
    return nullptr;
  return &newest.cert;
}

bool holds_hardware(const state& s, std::string_view key) {
  return s.node && s.current != status::retired &&
         s.node->hardware_key_trusted && s.node->hardware_key == key;
}

bool is_identity_revoked(const state& s) {
  return !s.certificates.empty() &&
         s.certificates.back().revoked_for == revocation::revoked;
}

bool is_bound_to(const state& s, std::string_view ek_hash) {
  return s.node && s.current != status::retired && !s.node->ek_hash.empty() &&
         s.node->ek_hash == ek_hash;
}

bool is_reclaimed_too_often(const state& s, time_point now) {
  auto recent =
      std::count_if(s.reclaims.begin(), s.reclaims.end(),
                    [now](time_point then) { return is_recent(then, now); });
  return static_cast<std::size_t>(recent) >= reclaims_in_window;
}

}  // namespace bc::events::node
