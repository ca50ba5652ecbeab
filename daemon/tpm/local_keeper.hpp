#pragma once

#include "daemon/config.hpp"
#include "daemon/tpm/key_keeper.hpp"

#include <memory>
#include <optional>

namespace bc::daemon::tpm {

/// The TPM in this process. It is opened for each call and closed after it, one
/// call at a time: what was away is used as soon as it is back, and other
/// programs are let at it between calls.
[[nodiscard]] std::shared_ptr<attesting_keeper> local_keeper(
    const tpm_settings& settings);

/// Stands where `[tpm] enabled = "false"`: there is none, and it says so.
[[nodiscard]] std::shared_ptr<attesting_keeper> no_keeper();

/// The TPM opened as configured, with its passwords. UNAVAILABLE as open_tcti;
/// INVALID_CONFIG for a password file that is not its owner's alone or holds no
/// password.
[[nodiscard]] result<machine_tpm> open_machine_tpm(
    const tpm_settings& settings);

/// The group that has the device of a TCTI, when its owner is not root: a
/// service of root that has none of its powers must be of that group.
[[nodiscard]] std::optional<unsigned> group_of_device(const std::string& tcti);

/// Whether something is where the TCTI points to: of a device, its file.
[[nodiscard]] bool seems_there(const std::string& tcti);

}  // namespace bc::daemon::tpm
