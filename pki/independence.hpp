#pragma once

#include "pki/hardware_key.hpp"

namespace bc::pki {

/// Private to this folder. Identifiers that are made of one another are one
/// fact, however often it is printed (CASES 33, 39).

/// True when a serial prints the UUID's bytes, in either order, as hypervisors
/// and clouds do: "VMware-56 4d …".
[[nodiscard]] bool prints_uuid(std::string_view serial, const uuid_bytes& uuid);

/// How many kinds of identifier (UUID, serials, MACs, GPUs) say something of
/// their own: kinds of which one is derived from the other count once.
[[nodiscard]] int independent_kinds(const identifiers& ids);

}  // namespace bc::pki
