#pragma once

#include "base/result.hpp"
#include "base/secret_bytes.hpp"
#include "gateway/http_server.hpp"
#include "ops/serve/config.hpp"

#include <memory>
#include <string>

/// What a program reads from files it was installed with.
namespace bc::serve {

/// Certificate chain and key; null for no files.
[[nodiscard]] result<std::shared_ptr<const gateway::tls_identity>>
read_identity(const identity_files& files);

/// The deployment's secret: the file's content, else BETTER_COMPUTE_SECRET.
/// INVALID_CONFIG without either.
[[nodiscard]] result<secret_bytes> deployment_secret(
    const std::string& secret_file);

}  // namespace bc::serve
