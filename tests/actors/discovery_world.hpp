#pragma once

#include "actors/discovery/discovery_attestor.hpp"
#include "events/boot_lease.hpp"
#include "events/join_request.hpp"
#include "pki/vouch.hpp"
#include "tests/actors/join_world.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace bc::test {

/// A site agent: its key, and the certificate it goes by.
struct site_agent {
  node_id id;
  pki::private_key key;
  bytes certificate;  // DER
};

/// Says which places are taken by their claims, as read models would.
class places_ledger : public sync_ledger {
 public:
  places_ledger(events::journal& journal, const clock& time, site_id site);
  void query(std::function<result<std::string>(projections::queries&)> read,
             actors::reply_to<std::string> done) override;

 private:
  events::journal& store_;
  site_id site_;
};

/// The nth machine as an agent of the site (none: the world's).
site_agent join_agent(join_world& w, int n,
                      const std::optional<site_id>& at = std::nullopt);
actors::daemon_call lease_call(const site_agent& agent, const site_id& of,
                               bool release = false);

/// The nth machine with a NIC of its own, whose MAC the agent sees.
machine ramdisk(int n);
std::string mac_of(int n);
/// What a ramdisk sends, but for the vouch.
wire::join_request ask(const machine& m, const site_id& site);
/// What the agent says of that request; `change` sees it before it is signed.
std::string vouch_for(
    const wire::join_request& r, const std::string& mac, const site_agent& by,
    std::int64_t epoch, time_point now,
    const std::function<void(pki::vouch::claims&)>& change = {});

/// A deployment whose sites have agents that boot machines and vouch for them.
/// Agent `a` has the boot lease of the site.
class discovery_world : public join_world {
 public:
  discovery_world();

  site_agent new_agent(int n, const std::optional<site_id>& at = std::nullopt);
  /// As the agent's POST /v1/boot-lease.
  void lease_to(const site_agent& agent,
                const std::optional<site_id>& at = std::nullopt);
  void release(const site_agent& agent);
  [[nodiscard]] events::boot_lease::state lease(
      const std::optional<site_id>& at = std::nullopt) const;

  /// What the machine sends, but for the vouch.
  [[nodiscard]] wire::join_request ask(const machine& m) const;
  /// What agent `by` says of that request now; `change` sees it before it is
  /// signed.
  [[nodiscard]] std::string vouch_for(
      const wire::join_request& r, const std::string& mac, const site_agent& by,
      const std::function<void(pki::vouch::claims&)>& change = {}) const;
  /// A whole request with a fresh vouch by `by` (none: agent a).
  [[nodiscard]] wire::join_request vouched(
      const machine& m, int n, const site_agent* by = nullptr,
      const std::function<void(pki::vouch::claims&)>& change = {}) const;
  /// The token, sealed into the request before it is vouched for.
  [[nodiscard]] std::string seal_for(const wire::join_request& r,
                                     std::string_view token) const;

  minted discovery_token(
      int n,
      const std::function<void(events::join_token::created&)>& change = {});

  [[nodiscard]] events::join_request::state request_of(
      const std::string& id) const;
  void approve(const std::string& request, const pool_id& for_pool,
               seconds valid_for = seconds{900});
  void reject(const std::string& request, const pool_id& for_pool);

  site_agent a;
};

/// The request id of a deferral.
std::string deferred_request(const tried& t);
inline bool deferred(const tried& t) {
  return t.answer.what == wire::join_answer::kind::deferred;
}

}  // namespace bc::test
