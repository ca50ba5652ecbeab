#include "ops/serve/revocation.hpp"

#include "base/encoding.hpp"
#include "events/node.hpp"
#include "ops/serve/repeater.hpp"
#include "pki/crl.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace bc::serve {

namespace {

using gateway::revocation_list;

constexpr seconds interval{1};
constexpr unsigned position_bits = 43;

// By what RFC 5280 calls it.
result<pki::crl_reason> reason_of(const std::string& why) {
  const auto read = events::node::parse_revocation(why);
  if (!read)
    return fail(errc::internal, "a certificate was revoked for nothing known",
                {}, why);
  switch (*read) {
    case events::node::revocation::reclaimed:
    case events::node::revocation::superseded:
      return pki::crl_reason::superseded;
    case events::node::revocation::deleted:
      return pki::crl_reason::cessation_of_operation;
    case events::node::revocation::revoked:
      break;
  }
  return pki::crl_reason::unspecified;
}

struct authority {
  pki::issuer ca;
  std::vector<pki::revoked_serial> revoked = {};
};
using authorities = std::vector<std::pair<std::string, authority>>;

// The one that issues comes first.
authorities authorities_of(const pki::key_bundle& keys) {
  authorities out;
  auto add = [&out](const pki::private_key& key, const bytes& certificate) {
    pki::issuer ca{key.clone(), certificate};
    auto id = pki::authority_id(ca);
    out.emplace_back(std::move(id), authority{std::move(ca)});
  };
  add(keys.node_ca.key, keys.node_ca.certificate);
  // The one before, or the next: while processes restart one by one, another
  // issues by it already.
  const auto other = keys.others.find(pki::key_name::node_ca);
  if (other != keys.others.end())
    add(other->second.key, other->second.certificate);
  return out;
}

result<void> sort_in(authorities& all, const projections::revoked_row& row) {
  BC_TRY(der, from_base64(row.der));
  BC_TRY(why, reason_of(row.why));
  const auto issued_by = pki::authority_id_of(der);
  for (auto& [id, who] : all)
    if (id == issued_by)
      who.revoked.push_back({row.serial, row.at, why});
  return ok();
}

}  // namespace

list_edition edition_at(
    const std::optional<projections::revocation_row>& newest, time_point now) {
  const auto halves = static_cast<std::uint64_t>(
      std::chrono::floor<seconds>(now).time_since_epoch() /
      revocation_list_period);
  list_edition out;
  out.this_update = time_point{} + halves * revocation_list_period;
  if (newest) {
    out.position = newest->position;
    // In the past also for those whose clock is behind (CASES 97).
    out.this_update = std::max(out.this_update, newest->at - pki::backdating);
  }
  out.number = (halves << position_bits) |
               (out.position & ((std::uint64_t{1} << position_bits) - 1));
  return out;
}

result<revocation_list_set> make_lists(
    const pki::key_bundle& keys, const list_edition& edition,
    const std::vector<projections::revoked_row>& revoked) {
  auto all = authorities_of(keys);
  for (const auto& row : revoked) {
    BC_TRYV(sort_in(all, row));
  }
  revocation_list_set out;
  for (auto& [id, who] : all) {
    BC_TRY(der, pki::make_crl(who.ca, who.revoked, edition.number,
                              edition.this_update,
                              edition.this_update + revocation_list_lifetime));
    revocation_list made;
    made.der.assign(der.begin(), der.end());
    made.edition = id.substr(0, 8) + "-" + std::to_string(edition.number);
    out.emplace_back(std::move(id),
                     std::make_shared<const revocation_list>(std::move(made)));
  }
  return out;
}

struct revocation_keeper::state {
  state(projections::queries& models, const clock& now,
        std::shared_ptr<const pki::key_bundle> bundle)
      : from(models), time(now), keys(std::move(bundle)) {}

  projections::queries& from;
  const clock& time;
  std::shared_ptr<const pki::key_bundle> keys;

  mutable std::mutex mutex;
  revocation_list_set lists;

  // By the looking thread alone.
  std::optional<list_edition> made;
  std::string trouble;

  result<void> refresh() {
    BC_TRY(newest, from.last_revocation());
    const auto edition = edition_at(newest, time.now());
    if (made == edition)
      return ok();
    // One that ended in the period before this list is named once more, so
    // that each is in a list of after its end (RFC 5280 section 3.3).
    BC_TRY(revoked,
           from.revoked_certificates(
               edition.this_update - revocation_list_period, edition.position));
    BC_TRY(fresh, make_lists(*keys, edition, revoked));
    made = edition;
    std::lock_guard lock{mutex};
    lists = std::move(fresh);
    return ok();
  }

  // The lists that there are go on to count while the store is away.
  void look() {
    auto done = refresh();
    auto now =
        done ? std::string{} : done.error().message + " " + done.error().detail;
    if (!now.empty() && trouble.empty())
      spdlog::warn("revocation list: {}", now);
    trouble = std::move(now);
  }

  repeater again;  // last: it uses the others
};

revocation_keeper::revocation_keeper(
    projections::queries& from, const clock& time,
    std::shared_ptr<const pki::key_bundle> keys)
    : state_(std::make_unique<state>(from, time, std::move(keys))) {
  state_->look();
  state_->again.start(interval, [s = state_.get()] { s->look(); });
}

revocation_keeper::~revocation_keeper() {
  stop();
}

result<std::shared_ptr<const revocation_list>> revocation_keeper::find(
    std::string_view authority) const {
  std::lock_guard lock{state_->mutex};
  if (state_->lists.empty())
    return fail(errc::unavailable, "there is no list yet; retry");
  if (authority.empty())
    return state_->lists.front().second;
  for (const auto& [id, list] : state_->lists)
    if (id == authority)
      return list;
  return fail(errc::not_found, "no such authority");
}

void revocation_keeper::stop() {
  state_->again.stop();
}

}  // namespace bc::serve
