#pragma once

#include "actors/ledger.hpp"
#include "base/secret_bytes.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::actors {

/// Where the control plane leaves a secret for the one who needs it; everything
/// else carries its reference alone. Thread-safe; blocks.
class secret_sink {
 public:
  virtual ~secret_sink() = default;
  /// Keeps the secret under a name that was never used; answers its reference
  /// ("secret://…").
  [[nodiscard]] virtual result<std::string> put(std::string_view name,
                                                const secret_bytes& secret) = 0;
  /// Forgets a secret that nobody will ask for.
  virtual void drop(const std::string& reference) noexcept = 0;
};

/// What a token is for, and in whose name it is made.
struct token_order {
  tenant_id tenant;
  pool_id pool;
  seconds lifetime{};       // 60 to 86,400
  std::string actor;        // principal, or "system"
  std::string correlation;  // request id
};

/// A token as the control plane passes it on: without its secret.
struct issued_token {
  join_token_id id;
  std::string reference;  // of its bearer text in the sink
  time_point expires_at;
};

/// Mints the tokens that no caller of the API may: for an operating system that
/// a deploy installed, and for a ramdisk that a machine boots over the network
/// (spec: joining#token-roles). Each admits once. The bearer text is in the
/// sink before the token is in the journal, and nowhere else.
///
/// Answers: INVALID_INPUT for a lifetime or MAC that no token may have,
/// NOT_FOUND for a pool or node that is not the tenant's, INVALID_STATE where
/// nothing joins any more, in a pool whose policy lets nobody join that way, or
/// for a node that no machine with such a token may be; else faults are
/// infrastructure, and an UNAVAILABLE one names the token that may exist.
class token_issuer {
 public:
  token_issuer(std::shared_ptr<ledger> streams,
               std::shared_ptr<secret_sink> secrets)
      : streams_(std::move(streams)), secrets_(std::move(secrets)) {}

  /// `node`: the node it is for, which the daemon repeats; one of the tenant,
  /// pool and site, or an id that no node has yet.
  void issue_provisioned(token_order order, std::optional<node_id> node,
                         reply_to<issued_token> done);
  /// Admits the machine with this permanent MAC alone, in any notation.
  void issue_discovery(token_order order, const std::string& mac,
                       reply_to<issued_token> done);

 private:
  std::shared_ptr<ledger> streams_;
  std::shared_ptr<secret_sink> secrets_;
};

}  // namespace bc::actors
