#pragma once

#include "events/join_request.hpp"
#include "events/node.hpp"

#include <string>
#include <vector>

/// Whose join request it was, when a machine became a node by another way.
/// Pure; the read models, which say where to look, go by the same rule.
namespace bc::events {

/// The MACs that it claimed when it joined, normalised.
[[nodiscard]] std::vector<std::string> macs_of(const node::joined& j);

/// A tenant may be told of the node, and the node's claims count: it is of the
/// pool that has claimed the request, or nobody has and it is of the site's
/// owner.
[[nodiscard]] bool is_of_its_own(const join_request::opened& r,
                                 const node::joined& j);

/// On one site, and by the endorsement key, which both proved to have,
/// whoever's the node is. Else by the trusted hardware key, of `waits_for`'s
/// nodes alone: the pool's tenant, of a request that a pool has claimed, else
/// the site's owner, or the one that the site is dedicated to. Where that names
/// no machine, by its MAC: that ends only what waits, and only of its own pool
/// or owner. Hardware is no more than a claim of the one that joined, and no
/// tenant's join is to end what another waits for. What a system asks for by
/// its TPM is not ended by its ramdisk. The state must hold a request.
[[nodiscard]] bool is_same_machine(const join_request::state& s,
                                   const tenant_id& waits_for,
                                   const node::joined& j);

}  // namespace bc::events
