#pragma once

#include "daemon/tpm/key_keeper.hpp"

#include <filesystem>
#include <memory>

namespace bc::daemon {

/// The TPM that `bcd helper` holds (`[helper]`), for a process that may not
/// open it. UNAVAILABLE when no helper answers at the socket.
[[nodiscard]] std::shared_ptr<tpm::key_keeper> helper_keeper(
    const std::filesystem::path& socket);

}  // namespace bc::daemon
