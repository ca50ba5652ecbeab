#pragma once

#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Which of the deployment's keys a machine trusts: those it was installed with
/// and, while they rotate and after, those that an answer under a trusted key
/// named (spec: DESIGN section 8; docs/rotate-keys.md).
namespace bc::daemon {

/// The configuration with the pins that the identity's last checked answer
/// brought, unless the configured ones were replaced since.
[[nodiscard]] config with_pins_of(config c, const identity& who);

/// All that count, the configured one first.
[[nodiscard]] std::vector<std::string> serving_ca_pins(const config& c);
[[nodiscard]] std::vector<std::string> join_signing_pins(const config& c);

/// Whether it is one of them.
[[nodiscard]] bool is_trusted(std::string_view pin,
                              const std::vector<std::string>& trusted);

/// What a person does on a machine whose pins are all too old.
inline constexpr std::string_view stale_pins_advice =
    "if the deployment's keys were replaced while this machine was away, "
    "generate the install script again and rerun it here as root";

}  // namespace bc::daemon
