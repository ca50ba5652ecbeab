#include "daemon/renewal_loop.hpp"

#include "base/wire_attest.hpp"
#include "daemon/rejoin.hpp"
#include "pki/certificate.hpp"

#include <algorithm>

namespace bc::daemon {

namespace {

using end = renewal_attempt::end;

lifetime lifetime_of(const node_identity& me) {
  auto leaf = pki::parse_certificate(me.who.certificate_chain.front());
  // The store loads no identity whose leaf does not parse.
  return leaf ? lifetime{leaf.value().not_before, leaf.value().not_after}
              : lifetime{me.who.not_after, me.who.not_after};
}

std::string came_text(bool again, std::string_view by) {
  if (!again)
    return "renewed; the certificate expires at ";
  return by == wire::tpm_attestor
             ? "joined again by the TPM; the new certificate expires at "
             : "joined again by the expired certificate; the new one expires "
               "at ";
}

bool is_off(milliseconds offset) {
  return offset > tolerated_offset || offset < -tolerated_offset;
}

}  // namespace

std::string expired_text(time_point not_after) {
  return "the certificate expired at " + to_rfc3339(not_after) +
         "; join again as root: bcd join --reset --yes, then bcd join";
}

std::string rejoin_refused_text(time_point not_after) {
  return "the certificate expired at " + to_rfc3339(not_after) +
         ", and the server does not let this machine join again by it: it was "
         "revoked, the node was deleted or joined elsewhere, the hardware is "
         "another, or the server or the pool does not take it (x509pop). Its "
         "operator reads why in security.join.refused. Until " +
         to_rfc3339(not_after + rejoin_window) +
         " it is tried again now and then; to join it with a new token, as "
         "root: systemctl stop bcd; bcd join --reset --yes; systemctl restart "
         "bcd";
}

std::string tpm_refused_text(time_point not_after) {
  return "the certificate expired at " + to_rfc3339(not_after) +
         ", and the server lets this machine join again neither by it nor by "
         "its TPM: the identity was revoked, the node was deleted or joined "
         "elsewhere, or the server or the pool does not take them (x509pop, "
         "tpm). Its operator reads why in security.join.refused. It is tried "
         "again now and then; to join it anew, as root: systemctl stop bcd; "
         "bcd join --reset --yes --attestor tpm; systemctl restart bcd";
}

std::string refused_text(time_point not_after) {
  return "the server refuses this node's identity: it was revoked, the node "
         "was deleted or retired, or the machine joined again elsewhere. Its "
         "operator reads why in security.renew.refused. If the machine is to "
         "come back, stop the service first (systemctl stop bcd) and join "
         "again as root with a new token: bcd join --reset --yes, then bcd "
         "join; then systemctl restart bcd. Until the certificate ends at " +
         to_rfc3339(not_after) + " it is tried again now and then";
}

std::string clock_text(milliseconds offset, time_point machine) {
  auto apart = std::chrono::duration_cast<seconds>(
      offset < milliseconds{0} ? -offset : offset);
  return "this machine's clock is " + std::to_string(apart.count()) + " s " +
         (offset > milliseconds{0} ? "behind" : "ahead of") +
         " the server's (here " + to_rfc3339(machine) + ", there " +
         to_rfc3339(machine + offset) + ")";
}

renewal_loop::renewal_loop(const config& c, const identity_store& store,
                           node_identity me, renewal_tools tools)
    : config_(c),
      store_(store),
      me_(std::move(me)),
      tools_(std::move(tools)),
      leaf_(lifetime_of(me_)),
      due_(renewal_due(leaf_, tools_.random())) {
  status_.node_id = me_.who.node_id;
  status_.not_after = leaf_.not_after;
  status_.next_renewal = due_;
  pace();
}

void renewal_loop::pace() {
  if (tools_.for_trials)
    pacer_.count_over(leaf_.not_after - leaf_.not_before);
}

time_point renewal_loop::now() const {
  return clock_.now(tools_.clocks());
}

milliseconds renewal_loop::until_attempt(const clock_reading& at) const {
  auto now = clock_.now(at);
  // A clock that stands before the certificate was made is wrong; the server
  // tells the time with whatever it answers.
  bool due = now >= due_ || (!clock_.known() && now < leaf_.not_before);
  if (!due)
    return due_ - now;
  return std::max(milliseconds{0}, pacer_.next() - at.since_boot);
}

milliseconds renewal_loop::step() {
  if (status_.state == renewal_state::expired)
    return longest_sleep;
  if (until_attempt(tools_.clocks()) == milliseconds{0})
    attempt();
  return std::min<milliseconds>(until_attempt(tools_.clocks()), longest_sleep);
}

void renewal_loop::learn(time_point server, const clock_reading& at) {
  clock_.learn(server, at);
  auto offset = clock_.offset();
  status_.clock_offset = offset;
  status_.offset_learnt = at.wall;
  if (is_off(offset) && is_off(offset - told_offset_)) {
    tools_.say(clock_text(offset, at.wall) +
               "; set it, for example by NTP. Renewal goes by the server's "
               "time");
    told_offset_ = offset;
  } else if (!is_off(offset) && told_offset_ != milliseconds{0}) {
    tools_.say("this machine's clock is right again");
    told_offset_ = milliseconds{0};
  }
}

void renewal_loop::session_is(const session_news& news) {
  // The gateway is back before the next attempt would have found out.
  if (news.connected && got_no_answer_) {
    pacer_.gateway_is_back();
    got_no_answer_ = false;
  }
  if (status_.session == news.how)
    return;
  status_.session = news.how;
  status_.session_refused = news.refused;
  publish();
}

void renewal_loop::attempt() {
  if (!is_over_)
    renew();
  if (is_over_)
    rejoin();
}

bool renewal_loop::note(const renewal_attempt& got, const clock_reading& at) {
  if (got.server_time)
    learn(*got.server_time, at);
  if (!got.renewed && tools_.stopping && tools_.stopping())
    return false;
  status_.last_attempt = clock_.now(at);
  got_no_answer_ = got.what == end::unreachable || got.what == end::lost ||
                   got.what == end::unavailable;
  return true;
}

void renewal_loop::rejoin() {
  auto got = tools_.rejoin(me_, now());
  auto at = tools_.clocks();
  if (!note(got, at))
    return;
  if (!got.renewed)
    return rejoin_failed(got, at);
  accept(std::move(got), at);
  if (status_.state != renewal_state::fine)
    return;
  is_over_ = false;
  refusal_told_ = false;
  store_.forget_pending();
}

void renewal_loop::renew() {
  auto got = attempt_renewal(
      config_, me_, [this] { return now(); }, tools_.send, tools_.keys);
  auto at = tools_.clocks();
  if (!note(got, at))
    return;
  if (got.renewed)
    accept(std::move(got), at);
  else
    failed(got, at);
}

bool renewal_loop::is_on_disk(const node_identity& one) const {
  auto found = store_.look();
  return found && found.value().pair &&
         found.value().pair->who.certificate_chain == one.who.certificate_chain;
}

void renewal_loop::accept(renewal_attempt got, const clock_reading& at) {
  auto& renewed = *got.renewed;
  auto kept = store_.renew(renewed.key, renewed.who);
  if (!kept && !is_on_disk(renewed)) {
    pacer_.failed(at.since_boot, got.requests, tools_.random());
    if (is_over_)
      return still_rejoining(kept.error().message, false);
    return become(renewal_state::retrying, kept.error().message,
                  "renewal failed: " + kept.error().message +
                      "; the old certificate stays in use until " +
                      to_rfc3339(leaf_.not_after));
  }
  // A restart would load it, and asking again would only spend it.
  if (!kept)
    tools_.say(kept.error().message + "; the new certificate is on disk");
  me_ = std::move(renewed);
  leaf_ = lifetime_of(me_);
  pace();
  auto now = clock_.now(at);
  if (schedule(now))
    pacer_.succeeded();
  else
    pacer_.came_late(at.since_boot, got.requests);
  status_.not_after = leaf_.not_after;
  status_.last_renewal = now;
  status_.state = renewal_state::fine;
  status_.why.clear();
  tools_.say(came_text(is_over_, got.by) + to_rfc3339(leaf_.not_after));
  publish();
  if (tools_.renewed)
    tools_.renewed(me_);
}

// A certificate that comes past its 60 % would be due at once, again and again
// (CASES 107): what is left of it counts instead.
bool renewal_loop::schedule(time_point now) {
  auto random = tools_.random();
  due_ = renewal_due(leaf_, random);
  bool in_time = due_ > now;
  if (!in_time) {
    due_ = renewal_due({now, leaf_.not_after}, random);
    if (!short_lived_told_)
      tools_.say(
          "the server's certificates are due for renewal as they come; "
          "its certificate lifetime is too short");
    short_lived_told_ = true;
  }
  status_.next_renewal = due_;
  return in_time;
}

void renewal_loop::failed(const renewal_attempt& got, const clock_reading& at) {
  pacer_.failed(at.since_boot, got.requests, tools_.random());
  const auto expiry = leaf_.not_after;
  if (got.what == end::refused && *got.server_time >= expiry)
    return over(*got.server_time);
  if (got.what == end::refused)
    return become(renewal_state::refused, refused_text(expiry),
                  refused_text(expiry));
  const bool over = clock_.now(at) >= expiry;
  const auto line =
      "renewal failed: " + got.why +
      (over ? "; by this machine's clock the certificate expired at "
            : "; trying again, the certificate expires at ") +
      to_rfc3339(expiry);
  // Loudly, also where a gateway was away before: no waiting mends a TPM.
  if (got.what == end::no_key && status_.state == renewal_state::retrying &&
      status_.why != got.why)
    tools_.say(line);
  become(renewal_state::retrying, got.why, line);
}

bool renewal_loop::may_come_back(time_point server_time) const {
  if (!tools_.rejoin)
    return false;
  return tools_.may_rejoin ? tools_.may_rejoin(me_, server_time)
                           : may_rejoin(me_, server_time);
}

void renewal_loop::over(time_point server_time) {
  const auto expiry = leaf_.not_after;
  is_over_ = may_come_back(server_time);
  if (!is_over_)
    return become(renewal_state::expired, expired_text(expiry),
                  expired_text(expiry));
  const bool by_it = may_rejoin(me_, server_time);
  become(renewal_state::rejoining, {},
         "the certificate expired at " + to_rfc3339(expiry) +
             (by_it ? "; joining again by it, as is possible until " +
                          to_rfc3339(expiry + rejoin_window)
                    : "; joining again by the TPM that it names"));
}

void renewal_loop::rejoin_failed(const renewal_attempt& got,
                                 const clock_reading& at) {
  pacer_.failed(at.since_boot, got.requests, tools_.random());
  const auto expiry = leaf_.not_after;
  if (got.server_time && !may_come_back(*got.server_time)) {
    is_over_ = false;
    return become(renewal_state::expired, expired_text(expiry),
                  expired_text(expiry));
  }
  const bool refused = got.what == end::refused;
  const bool by_tpm = tools_.may_rejoin && may_rejoin_by_tpm(me_);
  still_rejoining(!refused ? got.why
                  : by_tpm ? tpm_refused_text(expiry)
                           : rejoin_refused_text(expiry),
                  refused);
}

void renewal_loop::still_rejoining(const std::string& why, bool refused) {
  const bool is_first = status_.why.empty();
  become(renewal_state::rejoining, why, {});
  // Once: it goes on for days, and why it fails may come and go.
  if (refused ? !refusal_told_ : is_first)
    tools_.say(refused ? why : "joining again failed: " + why);
  refusal_told_ = refusal_told_ || refused;
}

void renewal_loop::become(renewal_state state, const std::string& why,
                          const std::string& line) {
  bool changed = status_.state != state;
  bool tell = changed || status_.why != why;
  status_.state = state;
  status_.why = why;
  // Once for each change: a gateway that is away for a day is one line.
  if (changed)
    tools_.say(line);
  if (tell)
    publish();
}

void renewal_loop::publish() const {
  if (tools_.report)
    tools_.report(status_);
}

}  // namespace bc::daemon
