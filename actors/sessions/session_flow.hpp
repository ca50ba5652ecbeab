#pragma once

#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "pki/bundle.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

class read_models;

struct session_environment {
  /// Null: every session is INVALID_CONFIG.
  std::shared_ptr<const pki::key_bundle> keys;
  /// What a daemon is told to keep to.
  seconds heartbeat{15};
  /// Null where the read models move with the journal.
  std::shared_ptr<read_models> models = nullptr;
  pki::shared_uuids shared_uuids = {};
};

/// What a gateway asks about the sessions it has: `hello`, `session_end` and
/// `check_session` (base/wire_session.hpp). No CAF: effects go through the
/// ledger. `done` runs once. A session lives by a certificate that is, byte for
/// byte, a live one of the node's generation; since a process may not have
/// heard of the node's end yet, and a notice of it may come before the event,
/// every answer is confirmed at the node's version.
void run_session_call(std::shared_ptr<const session_environment> env,
                      std::shared_ptr<ledger> streams, daemon_call call,
                      std::function<void(daemon_reply)> done);

/// True of what run_session_call() answers.
[[nodiscard]] constexpr bool is_of_session(daemon_request what) noexcept {
  return what == daemon_request::hello || what == daemon_request::session_end ||
         what == daemon_request::check_session;
}
/// True of what actors/commands answers.
[[nodiscard]] constexpr bool is_of_commands(daemon_request what) noexcept {
  return what == daemon_request::fetch_commands ||
         what == daemon_request::command_result;
}

}  // namespace bc::actors
