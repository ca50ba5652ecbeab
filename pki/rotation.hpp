#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "pki/bundle.hpp"

/// How a key of the bundle is replaced while nodes depend on it: the next one
/// is prepared and trusted everywhere, then takes over, then the one before is
/// retired (spec: DESIGN section 8; docs/rotate-keys.md).
namespace bc::pki {

/// A certificate lives for a day at most: after so long every node that can
/// still renew has heard of a prepared key, and holds nothing that a retired
/// one signed. That holds from when the last process serves with the bundle of
/// the step before; the steps below count from that step itself, since nothing
/// here knows who runs. Whoever takes them waits for the restarts too.
inline constexpr seconds rotation_wait = max_node_lifetime;

/// The same keys once more.
[[nodiscard]] key_bundle clone(const key_bundle& bundle);

/// With a next key. INVALID_STATE while this key rotates.
[[nodiscard]] result<key_bundle> prepare_key(const key_bundle& bundle,
                                             key_name which, time_point now);
/// The prepared key takes over; the current one is the one before.
/// INVALID_STATE when none is prepared, or within rotation_wait unless `early`.
[[nodiscard]] result<key_bundle> activate_key(const key_bundle& bundle,
                                              key_name which, time_point now,
                                              bool early);
/// The key before is no more; a prepared one is given up when `early`.
/// INVALID_STATE as activate_key.
[[nodiscard]] result<key_bundle> retire_key(const key_bundle& bundle,
                                            key_name which, time_point now,
                                            bool early);

}  // namespace bc::pki
