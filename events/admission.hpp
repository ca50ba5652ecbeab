#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "events/directory.hpp"
#include "events/grant.hpp"
#include "events/node.hpp"
#include "events/refusal_reason.hpp"
#include "pki/certificate.hpp"
#include "pki/hardware_key.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The decision of a join over the streams it touches; pure (spec:
/// joining#the-join-flow step 4, joining#placeholder-hardware-and-reclaims).
namespace bc::events {

/// The rules after the attestor's, in the order in which they are asked.
enum class join_rule {
  expect,       // the token's binding: identifiers, and the node it is for
  placeholder,  // enough of the hardware is known, or the token is bound
  reclaim,      // a known machine may take its node back
  pool,         // there, runs the daemon
  tenant,       // there, and the pool (or the site) is its own
  site,         // there, the pool's, the machine's, and open to the tenant
  pool_attestor
};
/// "expect", "placeholder-hardware", …, as in the refusal's reason.
[[nodiscard]] std::string_view rule_text(join_rule r) noexcept;

enum class verdict { passed, failed, not_reached };
/// "passed", "failed", "not-reached".
[[nodiscard]] std::string_view verdict_text(verdict v) noexcept;

/// One rule, and what it compared, for the eyes of the grant's tenant alone:
/// of another tenant's machines and pools it says no more than that they are.
struct judged_rule {
  join_rule what;
  verdict how = verdict::not_reached;
  std::string expected = {};   // empty: nothing was asked for
  std::string presented = {};  // empty: nothing was shown
};

/// Everything that a join is judged by.
struct admission {
  const grant& granted;
  const tenant::state& tenant;
  const site::state& site;
  const pool::state& pool;  // version 0 for a grant without a pool
  const tenant_id& root;    // the deployment's root tenant
  pki::hardware_claims claims;
  pki::hardware_key key;
  std::string claimed_site;
  time_point now;
  std::string claimed_node = {};
  /// The node that is this machine's: the one its EK is bound to, else the one
  /// that holds the trusted hardware key; null: there is none.
  const node::state* known = nullptr;
  /// The node the grant names, perhaps not there yet; null: it names none.
  const node::state* named = nullptr;
  /// Another node that holds the hardware key; null: there is none.
  const node::state* other = nullptr;
  /// What is left of the claims, from whoever has it already; null: made anew
  /// when it is needed.
  const pki::identifiers* identifiers = nullptr;
  /// What `claims` are without; null: nothing is.
  const pki::shared_uuids* shared = nullptr;
};

struct ruling {
  std::vector<judged_rule> rules;         // all of them, in order
  std::optional<refusal_reason> refused;  // by the first that failed
  /// Refused as the third reclaim in 10 minutes, and by nothing else.
  bool clone_suspected = false;
};
/// Which rules say in words what they compared: the one that failed, as every
/// join has it, or each that was reached.
enum class wording { of_failed, of_all };
[[nodiscard]] ruling judge(const admission& a, wording say = wording::of_all);

/// What an admitted machine becomes.
struct admitted_identity {
  node::trust trust = node::trust::tenant_controlled;
  pki::certificate_role role = pki::certificate_role::node_tenant;
  bool acceptance = false;        // the pool's checks come before adoption
  bool hardware_changed = false;  // see node::joined
  std::vector<std::string> changed_identifiers = {};
};
/// For an admission that judge() let through (spec: joining#creating-a-token,
/// hosted). A reclaim never raises the trust or the role that the node has.
[[nodiscard]] admitted_identity identity_of(const admission& a);

/// The claims as the hardware key is derived from them.
[[nodiscard]] pki::hardware_claims hardware_of(const wire::claims& c);

}  // namespace bc::events
