#pragma once

#include "events/admission.hpp"

#include <optional>
#include <string_view>

/// When a known machine may take its node back (spec:
/// joining#placeholder-hardware-and-reclaims; CASES 63, 68, 71).
namespace bc::events {

/// In the order in which they are looked for: what is another tenant's comes
/// first, so that nothing else is told of it.
enum class reclaim_fault {
  tenant,
  ek_bound,  // to another endorsement key than the machine shows, or to one
  not_allowed,
  site,
  pool,
  role,
  named,      // the token is for another node
  too_often,  // the third time in 10 minutes; everything else fits
};
[[nodiscard]] std::string_view reclaim_fault_text(reclaim_fault f) noexcept;

/// What keeps a machine with this grant from being this node, whatever else
/// happens to it: everything but `named` and `too_often`.
[[nodiscard]] std::optional<reclaim_fault> reclaim_fault_of(
    const node::joined& node, const grant& g);

/// nullopt: the machine takes its node back, or nobody knows it. Hardware of a
/// node that is bound to an endorsement key is taken back by that key alone,
/// whatever a token allows (ATTESTATION 9a).
[[nodiscard]] std::optional<reclaim_fault> reclaim_fault_of(const admission& a);

}  // namespace bc::events
