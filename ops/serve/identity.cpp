#include "ops/serve/identity.hpp"

#include "ops/cli/files.hpp"

#include <cstdlib>

namespace bc::serve {

result<std::shared_ptr<const gateway::tls_identity>> read_identity(
    const identity_files& files) {
  if (files.certificate.empty())
    return std::shared_ptr<const gateway::tls_identity>{};
  auto identity = std::make_shared<gateway::tls_identity>();
  BC_TRY(chain, cli::read_file(files.certificate));
  BC_TRY(key, cli::read_installed_secret_file(files.key));
  identity->chain_pem = std::move(chain);
  identity->key_pem = std::move(key);
  return std::shared_ptr<const gateway::tls_identity>{std::move(identity)};
}

result<secret_bytes> deployment_secret(const std::string& secret_file) {
  if (!secret_file.empty())
    return cli::read_installed_secret_file(secret_file);
  const char* text = std::getenv("BETTER_COMPUTE_SECRET");
  if (text == nullptr || *text == '\0')
    return fail(errc::invalid_config,
                "no secret that opens the key bundle: set secret_file "
                "(--secret-file, BETTER_COMPUTE_SECRET_FILE), or "
                "BETTER_COMPUTE_SECRET");
  return secret_bytes{std::string_view{text}};
}

}  // namespace bc::serve
