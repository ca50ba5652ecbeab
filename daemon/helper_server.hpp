#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "daemon/tpm/key_keeper.hpp"
#include "pki/hardware_key.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <sys/types.h>

namespace bc::daemon {

struct helper_options {
  std::filesystem::path socket;
  /// Who may ask, beside root: by the peer's credentials.
  uid_t user = 0;
  /// Reads the machine's claims; empty: it does not give them.
  std::function<result<pki::hardware_claims>()> hardware = {};
  /// A line for the log.
  std::function<void(const std::string&)> say;
  /// It can be asked now.
  std::function<void()> ready = {};
  /// So long may a peer take to ask.
  milliseconds patience{5'000};
};

/// `bcd helper`: answers one request after the other until `stop` is asked for.
/// It signs by keys of the node's own kind alone, proves no TPM, and gives all
/// of the machine's claims or none. The faults are of the socket:
/// INVALID_STATE, or CONFLICT when another helper answers there.
[[nodiscard]] result<void> run_helper(const helper_options& options,
                                      tpm::key_keeper& tpm,
                                      std::stop_token stop);

}  // namespace bc::daemon
