#include "events/node_sessions.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace bc::events::node {

namespace {

using events_or_fault = result<std::vector<event>>;

constexpr seconds longest_warning{4 * 3'600};

constexpr std::array<std::pair<session_end, std::string_view>, 6> ends = {{
    {session_end::closed, "closed"},
    {session_end::lost, "lost"},
    {session_end::cut, "cut"},
    {session_end::superseded, "superseded"},
    {session_end::stopping, "stopping"},
    {session_end::gateway_lost, "gateway-lost"},
}};

fault no_such_node() {
  return fail(errc::not_found, "No such node");
}

bool is_recent(time_point then, time_point now) {
  return now - then < clone_window;
}

// As two machines that pass for one would: a machine that comes back from where
// it was, as what it was, takes over from itself.
bool is_takeover(const connected& before, const connected& now) {
  return before.session != now.session &&
         (before.address != now.address || before.serial != now.serial);
}

bool is_told_of_clone(const state& s, time_point now) {
  return s.clone_suspected_at && is_recent(*s.clone_suspected_at, now);
}

bool is_clone_suspected(const state& after, time_point now) {
  return after.takeovers.size() >= takeovers_in_window &&
         !is_told_of_clone(after, now);
}

bool awaits_acceptance(const state& s) {
  return s.current == status::adopting && s.node->acceptance;
}

}  // namespace

std::string_view session_end_text(session_end e) noexcept {
  for (const auto& [end, text] : ends)
    if (end == e)
      return text;
  return {};
}

std::optional<session_end> parse_session_end(std::string_view text) noexcept {
  for (const auto& [end, name] : ends)
    if (name == text)
      return end;
  return std::nullopt;
}

namespace detail {

void apply(state& s, const connected& c) {
  if (!s.node)
    return;
  std::erase_if(s.takeovers,
                [&c](time_point then) { return !is_recent(then, c.at); });
  if (const auto* before = live_session(s);
      before != nullptr && is_takeover(*before, c))
    s.takeovers.push_back(c.at);
  // More would say nothing more, and a machine decides how often it comes.
  if (s.takeovers.size() > takeovers_in_window)
    s.takeovers.erase(s.takeovers.begin());
  s.session = c;
  s.session_over.reset();
}

void apply(state& s, const disconnected& d) {
  const auto* live = live_session(s);
  if (live != nullptr && live->session == d.session)
    s.session_over = d;
}

void apply(state& s, const acceptance_started& a) {
  s.acceptance_started_at = a.at;
  s.acceptance_started_version = s.version;
}

void apply(state& s, const acceptance_failed& a) {
  s.failed_acceptance = a;
}

void apply(state& s, const certificate_expiring& c) {
  s.told_of_expiry = c.serial;
}

}  // namespace detail

const connected* live_session(const state& s) {
  return s.session && !s.session_over ? &*s.session : nullptr;
}

const certificate* session_certificate(const state& s, byte_view der,
                                       time_point now) {
  if (!s.node || s.current == status::retired)
    return nullptr;
  auto found = std::ranges::find_if(s.certificates, [&](const issued& i) {
    return i.cert.generation == s.generation && is_live(i, now) &&
           std::ranges::equal(i.cert.der, der);
  });
  return found == s.certificates.end() ? nullptr : &found->cert;
}

events_or_fault decide(const state& s, const connect& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired)
    return fail(errc::invalid_state, "The node is retired");
  const auto* before = live_session(s);
  if (before != nullptr && before->session == c.session)
    return std::vector<event>{};
  const auto& id = s.node->id;
  std::vector<event> out;
  out.emplace_back(connected{id, c.session, c.gateway, c.address, c.version,
                             c.serial, before != nullptr ? before->session : "",
                             c.now});
  if (awaits_acceptance(s) && !s.acceptance_started_at)
    out.emplace_back(acceptance_started{id, c.now});
  if (is_clone_suspected(evolve(s, out.front()), c.now))
    out.emplace_back(clone_suspected{id, s.node->tenant, s.node->hardware_key,
                                     c.now, clone_sign::sessions});
  return out;
}

events_or_fault decide(const state& s, const disconnect& c) {
  if (!s.node)
    return no_such_node();
  const auto* live = live_session(s);
  if (live == nullptr || live->session != c.session)
    return std::vector<event>{};
  return std::vector<event>{
      disconnected{s.node->id, c.session, c.reason, c.now}};
}

events_or_fault decide(const state& s, const acceptance_result& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired)
    return fail(errc::invalid_state, "The node is retired");
  if (!awaits_acceptance(s) || !s.acceptance_started_at)
    return std::vector<event>{};
  if (c.failed.empty())
    return std::vector<event>{adopted{s.node->id, c.now}};
  if (s.failed_acceptance && s.failed_acceptance->checks == c.failed)
    return std::vector<event>{};
  return std::vector<event>{acceptance_failed{s.node->id, c.failed, c.now}};
}

time_point warn_from(const certificate& c) {
  auto quarter = (c.not_after - c.not_before) / 4;
  return c.not_after - std::min<time_point::duration>(quarter, longest_warning);
}

events_or_fault decide(const state& s, const warn_of_expiry& c) {
  if (!s.node)
    return no_such_node();
  if (s.current == status::retired || s.certificates.empty())
    return std::vector<event>{};
  const auto& newest = s.certificates.back();
  if (newest.revoked_at || newest.cert.serial == s.told_of_expiry ||
      c.now < warn_from(newest.cert))
    return std::vector<event>{};
  return std::vector<event>{certificate_expiring{
      s.node->id, newest.cert.serial, newest.cert.generation,
      newest.cert.not_after, live_session(s) != nullptr, c.now}};
}

}  // namespace bc::events::node
