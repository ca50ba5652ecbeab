#pragma once

#include "actors/joining/attesting.hpp"

#include <memory>

/// The `discovery` attestor (spec: ATTESTATION section 4): a ramdisk that a
/// site agent booted, and vouches for, becomes a node for as long as it runs.
namespace bc::actors {

/// For a process that serves it (join_environment::discovery).
[[nodiscard]] std::shared_ptr<attesting> make_discovery_attesting(
    std::shared_ptr<const join_facts> facts);

}  // namespace bc::actors
