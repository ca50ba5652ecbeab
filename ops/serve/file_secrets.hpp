#pragma once

#include "actors/token_issuer.hpp"

#include <memory>
#include <string>

namespace bc::serve {

/// Secrets as files of mode 0600, one for each, in a folder of mode 0700: for
/// those who run on this machine as this user. A reference is
/// "secret://file/<name>". Makes the folder when it is missing;
/// INVALID_CONFIG for one that others can enter or that is not ours.
[[nodiscard]] result<std::shared_ptr<actors::secret_sink>> open_file_secrets(
    std::string folder);

}  // namespace bc::serve
