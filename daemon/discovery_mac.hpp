#pragma once

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// An interface of this machine, as the choice of its MAC needs it.
struct network_interface {
  std::string name;
  std::string current_mac;  // empty: it has none
};

/// The interface by which this machine reaches a host, by its routes; nothing
/// is sent. UNAVAILABLE: there is no way there; INVALID_STATE otherwise.
[[nodiscard]] result<network_interface> interface_towards(const endpoint& to);

/// The MAC that a site agent knows the machine by: the permanent one of the
/// interface where that is a network card's own; else (a VLAN, a bond) the one
/// in use, which the DHCP server saw. Either must be among the machine's
/// claims, since the server refuses another: INVALID_STATE.
[[nodiscard]] result<std::string> mac_of(
    const network_interface& nic, const std::optional<std::string>& permanent,
    const pki::hardware_claims& claims);

/// Both, on this machine.
[[nodiscard]] result<std::string> mac_towards(
    const endpoint& to, const pki::hardware_claims& claims);

/// What `bcd join` asks: mac_towards(), or, in the build for trials, the first
/// MAC of the hardware file (real_hardware.cpp, fake_hardware.cpp).
using mac_source = std::function<result<std::string>(
    const endpoint&, const pki::hardware_claims&)>;
[[nodiscard]] mac_source make_mac_source();

}  // namespace bc::daemon
