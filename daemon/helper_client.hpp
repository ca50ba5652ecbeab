#pragma once

#include "daemon/hardware.hpp"
#include "daemon/tpm/key_keeper.hpp"

#include <filesystem>
#include <memory>

namespace bc::daemon {

/// The TPM that `bcd helper` holds (`[helper]`), for a process that may not
/// open it. UNAVAILABLE when no helper answers at the socket.
[[nodiscard]] std::shared_ptr<tpm::key_keeper> helper_keeper(
    const std::filesystem::path& socket);

/// The machine's claims as `bcd helper` reads them: most identifiers are root's
/// to read. UNAVAILABLE when no helper answers at the socket; its own faults.
[[nodiscard]] std::unique_ptr<hardware_source> helper_hardware(
    const std::filesystem::path& socket);

}  // namespace bc::daemon
