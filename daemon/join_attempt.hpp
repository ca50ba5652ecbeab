#pragma once

#include "base/secret_bytes.hpp"
#include "base/wire.hpp"
#include "daemon/config.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "pki/hardware_key.hpp"
#include "pki/key.hpp"

#include <optional>
#include <string>

/// Private to the join: what happens once the machine's key, its request and
/// what it proves itself by are there.
namespace bc::daemon {

/// A token, and the key that it is sealed to.
struct token_seal {
  pki::public_key recipient;
  secret_bytes token;

  [[nodiscard]] std::string seal(const pki::sha256_digest& csr_sha256,
                                 const wire::join_request& body,
                                 time_point now) const;
};

[[nodiscard]] join_outcome ended(join_exit code, std::string message);
[[nodiscard]] join_outcome joined_as(const identity& who, bool already);
/// The machine's clock, or the one of a test.
[[nodiscard]] time_point machine_time(const join_options& options);

/// The request, sent until there is an answer to it: seals, checks, retries,
/// waits for an approval. Keeps the identity, and forgets the pending request
/// when its outcome is known.
[[nodiscard]] join_outcome attempt_join(const config& c,
                                        const join_options& options,
                                        const identity_store& store,
                                        const pki::hardware_claims& hardware,
                                        const std::optional<token_seal>& token,
                                        const pending_request& request);

}  // namespace bc::daemon
