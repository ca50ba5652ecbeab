#include "events/join_request.hpp"

#include <utility>
#include <variant>

/// The claims that a join request holds, and how its events move them.
namespace bc::events::join_request {

namespace {

using claim_kind = claim_move::kind;

void take(moves& m, std::string claim, std::optional<time_point> until) {
  m.claims.push_back({claim_kind::take, std::move(claim), until});
}

void release(moves& m, std::string claim) {
  m.claims.push_back({claim_kind::release, std::move(claim), std::nullopt});
}

// Of `opened` and `refreshed`.
template <class Event>
moves waits(const Event& e) {
  moves m;
  take(m, pending_claim(e.site, e.subject), e.expires_at);
  if (e.place)
    take(m, place_claim(e.site, *e.place), e.expires_at);
  return m;
}

// Of `approved` and `rejected`.
template <class Event>
moves waits_no_more(const Event& e, std::optional<time_point> until) {
  moves m;
  release(m, pending_claim(e.site, e.subject));
  if (e.place)
    release(m, place_claim(e.site, *e.place));
  take(m, decided_claim(e.site, e.subject, e.csr_sha256), until);
  return m;
}

moves effect(const opened& o) {
  return waits(o);
}
moves effect(const refreshed& r) {
  return waits(r);
}
moves effect(const approved& a) {
  return waits_no_more(a, a.expires_at);
}
moves effect(const rejected& r) {
  return waits_no_more(r, std::nullopt);
}
moves effect(const consumed& c) {
  moves m;
  release(m, decided_claim(c.site, c.subject, c.csr_sha256));
  return m;
}

moves effect(const superseded& s) {
  moves m;
  if (s.was_approved) {
    release(m, decided_claim(s.site, s.subject, s.csr_sha256));
    return m;
  }
  release(m, pending_claim(s.site, s.subject));
  if (s.place)
    release(m, place_claim(s.site, *s.place));
  return m;
}

}  // namespace

std::string pending_claim(const site_id& site, std::string_view subject) {
  return "request:" + site.str() + ":" + std::string{subject};
}

std::string decided_claim(const site_id& site, std::string_view subject,
                          std::string_view csr_sha256) {
  auto out = "decided:" + site.str();
  return out.append(":").append(subject).append(":").append(csr_sha256);
}

std::string place_claim(const site_id& site, std::int64_t place) {
  return "place:" + site.str() + ":" + std::to_string(place);
}

moves moves_of(const event& e) {
  return std::visit([](const auto& what) { return effect(what); }, e);
}

}  // namespace bc::events::join_request
