#pragma once

#include "base/wire.hpp"
#include "pki/digest.hpp"

namespace bc::pki {

/// SHA-256 over what a join claims beside its CSR and its evidence: attestor,
/// role, site, node and hardware. A seal carries it as `claims`, so that a
/// gateway, which relays the claims in the open, can change none of them.
/// Claims of a newer protocol are not in it; they need a digest of their own.
[[nodiscard]] sha256_digest claims_digest(const wire::join_request& request);

}  // namespace bc::pki
