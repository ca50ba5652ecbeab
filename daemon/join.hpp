#pragma once

#include "base/clock.hpp"
#include "base/secret_bytes.hpp"
#include "base/wire.hpp"
#include "daemon/config.hpp"
#include "daemon/gateway_client.hpp"
#include "daemon/hardware.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/machine_keys.hpp"
#include "pki/certificate.hpp"

#include <functional>
#include <optional>
#include <string>

namespace bc::daemon {

/// Why `bcd join` ended as it did; these are its exit codes.
enum class join_exit {
  joined = 0,         // or joined already
  refused = 1,        // or waiting for a person's approval
  usage = 2,          // arguments, configuration or token text
  unreachable = 3,    // no gateway, or nobody gives evidence
  untrusted = 4,      // a pin or a check of the answer failed
  server_config = 5,  // the server answered INVALID_CONFIG
  conflict = 6,       // CONFLICT, also after retries
  local = 7,          // data folder, lock, hardware identifiers
  unavailable = 8,    // the server stays UNAVAILABLE
};

struct join_outcome {
  join_exit exit_code = join_exit::joined;
  std::string message;  // for standard output when joined, else standard error
  std::string node_id;
  std::optional<time_point> not_after;
  bool already_joined = false;
  /// The data folder is this user's alone, and nobody else was at work in it.
  bool held_folder = false;
};

/// Asked for the token once it is known that one is needed.
using token_source = std::function<result<secret_bytes>()>;

/// How a machine proves itself other than by a token alone.
struct join_evidence {
  std::string attestor;
  /// Completes each request that is sent, new for every try; `sealed` is the
  /// token's seal, nullopt without a token. UNAVAILABLE (nobody answers),
  /// RATE_LIMITED (the server says: not now) and NOT_FOUND (what proves the
  /// machine is away) are waited for and tried again;
  /// UNAUTHENTICATED (the server refuses), ACCESS_DENIED (an answer that is not
  /// to be trusted), INVALID_CONFIG (of the server) and any other fault (of
  /// this machine) end the join before anything is sent.
  std::function<result<void>(wire::join_request& body,
                             std::optional<std::string> sealed)>
      fill;
  /// Whether what proves the machine is there at all; asked before anything is
  /// set aside or sent.
  std::function<result<void>()> is_ready = {};
  /// Told the key and the CSR before the first request is filled.
  std::function<void(const pending_request&)> begins = {};
  /// The key must be in the TPM.
  bool key_in_tpm = false;
  /// What identity.json is to say about it, asked once it is ready.
  std::function<std::string()> ek_kind = {};
  /// What it rests on changes by itself (a vouch): a refusal is worth another
  /// try, and until_decided waits for whoever does not answer, as `fill` says
  /// or the gateway itself, for as long as it takes.
  bool may_be_stale = false;
};

struct join_options {
  pki::certificate_role role = pki::certificate_role::node;
  /// The node the machine is to be, for a token that names one; empty: any.
  std::string node_id = {};
  /// Sets an identity aside that is there (identity_store::set_aside), after
  /// every check that needs no gateway and before anything is sent.
  bool reset = false;
  /// Where the key to seal to comes from when there is no join-encryption.jwk
  /// (spec: joining#the-join-key-and-its-fallback); asked once it is known that
  /// one is needed. Faults: UNAVAILABLE (nobody answers), ACCESS_DENIED (not
  /// to be trusted), INVALID_CONFIG (the server has no join keys).
  std::function<result<pki::public_key>()> fetch_key = {};
  /// nullopt: the join token. With evidence, a token goes with it unless
  /// `without_token`.
  std::optional<join_evidence> evidence = {};
  bool without_token = false;
  /// A deferral is waited for, also for hours: the same request again and again
  /// until it is decided (spec: joining#join-requests-and-approvals). Nothing
  /// but the answer ends it, so a gateway that is away is waited for too.
  bool until_decided = false;
  /// A line about what is being waited for; once for each change.
  std::function<void(const std::string&)> say = {};
  /// Where the new key comes from.
  machine_keys keys = {};
  /// Retries after a lost connection or UNAVAILABLE, after a CONFLICT, and of
  /// each evidence that cannot be had; each counted on its own.
  int retries = 3;
  /// post_join() to the configured gateway when empty.
  transport send;
  /// Sleeps; replaced in tests.
  std::function<void(milliseconds)> wait;
  /// The machine's clock when null.
  const clock* time = nullptr;
};

/// The whole join: lock, key and CSR, seal, request, checks, identity. Nothing
/// is written before every check of the answer passed, but for the pending
/// pair of key and CSR, and what a reset renames.
[[nodiscard]] join_outcome run_join(const config& c, hardware_source& hardware,
                                    const token_source& token,
                                    const join_options& options = {});
[[nodiscard]] join_outcome run_join(const config& c, hardware_source& hardware,
                                    secret_bytes token,
                                    const join_options& options = {});

}  // namespace bc::daemon
