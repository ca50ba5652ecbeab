#include "events/join_request.hpp"

#include <utility>

namespace bc::events::join_request {

namespace {

using events_or_fault = result<std::vector<event>>;

constexpr status statuses[] = {status::pending, status::approved,
                               status::rejected, status::expired,
                               status::consumed};

void apply(state& s, const opened& o) {
  if (!s.request)
    s.request = o;
}

void apply(state& s, const refreshed& r) {
  if (!s.request || s.stored != status::pending)
    return;
  auto& held = *s.request;
  if (r.seen.csr_sha256 != held.seen.csr_sha256)
    held.at = r.at;
  held.seen = r.seen;
  held.expires_at = r.expires_at;
  s.refreshed_at = r.at;
  s.claims_changed = true;
}

void apply(state& s, const approved& a) {
  if (!s.request || s.stored != status::pending)
    return;
  s.request->pool = a.pool;
  s.request->expires_at = a.expires_at;
  s.stored = status::approved;
  s.decided = decision{a.by, a.reason, a.at};
}

void apply(state& s, const rejected& r) {
  if (!s.request ||
      (s.stored != status::pending && s.stored != status::approved))
    return;
  s.request->pool = r.pool;
  s.stored = status::rejected;
  s.decided = decision{r.by, r.reason, r.at};
}

void apply(state& s, const consumed& c) {
  if (!s.request || s.stored != status::approved)
    return;
  s.stored = status::consumed;
  s.consumed_at = c.at;
  s.node = c.node;
}

void apply(state& s, const superseded& c) {
  if (!s.request ||
      (s.stored != status::pending && s.stored != status::approved))
    return;
  s.request->expires_at = c.at;
  // For good: a process whose clock is behind must not use it any more.
  s.stored = status::expired;
  s.superseded_at = c.at;
  s.node = c.node;
}

// What else a retry says is not what was looked at, nor does it win time
// (CASES decision 128).
bool is_unchanged(const sighting& now, const sighting& before) {
  return now.csr_sha256 == before.csr_sha256;
}

fault no_such_request() {
  return fail(errc::not_found, "No such join request in this pool");
}

fault is_over(status s, std::string_view what) {
  return fail(errc::invalid_state, "The join request is " +
                                       std::string{status_text(s)} +
                                       " and cannot be " + std::string{what});
}

bool is_other_csr(const approve& c, const opened& request) {
  return c.csr_sha256 && *c.csr_sha256 != request.seen.csr_sha256;
}

}  // namespace

std::string tpm_subject(std::string_view ek_hash) {
  return "tpm:" + std::string{ek_hash};
}

std::string hardware_subject(std::string_view hardware_key) {
  return "hw:" + std::string{hardware_key};
}

std::string mac_subject(const site_id& site, std::string_view mac) {
  return "mac:" + site.str() + ":" + std::string{mac};
}

claims claims_of(const pki::identifiers& left, std::string hostname) {
  return {left.product_uuid, left.serials, left.macs, left.gpu_uuids,
          std::move(hostname)};
}

std::string_view ek_text(ek_certificate c) noexcept {
  switch (c) {
    case ek_certificate::verified:
      return "verified";
    case ek_certificate::unverified:
      return "unverified";
    case ek_certificate::absent:
      return "absent";
  }
  return {};
}

std::optional<ek_certificate> parse_ek(std::string_view text) noexcept {
  for (auto c : {ek_certificate::verified, ek_certificate::unverified,
                 ek_certificate::absent})
    if (ek_text(c) == text)
      return c;
  return std::nullopt;
}

std::string_view status_text(status s) noexcept {
  switch (s) {
    case status::pending:
      return "pending";
    case status::approved:
      return "approved";
    case status::rejected:
      return "rejected";
    case status::expired:
      return "expired";
    case status::consumed:
      return "consumed";
  }
  return {};
}

std::optional<status> parse_status(std::string_view text) noexcept {
  for (auto s : statuses)
    if (status_text(s) == text)
      return s;
  return std::nullopt;
}

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

status status_at(const state& s, time_point now) noexcept {
  const bool ends = s.stored == status::pending || s.stored == status::approved;
  return ends && now >= s.request->expires_at ? status::expired : s.stored;
}

standing standing_of(const state* decided, const state* pending,
                     const sighting& seen, time_point now) {
  if (decided != nullptr && decided->request &&
      decided->request->seen.csr_sha256 == seen.csr_sha256) {
    auto how = status_at(*decided, now);
    if (how == status::approved)
      return standing::approved;
    if (how == status::rejected)
      return standing::rejected;
  }
  if (pending == nullptr || !pending->request ||
      status_at(*pending, now) != status::pending)
    return standing::unknown;
  return is_unchanged(seen, pending->request->seen) ? standing::waiting
                                                    : standing::moved;
}

events_or_fault decide(const state& s, const defer& c) {
  const auto now = c.what.at;
  if (!s.request) {
    auto what = c.what;
    what.expires_at = now + c.pending_for;
    return std::vector<event>{std::move(what)};
  }
  const auto& held = *s.request;
  if (auto how = status_at(s, now); how != status::pending)
    return is_over(how, "refreshed");
  if (is_unchanged(c.what.seen, held.seen))
    return std::vector<event>{};
  return std::vector<event>{refreshed{held.id, held.site, held.subject,
                                      c.what.seen, held.place, now,
                                      now + c.pending_for}};
}

bool is_visible_to(const state& s, const decider& who) {
  const auto& held = *s.request;
  if (held.pool)
    return *held.pool == who.pool;
  return who.sees_unclaimed && held.site == who.site;
}

events_or_fault decide(const state& s, const approve& c) {
  if (!s.request || !is_visible_to(s, c.who))
    return no_such_request();
  const auto& held = *s.request;
  const auto how = status_at(s, c.now);
  if (how != status::pending && how != status::approved)
    return is_over(how, "approved");
  if (is_other_csr(c, held))
    return fail(errc::conflict,
                "The machine came with another certificate request since; "
                "look at the join request again");
  if (how == status::approved)
    return std::vector<event>{};
  return std::vector<event>{approved{held.id, c.who.pool, held.site,
                                     held.attestor, held.subject,
                                     held.seen.csr_sha256, held.place, c.by,
                                     c.reason, c.now, c.now + c.valid_for}};
}

events_or_fault decide(const state& s, const reject& c) {
  if (!s.request || !is_visible_to(s, c.who))
    return no_such_request();
  const auto& held = *s.request;
  switch (auto how = status_at(s, c.now); how) {
    case status::pending:
    case status::approved:
      return std::vector<event>{
          rejected{held.id, c.who.pool, held.site, held.attestor, held.subject,
                   held.seen.csr_sha256, held.place, c.by, c.reason, c.now}};
    case status::rejected:
      return std::vector<event>{};
    case status::expired:
    case status::consumed:
      return is_over(how, "rejected");
  }
  return no_such_request();
}

events_or_fault decide(const state& s, const consume& c) {
  if (!s.request)
    return no_such_request();
  const auto& held = *s.request;
  if (auto how = status_at(s, c.now); how != status::approved)
    return is_over(how, "consumed");
  if (held.seen.csr_sha256 != c.csr_sha256)
    return fail(errc::invalid_state,
                "The approval is for another certificate request");
  return std::vector<event>{
      consumed{held.id, held.site, c.node, held.subject, c.csr_sha256, c.now}};
}

attempt_id attempt_of(const state& s) {
  return {s.request->seen.csr_sha256, s.refreshed_at};
}

events_or_fault decide(const state& s, const supersede& c) {
  if (!s.request)
    return no_such_request();
  const auto& held = *s.request;
  const auto how = status_at(s, c.now);
  if ((how != status::pending && how != status::approved) ||
      attempt_of(s) != c.before)
    return std::vector<event>{};
  const bool approved = how == status::approved;
  return std::vector<event>{superseded{
      held.id, held.site, held.subject, held.seen.csr_sha256, approved,
      approved ? std::nullopt : held.place, c.node, c.now}};
}

}  // namespace bc::events::join_request
